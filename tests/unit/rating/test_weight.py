"""The weight of a match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import BICIID, FIDE, YIBOARD, match, player, policy, rated, thorough, unrated
from worker.rating import Factor, Policy
from worker.rating.weight import RepeatPair, weigh

DECAY = RepeatPair(window_hours=24, full_weight_games=3, factor=0.5, minimum=0.1)


@thorough
@given(
    earlier=st.integers(0, 10**6),
    full=st.integers(1, 20),
    factor=st.floats(0.001, 1),
    minimum=st.floats(0.001, 1),
)
def test_decay_never_falls_below_the_minimum(earlier: int, full: int, factor: float, minimum: float) -> None:
    """However often a pair meets, a match weighs at least the minimum, never more than 1 nor than the one before."""
    decay = RepeatPair(window_hours=24, full_weight_games=full, factor=factor, minimum=minimum)
    assert minimum <= decay.weight(earlier + 1) <= decay.weight(earlier) <= 1
    assert (decay.weight(earlier) == 1) or earlier >= full


def test_each_factor_says_why() -> None:
    """The factors that are not 1 are named with a reason, and the weight is their product."""
    weight = weigh("tournament", {"tournament": 1.25}, 3, DECAY)
    assert weight.value == 0.5 * 1.25
    assert weight.factors == (
        Factor("repeat-pair", 0.5, "game 4 of this pair in 24 h"),
        Factor("match-type", 1.25, "tournament match"),
    )


def test_a_weight_of_one_has_no_factors() -> None:
    """Factors of 1 are not listed, even where two others would cancel out."""
    assert weigh("ranked", {"ranked": 1.0}, 2, DECAY) == (1.0, ())
    assert weigh("ranked", {}, 50, None) == (1.0, ())
    assert len(weigh("double", {"double": 2.0}, 3, DECAY).factors) == 2


def test_odd_windows_are_said_in_words() -> None:
    """The reason names the policy's own window."""
    decay = RepeatPair(window_hours=1.5, full_weight_games=1, factor=0.5, minimum=0.1)
    assert weigh("ranked", {}, 1, decay).factors[0].why == "game 2 of this pair in 1.5 h"


def test_both_sides_share_the_weight() -> None:
    """The weight and its reasons are the same for both sides and scale the change of each."""
    outcome = rated(match(match_type="tournament", pool="shax"), player(), player(), BICIID, 4)
    assert [(change.weight, change.delta) for change in outcome.changes] == [(0.3125, 5.0), (0.3125, -5.0)]
    assert outcome.changes[0].factors == outcome.changes[1].factors
    assert [factor.name for factor in outcome.changes[0].factors] == ["repeat-pair", "match-type"]


@pytest.mark.parametrize(("match_type", "weight"), [("ranked", 1.0), ("tournament", 1.25), ("something-new", 1.0)])
def test_match_types_of_biciid(match_type: str, weight: float) -> None:
    """A BICIID tournament weighs 1.25, a ranked match 1, and so does a type that the policy does not name."""
    outcome = rated(match(match_type=match_type, pool="shax"), player(), player(), BICIID)
    assert outcome.changes[0].weight == weight


def test_casual_matches_of_biciid_are_not_rated() -> None:
    """A match type of weight 0 is not rated, and its name is the reason."""
    assert unrated(match(match_type="casual", pool="shax"), BICIID).reason == "casual"
    assert unrated(match(match_type="ranked"), policy(match_types={"ranked": 0})).reason == "ranked"


@pytest.mark.parametrize("system", [YIBOARD, FIDE], ids=lambda system: str(system.name))
@pytest.mark.parametrize("match_type", ["ranked", "tournament", "casual"])
def test_match_types_of_the_others(system: Policy, match_type: str) -> None:
    """yiboard and FIDE name no match types, so each weighs 1."""
    assert rated(match(match_type=match_type), player(), player(), system).changes[0].weight == 1.0


def test_fide_does_not_decay() -> None:
    """FIDE has no decay of repeated pairings."""
    assert rated(match(pool="chess/rapid"), player(), player(), FIDE, 50).changes[0].weight == 1.0
