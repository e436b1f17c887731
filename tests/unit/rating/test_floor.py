"""Floors: where a fall ends."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import BICIID, FIDE, NOON, match, player, policy, rated, thorough
from worker.rating import PlayerState, Reason


def test_a_clamp_stops_the_fall() -> None:
    """A BICIID rating stops at 0; the change says so, and the winner's change is not touched."""
    winner, loser = rated(match(1.0, pool="shax"), player(5.0), player(5.0), BICIID).changes
    assert (loser.before, loser.after, loser.delta, loser.adjusted) == (5.0, 0.0, -5.0, ("floor",))
    assert (winner.delta, winner.adjusted) == (16.0, ())


def test_a_clamp_does_not_act_at_the_floor_itself() -> None:
    """A fall that ends exactly on the floor was not bent."""
    loser = rated(match(0.0, pool="shax"), player(16.0), player(16.0), BICIID).changes[0]
    assert (loser.after, loser.delta, loser.adjusted) == (0.0, -16.0, ())


@thorough
@given(before=st.floats(100, 140), opponent=st.floats(0, 200), at=st.integers(0, 100))
def test_a_clamp_lands_exactly(before: float, opponent: float, at: int) -> None:
    """A clamped rating is the floor to the last bit, and before + delta is after."""
    system = policy(floor={"at": at, "action": "clamp"}, start=100, k_factor=[{"name": "all", "k": 500}])
    change = rated(match(0.0), player(before), player(opponent), system).changes[0]
    assert change.after == change.before + change.delta
    assert change.after == at if "floor" in change.adjusted else change.after >= at


def test_rounding_acts_before_the_floor() -> None:
    """What bent a change is named in the order in which it acted: gap cap, rounding, floor."""
    capped = {"method": "logistic", "scale": 400, "gap_cap": 2}
    system = policy(rounding="integer", floor={"at": 0, "action": "clamp"}, expected=capped)
    change = rated(match(0.0), player(3.0), player(0.0), system).changes[0]
    assert (change.after, change.adjusted) == (0.0, ("gap-cap", "rounding", "floor"))


def test_a_restart_is_a_second_change() -> None:
    """A FIDE rating that falls below 1400 goes to the start with no games, by a change of its own that is no game."""
    fallen = PlayerState(
        rating=1405.0, version=40, games=40, wins=10, draws=5, losses=25, peak=1600.0, last_played_at=NOON
    )
    outcome = rated(match(0.0, pool="chess/standard", after=timedelta(days=1)), fallen, player(1405.0), FIDE)
    fall, restart, other = outcome.changes
    assert (fall.reason, fall.version, fall.before, fall.after, fall.games) == (Reason.MATCH, 41, 1405.0, 1395.0, 41)
    assert fall.adjusted == ()
    assert (restart.reason, restart.version, restart.before, restart.after) == (Reason.FLOOR, 42, 1395.0, 1500.0)
    assert (restart.expected, restart.score, restart.k, restart.k_rule) == (None, None, None, None)
    assert (restart.weight, restart.factors, restart.games, restart.provisional) == (1.0, (), 0, True)
    assert (restart.match_id, restart.player_id, restart.opponent_id) == (fall.match_id, "ann", "bob")
    assert (restart.title_before, restart.title_after) == (fall.title_after, "intermediate")
    assert (restart.pool, restart.policy, restart.occurred_at) == (fall.pool, fall.policy, fall.occurred_at)
    assert (other.player_id, other.reason, other.after) == ("bob", Reason.MATCH, 1415.0)
    assert outcome.states[0] == PlayerState(
        rating=1500.0,
        version=42,
        games=0,
        wins=10,
        draws=5,
        losses=26,
        peak=1600.0,
        last_played_at=NOON + timedelta(days=1),
        restarted=42,
    )


def test_titles_around_a_restart() -> None:
    """The restart begins with the title that the fall led to and ends with that of the start."""
    ladder = [{"title": "low"}, {"title": "middle", "lower": 1400}, {"title": "high", "lower": 1500}]
    system = policy(floor={"at": 1400, "action": "restart"}, ladder=ladder)
    fall, restart = rated(match(0.0), player(1405.0), player(1405.0), system).changes[:2]
    assert (fall.title_before, fall.title_after) == ("middle", "low")
    assert (restart.title_before, restart.title_after) == ("low", "high")


def test_the_second_side_may_restart_as_well() -> None:
    """The changes of the first side come first, whichever side restarts."""
    changes = rated(match(1.0, pool="chess/standard"), player(1405.0), player(1405.0), FIDE).changes
    assert [(change.player_id, change.reason) for change in changes] == [
        ("ann", Reason.MATCH),
        ("bob", Reason.MATCH),
        ("bob", Reason.FLOOR),
    ]


def test_the_floor_itself_is_not_below_it() -> None:
    """A rating that ends on 1400 exactly stays."""
    changes = rated(match(0.0, pool="chess/standard"), player(1410.0), player(1410.0), FIDE).changes
    assert [change.after for change in changes] == [1400.0, 1420.0]


@thorough
@given(before=st.floats(1400, 1440), opponent=st.floats(1400, 2000))
def test_a_restart_lands_exactly(before: float, opponent: float) -> None:
    """A player who restarts stands at the start to the last bit, and the chain has no gap."""
    fall, *restart = rated(match(0.0, pool="chess/standard"), player(before), player(opponent), FIDE).changes[:-1]
    assert (fall.after < 1400) == bool(restart)
    for change in restart:
        assert change.before == fall.after
        assert change.after == change.before + change.delta == 1500.0
