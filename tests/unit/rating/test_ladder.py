"""Ladders. The figures of the rule texts are in test_rules_vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.unit.rating.examples import BICIID, FIDE, YIBOARD, match, player, policy, rated

if TYPE_CHECKING:
    from worker.rating import Policy

NUMBERS = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth"]


def test_the_whole_ladder_of_yiboard() -> None:
    """Grades climb by 50 from Ninth, below 1100, to First at 1450, dans by 100 from First at 1500 to Ninth at 2300."""
    grades = [f"{number} Grade" for number in reversed(NUMBERS)]
    dans = [f"{number} Dan" for number in NUMBERS]
    bounds = [*range(1100, 1500, 50), *range(1500, 2400, 100)]
    assert [rung.title for rung in YIBOARD.ladder] == grades + dans
    assert [rung.lower for rung in YIBOARD.ladder] == [None, *bounds]


@pytest.mark.parametrize(
    ("rating", "band"),
    [
        *((0, "novice"), (800, "beginner"), (1200, "intermediate"), (1600, "strong club"), (2000, "expert")),
        *((2200, "master"), (2400, "international"), (2500, "elite")),
    ],
)
def test_bands_of_fide(rating: float, band: str) -> None:
    """FIDE's bands begin at their lower bounds, inclusive."""
    assert FIDE.title(rating) == band
    assert rating == 0 or FIDE.title(math.nextafter(rating, 0)) != band


@pytest.mark.parametrize("system", [YIBOARD, BICIID, FIDE], ids=lambda system: str(system.name))
def test_every_rating_has_a_title(system: Policy) -> None:
    """A rating below every bound stands on the first rung, one above all on the last, each bound on its own."""
    assert system.title(-1000.0) == system.ladder[0].title
    assert system.title(1e6) == system.ladder[-1].title
    for below, rung in zip(system.ladder, system.ladder[1:], strict=False):
        assert rung.lower is not None
        assert system.title(rung.lower) == rung.title
        assert system.title(math.nextafter(rung.lower, -math.inf)) == below.title


def test_a_ladder_of_one() -> None:
    """A single rung holds everyone."""
    assert policy().title(-5.0) == policy().title(5000.0) == "everyone"


def test_the_title_never_lags() -> None:
    """A change carries the title before and the title after, by the exact rating rather than the one displayed."""
    up, down = rated(match(1.0), player(1490.0), player(1490.0), YIBOARD).changes
    assert (up.title_before, up.title_after) == ("First Grade", "First Dan")
    assert (down.title_before, down.title_after) == ("First Grade", "First Grade")
    assert YIBOARD.title(1499.9) == "First Grade"
