"""The expected score."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import FIDE, SHIPPED, YIBOARD, ratings, thorough
from worker.rating.expected import Expected, FideTable, Logistic

FIDE_1 = next(policy for policy in SHIPPED.policies if (policy.name, policy.version) == ("fide", 1))

CURVE = YIBOARD.expected
TABLE = FIDE.expected
TABLE_CAPPING_ALL = FIDE_1.expected
zero_sum = pytest.mark.parametrize("expected", [CURVE, TABLE_CAPPING_ALL], ids=["curve", "table"])


@zero_sum
@thorough
@given(own=ratings, opponent=ratings)
def test_the_sides_share_one_point(expected: Expected, own: float, opponent: float) -> None:
    """The two expected scores sum to exactly 1, and the stronger side has at least half."""
    ours, _ = expected.score(own, opponent)
    theirs, _ = expected.score(opponent, own)
    assert ours + theirs == 1
    assert 0 <= ours <= 1
    assert ours >= 0.5 if own >= opponent else ours <= 0.5


@zero_sum
@thorough
@given(own=ratings, opponent=ratings, score=st.sampled_from([0.0, 0.5, 1.0]))
def test_gain_is_loss(expected: Expected, own: float, opponent: float, score: float) -> None:
    """What one side does better than expected, the other does worse, to the last bit."""
    ours, _ = expected.score(own, opponent)
    theirs, _ = expected.score(opponent, own)
    assert score - ours == -((1 - score) - theirs)


@zero_sum
@thorough
@given(own=ratings, opponent=ratings, more=st.floats(min_value=0, max_value=500))
def test_a_higher_rating_is_never_expected_to_score_less(
    expected: Expected, own: float, opponent: float, more: float
) -> None:
    """The expected score rises with the own rating and falls with the opponent's."""
    at_first, _ = expected.score(own, opponent)
    assert expected.score(own + more, opponent)[0] >= at_first
    assert expected.score(own, opponent + more)[0] <= at_first


@thorough
@given(own=ratings, opponent=ratings)
def test_the_curve_is_the_formula(own: float, opponent: float) -> None:
    """The curve is 1 / (1 + 10 ** ((opponent - own) / 400)), whichever side is the stronger."""
    formula = 1 / (1 + math.pow(10, (opponent - own) / 400))
    assert CURVE.score(own, opponent)[0] == pytest.approx(formula, abs=1e-15)


@pytest.mark.parametrize("expected", [CURVE, TABLE, TABLE_CAPPING_ALL])
@pytest.mark.parametrize("gap", [5e3, 1e6, 1e300])
def test_absurd_gaps(expected: Expected, gap: float) -> None:
    """A gap of any size gives a score between 0 and 1 instead of overflowing."""
    assert 0.9 < expected.score(gap, 0.0)[0] <= 1
    assert 0 <= expected.score(0.0, gap)[0] < 0.1


def test_scale_is_the_gap_of_ten_to_one() -> None:
    """A policy's scale is the gap at which the odds are ten to one."""
    expected = Logistic(method="logistic", scale=250)
    assert expected.score(1250.0, 1000.0)[0] == pytest.approx(10 / 11)


@pytest.mark.parametrize(
    ("gap", "score"),
    [(3.49, 0.50), (3.5, 0.51), (10.49, 0.51), (10.5, 0.52), (735.49, 0.99), (735.5, 1.0), (0.0, 0.5), (1e9, 1.0)],
)
def test_the_table_rounds_the_gap_first(gap: float, score: float) -> None:
    """FIDE's table is read by the gap in whole points, half up."""
    assert TABLE.of_stronger(gap) == score


def test_every_row_of_the_table() -> None:
    """Each upper bound is the last whole gap of its score: one point more expects one hundredth more."""
    assert isinstance(TABLE, FideTable)
    for row, bound in enumerate(TABLE.table):
        assert TABLE.of_stronger(bound) == (50 + row) / 100
        assert TABLE.of_stronger(bound + 1) == (51 + row) / 100


@pytest.mark.parametrize(
    ("own", "opponent", "score", "capped"),
    [
        (2649.0, 2249.0, 0.92, False),  # 400 is not more than 400
        (2649.0, 2200.0, 0.92, True),
        (2649.99, 1000.0, 0.92, True),
        (2650.0, 2200.0, 0.94, False),  # 450, in full
        (2650.0, 1700.0, 1.0, False),
        (2200.0, 2650.0, 1 - 0.92, True),  # the opponent of such a player still has the cap
        (2650.0, 3200.0, 1 - 0.97, False),
        (1500.0, 1900.0, 1 - 0.92, False),
        (1500.0, 1901.0, 1 - 0.92, True),
    ],
)
def test_gap_cap_with_its_exception(own: float, opponent: float, score: float, *, capped: bool) -> None:
    """A gap above 400 counts as 400 for a player below 2650 and in full for one at 2650 or above."""
    assert TABLE.score(own, opponent) == (score, capped)


@pytest.mark.parametrize(("own", "opponent"), [(2700.0, 2200.0), (2200.0, 2700.0), (1500.0, 2000.0)])
def test_gap_cap_without_exception(own: float, opponent: float) -> None:
    """The first FIDE version caps the gap of everyone."""
    score, capped = TABLE_CAPPING_ALL.score(own, opponent)
    assert (max(score, 1 - score), capped) == (0.92, True)
