"""Rounding."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import match, player, policy, rated, ratings, scores, thorough
from worker.rating import display

points = st.floats(min_value=-1e17, max_value=1e17)


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        *((0.0, 0), (-0.0, 0), (0.4, 0), (0.5, 1), (-0.5, -1), (1.5, 2), (2.5, 3), (-2.5, -3), (15.2, 15), (-6.6, -7)),
        *(
            (0.49999999999999994, 0),
            (-0.49999999999999994, 0),
            (1e300, int(1e300)),
            (4503599627370497.5, 4503599627370498),
        ),
    ],
)
def test_half_away_from_zero(exact: float, shown: int) -> None:
    """Halves go away from zero and everything else to the nearest whole point."""
    assert display(exact) == shown


@thorough
@given(points)
def test_display_agrees_with_decimal_arithmetic(exact: float) -> None:
    """What people see is the exact value rounded half away from zero, with no error of binary arithmetic."""
    assert display(exact) == Decimal(exact).quantize(Decimal(1), ROUND_HALF_UP)


@thorough
@given(points)
def test_display_is_symmetrical(exact: float) -> None:
    """What is +x for one side is -x for the other."""
    assert display(-exact) == -display(exact)


@thorough
@given(own=st.integers(0, 3000), opponent=st.integers(0, 3000), score=scores)
def test_whole_point_policies(own: int, opponent: int, score: float) -> None:
    """With `integer` rounding whole ratings stay whole, each change is the nearest, and the two are opposite."""
    states = player(float(own)), player(float(opponent))
    whole = rated(match(score), *states, policy(rounding="integer"))
    exact = rated(match(score), *states, policy())
    for change, unrounded in zip(whole.changes, exact.changes, strict=True):
        assert change.after.is_integer()
        assert change.delta == display(unrounded.delta)
        assert change.adjusted == (() if unrounded.delta.is_integer() else ("rounding",))
    assert whole.changes[0].delta == -whole.changes[1].delta


@thorough
@given(own=ratings, opponent=ratings, score=scores)
def test_nothing_is_rounded_unless_asked(own: float, opponent: float, score: float) -> None:
    """Without rounding a change is the formula's value to the last bit."""
    for change in rated(match(score), player(own), player(opponent), policy()).changes:
        assert change.score is not None
        assert change.expected is not None
        assert change.delta == 32 * 1.0 * (change.score - change.expected)
        assert change.adjusted == ()
