"""Rating one match."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import (
    BICIID,
    FIDE,
    NOON,
    POLICIES,
    POOLS,
    YIBOARD,
    match,
    player,
    policy,
    rated,
    ratings,
    scores,
    thorough,
    unrated,
)
from worker.rating import Change, Match, PlayerState, Policy, Reason, Side
from worker.rating.rate import rate


def test_every_number_of_a_change() -> None:
    """A change carries all that led to it."""
    first = PlayerState(rating=1200.0, version=3, games=3, wins=2, draws=0, losses=1, peak=1260.0, last_played_at=NOON)
    game = match(1.0, after=timedelta(hours=2), match_id="m4")
    outcome = rated(game, first, YIBOARD.start_state(), YIBOARD, 3)
    assert outcome.changes[0] == Change(
        pool="yi",
        player_id="ann",
        opponent_id="bob",
        match_id="m4",
        reason=Reason.MATCH,
        version=4,
        before=1200.0,
        after=1216.0,
        delta=16.0,
        expected=0.5,
        score=1.0,
        k=64.0,
        k_rule="provisional",
        weight=0.5,
        factors=outcome.changes[1].factors,
        games=4,
        provisional=True,
        adjusted=(),
        title_before="Sixth Grade",
        title_after="Sixth Grade",
        policy=YIBOARD.ref,
        occurred_at=NOON + timedelta(hours=2),
        opponent_before=1200.0,
    )
    assert outcome.states[0] == PlayerState(
        rating=1216.0,
        version=4,
        games=4,
        wins=3,
        draws=0,
        losses=1,
        peak=1260.0,
        last_played_at=NOON + timedelta(hours=2),
    )
    assert (outcome.changes[1].player_id, outcome.changes[1].opponent_id) == ("bob", "ann")


@pytest.mark.parametrize(("score", "tally"), [(1.0, (1, 0, 0)), (0.5, (0, 1, 0)), (0.0, (0, 0, 1))])
def test_the_tally(score: float, tally: tuple[int, int, int]) -> None:
    """Wins, draws and losses are counted for both sides."""
    one, other = rated(match(score), player(), player()).states
    assert (one.wins, one.draws, one.losses) == tally
    assert (other.wins, other.draws, other.losses) == tally[::-1]


@pytest.mark.parametrize(
    ("system", "games", "provisional"),
    [
        (YIBOARD, 9, True),
        (YIBOARD, 10, False),
        (BICIID, 19, True),
        (BICIID, 20, False),
        (FIDE, 29, True),
        (FIDE, 30, False),
    ],
)
def test_provisional_after_the_match(system: Policy, games: int, *, provisional: bool) -> None:
    """A change says whether the player is provisional after it, by the games after it."""
    assert system.provisional(games) == provisional
    change = rated(match(pool="chess/blitz"), player(games=games - 1), player(), system).changes[0]
    assert (change.games, change.provisional) == (games, provisional)


def test_peak_is_the_highest_after_a_game() -> None:
    """The peak rises with a win beyond it and stays otherwise."""
    up, down = rated(match(1.0), player(1500.0), player(1500.0)).states
    assert (up.peak, down.peak) == (1516.0, 1500.0)


def test_a_peak_that_lags_catches_up() -> None:
    """A player who stands above their stored peak, then loses, has stood there."""
    assert rated(match(0.0), player(1500.0, peak=1400.0), player(1500.0)).states[0].peak == 1500.0


def test_a_late_match_does_not_turn_back_last_played() -> None:
    """A match that finished before the latest one leaves last_played_at alone."""
    late = match(after=timedelta(days=-1))
    one, other = rated(late, player(last_played_at=NOON), player()).states
    assert (one.last_played_at, other.last_played_at) == (NOON, late.finished_at)


@thorough
@given(own=ratings, opponent=ratings, score=scores, earlier=st.integers(0, 8), name=st.sampled_from(sorted(POLICIES)))
def test_the_sides_are_alike(own: float, opponent: float, score: float, earlier: int, name: str) -> None:
    """Who is named first makes no difference to anyone's change."""
    system = POLICIES[name]
    first, second = player(own, games=5), player(opponent)
    there = rated(match(score, of=("ann", "bob"), match_id="m"), first, second, system, earlier)
    back = rated(match(1.0 - score, of=("bob", "ann"), match_id="m"), second, first, system, earlier)
    assert sorted(there.changes, key=by_player) == sorted(back.changes, key=by_player)
    assert there.states == back.states[::-1]


