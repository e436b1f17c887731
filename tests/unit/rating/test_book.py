"""The book: matches one after another."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import NOON, SHIPPED, match, player, policy, policy_set, scores, thorough
from worker.rating import Book, Change, Match, PlayerState, Rated, Side, UnknownPoolError, Unrated

PLAYERS = ["ann", "bob", "cat", "dan"]
DAY = timedelta(hours=24)
INSTANT = timedelta(microseconds=1)

pairs = st.sampled_from([*combinations(PLAYERS, 2), ("dan", "ann"), ("bob", "ann")])
matches = st.lists(
    st.builds(
        match,
        scores,
        of=pairs,
        pool=st.sampled_from(["yi", "shax", "chess/standard", "chess/blitz"]),
        after=st.timedeltas(timedelta(), timedelta(days=3)),
        match_type=st.sampled_from(["ranked", "tournament", "casual"]),
        verified=st.sampled_from([True, True, True, False]),
    ),
    max_size=40,
)


def play(book: Book, games: list[Match]) -> list[Change]:
    """Rate matches in order and give their changes."""
    outcomes = [book.rate(game) for game in games]
    return [change for outcome in outcomes if isinstance(outcome, Rated) for change in outcome.changes]


@thorough
@given(matches)
def test_chains_have_no_gap_and_no_fork(games: list[Match]) -> None:
    """Each player's versions in a pool count up from 1, each change starts where the one before ended."""
    book = Book(SHIPPED)
    chains: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in play(book, games):
        chains[change.pool, change.player_id].append(change)
    assert set(chains) == set(book.states)
    for (pool, name), chain in chains.items():
        assert [change.version for change in chain] == list(range(1, len(chain) + 1))
        assert chain[0].before == SHIPPED.at(pool, NOON).start
        for earlier, later in pairwise(chain):
            assert later.before == earlier.after
            assert later.title_before == earlier.title_after
        assert all(change.after == change.before + change.delta for change in chain)
        state = book.state(pool, name)
        assert state is not None
        assert (state.rating, state.version, state.games) == (chain[-1].after, len(chain), chain[-1].games)
        games_played = [change for change in chain if change.score is not None]
        assert state.wins + state.draws + state.losses == len(games_played)
        assert state.wins == sum(change.score == 1 for change in games_played)
        assert state.peak == max(chain[0].before, *(change.after for change in chain))
        assert state.last_played_at == max(change.occurred_at for change in chain)


@thorough
@given(matches)
def test_weights_by_the_letter_of_the_rule(games: list[Match]) -> None:
    """A match weighs by the pair's matches rated before it in the pool that finished less than 24 h before it did."""
    book = Book(SHIPPED)
    for name in PLAYERS:  # established, or their tournament matches would not be rated
        book.put_state("shax", name, player())
    recorded: list[tuple[str, set[str], datetime]] = []
    for game in games:
        outcome = book.rate(game)
        if isinstance(outcome, Unrated):
            continue
        pair, at = {side.id for side in game.sides}, game.finished_at
        earlier = sum(
            pool == game.pool and who == pair and when <= at and at - when < DAY for pool, who, when in recorded
        )
        decay = 1.0 if game.pool.startswith("chess/") else max(0.1, 0.5 ** max(0, earlier - 2))
        by_type = 1.25 if (game.pool, game.match_type) == ("shax", "tournament") else 1.0
        assert {change.weight for change in outcome.changes if change.score is not None} == {decay * by_type}
        recorded.append((game.pool, pair, at))


@thorough
@given(st.lists(st.tuples(st.integers(0, 48), st.booleans()), min_size=4, max_size=30))
def test_one_pair_in_any_order_of_arrival(games: list[tuple[int, bool]]) -> None:
    """However late matches arrive and whoever is named first, each has the window of its own time."""
    book = Book(SHIPPED)
    recorded: list[int] = []
    for hour, swapped in games:
        names = ("bob", "ann") if swapped else ("ann", "bob")
        earlier = sum(0 <= hour - other < 24 for other in recorded)
        change = play(book, [match(of=names, after=timedelta(hours=hour))])[0]
        assert change.weight == max(0.1, 0.5 ** max(0, earlier - 2))
        recorded.append(hour)


@thorough
@given(ours=st.lists(scores, max_size=8), theirs=st.lists(scores, max_size=8), data=st.data())
def test_pairs_that_share_no_player_do_not_touch(ours: list[float], theirs: list[float], data: st.DataObject) -> None:
    """However the matches of two such pairs are interleaved, everyone ends in the same place."""
    games = [match(score, of=("ann", "bob"), after=timedelta(hours=i)) for i, score in enumerate(ours)]
    others = [match(score, of=("cat", "dan"), after=timedelta(hours=i)) for i, score in enumerate(theirs)]
    apart, mixed = Book(SHIPPED), Book(SHIPPED)
    play(apart, games + others)
    turns = data.draw(st.permutations([0] * len(games) + [1] * len(others)))
    queues = [iter(games), iter(others)]
    play(mixed, [next(queues[turn]) for turn in turns])
    assert mixed.states == apart.states


