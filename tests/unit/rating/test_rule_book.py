"""What holds for any sequence of matches, voids, verdicts, lifts, entries and absences."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import NOON, match, thorough, void
from tests.unit.rating.histories import POOLS, Happening, Ledger, Sweep, histories, opened, played, time_of
from worker.rating import Change, Match, Rated, Reason, Unrated, Voided

sweeps = st.lists(st.timedeltas(timedelta(), timedelta(days=3000)).map(lambda after: Sweep(NOON + after)), max_size=12)


def with_sweeps(events: list[Happening], swept: list[Sweep]) -> list[Happening | Sweep]:
    """Put sweeps among events, in order of time; what finished at the same moment comes first."""
    end = max(map(time_of, events), default=NOON)
    return sorted([*events, *(sweep for sweep in swept if sweep.until <= end)], key=time_of)


@thorough
@given(histories(), sweeps)
def test_chains(events: list[Happening], swept: list[Sweep]) -> None:
    """Each change has the next version, starts where the one before ended, and adds its delta exactly."""
    before = opened().states
    ledger = played(with_sweeps(events, swept))
    chains: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in ledger.changes:
        chains[change.pool, change.player_id].append(change)
    for player, chain in chains.items():
        start = before.get(player)
        version, rating = (start.version, start.rating) if start else (0, chain[0].before)
        assert chain[0].before == rating
        assert [change.version for change in chain] == list(range(version + 1, version + len(chain) + 1))
        assert all(later.before == earlier.after for earlier, later in pairwise(chain))
        assert all(change.after == change.before + change.delta for change in chain)
        state = ledger.book.states[player]
        assert (state.version, state.rating, state.games) == (chain[-1].version, chain[-1].after, chain[-1].games)
    for player, state in ledger.book.states.items():
        assert player in chains or state._replace(inactive=False, idle_steps=0) == before[player]._replace(
            inactive=False, idle_steps=0
        )


@thorough
@given(histories(), sweeps)
def test_every_change_says_why(events: list[Happening], swept: list[Sweep]) -> None:
    """A game has its numbers, everything else has none; a match's entries name it, a reset's its sanction."""
    for change in played(with_sweeps(events, swept)).changes:
        numbers = (change.expected, change.score, change.k, change.k_rule, change.opponent_before)
        if change.reason is Reason.MATCH:
            assert None not in numbers
        else:
            assert numbers == (None,) * 5
            assert (change.weight, change.factors) == (1.0, ())
        of_match = change.reason in {Reason.MATCH, Reason.FLOOR, Reason.VOID}
        assert (change.match_id is not None) == (change.opponent_id is not None) == of_match
        assert (change.cause is not None) == (change.reason in {Reason.RESET, Reason.LIFT})


@thorough
@given(histories(), st.sampled_from(POOLS), st.sampled_from([1.0, 0.5, 0.0]))
def test_a_void_right_after_its_match(events: list[Happening], pool: str, score: float) -> None:
    """Both players have their old ratings back to the last bit but one, and games, wins, draws and losses exactly."""
    ledger = played(events)
    end = max(map(time_of, events), default=NOON)
    for name in ("ann", "bob"):  # what they owe for absences is no part of the match
        ledger.book.age(pool, name, end)
    before = [ledger.book.state(pool, name) for name in ("ann", "bob")]
    game = match(score, pool=pool, after=end - NOON, match_id="last")
    if not isinstance(ledger.book.rate(game), Rated):
        return
    outcome = ledger.book.void(void(game, after=end - NOON))
    assert isinstance(outcome, Voided)
    for old, new in zip(before, outcome.states, strict=True):
        assert old is not None
        assert abs(new.rating - old.rating) <= max(abs(old.rating), abs(new.rating), 3000) * 2**-52
        assert (new.games, new.wins, new.draws, new.losses) == (old.games, old.wins, old.draws, old.losses)


@thorough
@given(histories(), sweeps, sweeps)
def test_it_does_not_matter_when_sweeps_run(events: list[Happening], some: list[Sweep], others: list[Sweep]) -> None:
    """Whenever sweeps run in between, a last one leaves the same states, changes and notices."""
    end = Sweep(NOON + timedelta(days=20_000))
    one, other = (played([*with_sweeps(events, swept), end]) for swept in (some, others))
    assert one.book.states == other.book.states
    assert sorted(one.changes, key=_place) == sorted(other.changes, key=_place)
    assert {notice.key for notice in one.notices} == {notice.key for notice in other.notices}
    assert len(one.notices) == len(other.notices)
    assert one.unrated == other.unrated
    assert one.seedings == other.seedings


@thorough
@given(histories())
def test_an_unrated_match_changes_nothing(events: list[Happening]) -> None:
    """Suspended, banned, refused, voided, casual: no state moves and no change is made."""
    ledger = Ledger()
    for event in events:
        states, changes, unrated = dict(ledger.book.states), len(ledger.changes), len(ledger.unrated)
        ledger.apply(event)
        if len(ledger.unrated) > unrated:
            assert isinstance(event, Match)
            assert isinstance(ledger.unrated[-1], Unrated)
            assert ledger.book.states == states
            assert len(ledger.changes) == changes


@thorough
@given(histories(), sweeps)
def test_absence_never_raises_anyone(events: list[Happening], swept: list[Sweep]) -> None:
    """A step of decay takes points, ends at 1200 or above, and never touches who is there already."""
    for change in played(with_sweeps(events, swept)).changes:
        if change.reason is Reason.INACTIVITY:
            assert -15 <= change.delta < 0
            assert change.after >= 1200


@thorough
@given(histories(), sweeps, st.sets(st.integers(0, 40)))
def test_however_it_is_cut_into_batches(events: list[Happening], swept: list[Sweep], cuts: set[int]) -> None:
    """Another book that is told what the ledger keeps goes on as the one before would have; so does a second try."""
    happened = with_sweeps(events, swept)
    whole, cut = played(happened), Ledger()
    for place, event in enumerate(happened):
        if place in cuts:
            cut.reopened()
        cut.apply(event)
    assert cut.changes == whole.changes
    assert cut.notices == whole.notices
    assert cut.unrated == whole.unrated
    assert cut.book.states == whole.book.states
    assert played(happened).changes == whole.changes


def _place(change: Change) -> tuple[str, str, int]:
    return change.pool, change.player_id, change.version