@thorough
@given(own=ratings, opponent=ratings, score=scores, earlier=st.integers(0, 8), name=st.sampled_from(sorted(POLICIES)))
def test_zero_sum(own: float, opponent: float, score: float, earlier: int, name: str) -> None:
    """With equal K and nothing bent, the two changes are exact opposites, whatever the weight."""
    changes = rated(match(score, pool=POOLS[name]), player(own), player(opponent), POLICIES[name], earlier).changes
    one, other = (change for change in changes if change.reason is Reason.MATCH)
    if one.k == other.k and not one.adjusted and not other.adjusted:
        assert one.delta + other.delta == 0
    for change in (one, other):
        assert change.after == change.before + change.delta
        if "floor" not in change.adjusted:
            assert change.k is not None
            assert change.score is not None
            assert change.expected is not None
            assert change.delta == change.k * change.weight * (change.score - change.expected)


def test_both_sides_see_the_ratings_before_the_match() -> None:
    """The second side's change is computed from the first side's rating before the match, not from the new one."""
    one, other = rated(match(1.0), player(1400.0, games=0), player(1600.0, games=0)).changes
    assert one.expected is not None
    assert other.expected == 1 - one.expected


def test_an_upset_pays_more() -> None:
    """Beating a stronger player brings more than beating a weaker one, and drawing with them still brings something."""
    win_up = rated(match(1.0), player(1500.0), player(1700.0)).changes[0].delta
    win_down = rated(match(1.0), player(1700.0), player(1500.0)).changes[0].delta
    draw_up = rated(match(0.5), player(1500.0), player(1700.0)).changes[0].delta
    assert win_up > win_down > 0
    assert 0 < draw_up < win_up


def test_unverified() -> None:
    """yiboard does not rate a match that the server has not validated; the others ask for no such thing."""
    assert unrated(match(verified=False), YIBOARD).reason == "unverified"
    assert rated(match(verified=False), player(), player(), BICIID).changes
    assert rated(match(verified=False), player(), player(), FIDE).changes


def test_unverified_is_said_first() -> None:
    """A match that is neither verified nor of a type that counts is unverified."""
    system = policy(require_verified=True, match_types={"casual": 0})
    assert unrated(match(verified=False, match_type="casual"), system).reason == "unverified"


def test_draws_may_be_left_unrated() -> None:
    """A policy may record draws without rating them; wins are rated as ever."""
    system = policy(draws="unrated")
    assert unrated(match(0.5), system).reason == "draw"
    assert rated(match(1.0), player(), player(), system).changes[0].delta == 16.0


def test_gap_cap_is_named() -> None:
    """A change whose gap was capped says so, on the sides for which it was."""
    one, other = rated(match(1.0, pool="chess/standard"), player(2700.0), player(2000.0), FIDE).changes
    assert (one.adjusted, one.expected) == ((), 0.99)
    assert (other.adjusted, other.expected) == (("gap-cap",), 1 - 0.92)


def test_nobody_meets_themself() -> None:
    """A match of a player against themself is refused: it would fork their chain."""
    with pytest.raises(ValueError, match="player 'ann' on both sides"):
        rate(match(of=("ann", "ann")), player(), player(), 0, YIBOARD)


@pytest.mark.parametrize("pair", [(1.0, 1.0), (0.0, 0.0), (0.75, 0.25), (float("nan"), float("nan")), (2.0, -1.0)])
def test_scores_must_be_a_result(pair: tuple[float, float]) -> None:
    """Scores other than a win and a loss or two halves are refused."""
    game = Match("m", "yi", NOON, (Side("ann", pair[0]), Side("bob", pair[1])))
    with pytest.raises(ValueError, match="are no result"):
        rate(game, player(), player(), 0, YIBOARD)


def by_player(change: Change) -> tuple[str, int]:
    """Order changes by player and version."""
    return change.player_id, change.version