@thorough
@given(matches, st.integers(0, 40))
def test_a_book_may_be_closed_and_opened_again(games: list[Match], place: int) -> None:
    """A book that was given the states and pair times of another goes on exactly as that one would have."""
    whole = Book(SHIPPED)
    expected = play(whole, games)
    before = Book(SHIPPED)
    changes = play(before, games[:place])
    after = Book(SHIPPED)
    for (pool, name), state in before.states.items():
        after.put_state(pool, name, state)
    times: dict[tuple[str, str, str], list[datetime]] = defaultdict(list)
    for change in changes:
        opponent = change.opponent_id
        if change.score is not None and opponent is not None and change.player_id < opponent:
            times[change.pool, change.player_id, opponent].append(change.occurred_at)
    for (pool, a, b), finished in times.items():
        after.put_pair_times(pool, b, a, reversed(finished))
    assert changes + play(after, games[place:]) == expected
    assert after.states == whole.states


@pytest.mark.parametrize(
    ("ago", "counts"),
    [
        (timedelta(), True),
        (INSTANT, True),
        (DAY - INSTANT, True),
        (DAY, False),
        (DAY + INSTANT, False),
        (-INSTANT, False),
    ],
)
def test_the_edges_of_the_window(ago: timedelta, *, counts: bool) -> None:
    """A match counts from the same instant up to, and not at, 24 h before; one that finished later does not."""
    book = Book(SHIPPED)
    book.put_pair_times("yi", "ann", "bob", [NOON - ago, NOON, NOON])
    outcome = book.rate(match())
    assert isinstance(outcome, Rated)
    assert outcome.changes[0].weight == (0.5 if counts else 1.0)


def test_a_late_match_has_the_window_of_its_own_time() -> None:
    """A match that arrives late is weighed by what finished before it, and then counts for later ones."""
    book = Book(SHIPPED)
    book.put_pair_times("yi", "ann", "bob", [NOON + timedelta(hours=hour) for hour in (1, 2, 3)])
    weights = [play(book, [match(after=timedelta(hours=hour))])[0].weight for hour in (0, 4, 0.5, 5)]
    assert weights == [1.0, 0.25, 1.0, 0.1]


def test_the_first_day_of_time() -> None:
    """A match in the first hours of year 1 is rated like any other."""
    book = Book(SHIPPED)
    dawn = datetime(1, 1, 1, 1, tzinfo=UTC)
    book.put_pair_times("yi", "ann", "bob", [dawn] * 3)
    assert play(book, [match(finished_at=dawn)])[0].weight == 0.5


def test_unrated_matches_leave_no_trace() -> None:
    """A match that is not rated moves nobody and does not count as a game of the pair."""
    book = Book(SHIPPED)
    for _ in range(5):
        assert book.rate(match(verified=False)) == Unrated("unverified")
    assert book.state("yi", "ann") is None
    assert play(book, [match()])[0].weight == 1.0


def test_pools_are_apart() -> None:
    """A rating and a pair's games in one pool say nothing about another."""
    book = Book(SHIPPED)
    play(book, [match(pool="chess/blitz")] * 4 + [match(pool="yi")] * 3)
    change = play(book, [match(pool="yi/blitz")])[0]
    assert (change.before, change.weight) == (1200.0, 1.0)
    assert book.state("chess/rapid", "ann") is None


def test_a_new_player_starts_by_the_version_in_force() -> None:
    """Who has no rating starts at the start of the version that rates their first match."""
    later = policy(version=2, valid_from=NOON, reason="more room", start=2000)
    book = Book(policy_set(policy(), later))
    old, new = play(book, [match(after=-INSTANT, of=("ann", "bob")), match(of=("cat", "dan"))])[::2]
    assert (old.before, old.policy.version) == (1500.0, 1)
    assert (new.before, new.policy.version) == (2000.0, 2)


def test_a_window_of_another_version_counts_the_same_games() -> None:
    """Games rated by a version without decay count once a version with decay is in force."""
    decay = {"window_hours": 24, "full_weight_games": 1, "factor": 0.5, "minimum": 0.1}
    later = policy(version=2, valid_from=NOON, reason="farming", repeat_pair=decay)
    book = Book(policy_set(policy(), later))
    weights = [change.weight for change in play(book, [match(after=-INSTANT), match(after=-INSTANT), match()])[::2]]
    assert weights == [1.0, 1.0, 0.25]


def test_put_and_get() -> None:
    """What is entered is what the book says, and the view of the states cannot be written to."""
    book = Book(SHIPPED)
    state = player(1234.5)
    book.put_state("yi", "ann", state)
    assert book.state("yi", "ann") is state
    assert dict(book.states) == {("yi", "ann"): state}
    with pytest.raises(TypeError):
        book.states["yi", "bob"] = state  # type: ignore[index]


def test_an_unknown_pool() -> None:
    """A match in a pool without a policy is refused and leaves the book as it was."""
    book = Book(SHIPPED)
    with pytest.raises(UnknownPoolError, match="no policy for pool 'go'"):
        book.rate(Match("m", "go", NOON, (Side("ann", 1.0), Side("bob", 0.0))))
    assert book.states == {}


def test_a_state_of_rating_zero_is_a_state() -> None:
    """A player whose rating is 0, with nothing else, is known and does not start anew."""
    book = Book(SHIPPED)
    book.put_state("shax", "ann", PlayerState(rating=0.0))
    assert play(book, [match(pool="shax")])[0].before == 0.0
