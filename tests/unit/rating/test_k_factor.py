"""The K factor. The figures of the rule texts are in test_rules_vectors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.rating.examples import BICIID, FIDE, NOON, YIBOARD, match, player, policy, rated
from worker.rating.k_factor import KRule, choose_k

if TYPE_CHECKING:
    from worker.rating import Policy


def name_of_k(
    policy: Policy, *, pool: str = "chess/standard", birth_year: int | None = None, at: datetime = NOON, **state: Any
) -> str:
    """Name the K rule that holds for a player."""
    return choose_k(policy.k_factor, player(**state), birth_year, pool, at).name


@pytest.mark.parametrize(
    ("system", "state", "rule"),
    [
        (YIBOARD, {"games": 9}, "provisional"),
        (YIBOARD, {"games": 10}, "established"),
        (BICIID, {"games": 19, "rating": 2300.0}, "provisional"),
        (BICIID, {"games": 20, "rating": 2200.0}, "elite"),
        (BICIID, {"games": 20, "rating": 2100.0, "peak": 2300.0}, "established"),
        (FIDE, {"games": 29, "rating": 2500.0}, "new"),
        (FIDE, {"games": 30, "rating": 2500.0}, "elite"),
        (FIDE, {"games": 30, "rating": 2399.99}, "established"),
    ],
)
def test_first_rule_that_holds_wins(system: Policy, state: dict[str, Any], rule: str) -> None:
    """The rules are tried from the top, and the ledger learns the name of the one that held."""
    assert name_of_k(system, **state) == rule


def test_peak_counts_the_rating_before_the_match() -> None:
    """A player who stands at 2400 has reached it, even if the stored peak lags."""
    assert name_of_k(FIDE, rating=2400.0, peak=2399.0) == "elite"
    assert name_of_k(FIDE, rating=2400.0, peak=float("-inf")) == "elite"


def test_elite_is_for_ever() -> None:
    """A FIDE player who has once stood at 2400 keeps K 10 after falling below, through a whole match."""
    top, _ = rated(match(1.0, pool="chess/standard"), player(2395.0), player(2395.0), FIDE).states
    assert top.rating == 2405.0
    for _ in range(3):
        top, _ = rated(match(0.0, pool="chess/standard"), top, player(2000.0), FIDE).states
    assert top.rating < 2400
    assert name_of_k(FIDE, rating=top.rating, peak=top.peak) == "elite"


@pytest.mark.parametrize(
    ("birth_year", "at", "rating", "rule"),
    [
        (2008, datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), 2000.0, "junior"),  # the year of the 18th birthday
        (2008, datetime(2027, 1, 1, tzinfo=UTC), 2000.0, "established"),
        (2015, NOON, 2299.99, "junior"),
        (2015, NOON, 2300.0, "established"),
        (None, NOON, 2000.0, "established"),
        (2015, NOON, 2400.0, "elite"),
    ],
)
def test_junior(birth_year: int | None, at: datetime, rating: float, rule: str) -> None:
    """A FIDE junior stays one to the end of the year of the 18th birthday while below 2300; no birth year, none."""
    assert name_of_k(FIDE, rating=rating, birth_year=birth_year, at=at) == rule


def test_each_side_has_its_own_birth_year() -> None:
    """A junior's K is the junior's alone, on whichever side they play."""
    game = match(pool="chess/standard", birth_years=(None, 2015))
    changes = rated(game, player(2000.0), player(2000.0), FIDE).changes
    assert [change.k_rule for change in changes] == ["established", "junior"]


@pytest.mark.parametrize("pool", ["chess/rapid", "chess/blitz"])
@pytest.mark.parametrize("state", [{"games": 0}, {"rating": 2500.0}, {"rating": 2000.0}])
def test_rapid_and_blitz_are_20_for_all(pool: str, state: dict[str, Any]) -> None:
    """In rapid and blitz K is 20 for the new, the elite and the young alike."""
    assert name_of_k(FIDE, pool=pool, birth_year=2015, **state) == "rapid-and-blitz"


def test_each_side_has_its_own_k() -> None:
    """A newcomer and an established player meet: each moves by their own K."""
    outcome = rated(match(1.0), player(1200.0, games=0), player(1200.0), YIBOARD)
    assert [(change.k, change.k_rule, change.delta) for change in outcome.changes] == [
        (64, "provisional", 32.0),
        (32, "established", -16.0),
    ]


def test_all_conditions_must_hold() -> None:
    """A rule of several conditions holds only where all of them do."""
    rule = KRule(name="both", k=5, games_below=10, rating_from=1000, rating_below=2000, pools=("go/*", "x"))
    holding = {"rating": 1000.0, "games": 9}

    def holds(pool: str = "go/fast", **state: Any) -> bool:
        return rule.holds(player(**holding | state), None, pool, NOON)

    assert holds()
    assert holds(pool="x")
    assert not holds(games=10)
    assert not holds(rating=999.99)
    assert not holds(rating=2000.0)
    assert not holds(pool="go")
    assert not holds(pool="xy")


@pytest.mark.parametrize("condition", ["games_below", "rating_from", "rating_below", "peak_from", "age_until", "pools"])
def test_every_condition_makes_a_rule_conditional(condition: str) -> None:
    """A rule with any condition at all cannot be the last one."""
    rule = {"name": "last", "k": 32, condition: ["*"] if condition == "pools" else 1}
    with pytest.raises(ValueError, match="the last rule, 'last', must have no conditions"):
        policy(k_factor=[rule])
