"""The expected score: what a side is expected to take from a match, by the gap between the two ratings."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from worker.rating.rounding import display
from worker.rating.rule import Rule

TABLE_ROWS = 50  # the expected scores .50, .51, … .99: what "two decimals" leaves between even and certain


def logistic(gap: float, scale: float) -> float:
    """Give the stronger side's expected score, in [0.5, 1], by Elo's curve 1 / (1 + 10 ** (-gap / scale)).

    Args:
        gap: By how many points the side is ahead; not negative, so that the power may vanish but never overflow.
        scale: The gap at which the odds are ten to one, in points.
    """
    return 1.0 / (1.0 + 10.0 ** (-gap / scale))


def fide_table(gap: float, upper_bounds: tuple[int, ...]) -> float:
    """Give the stronger side's expected score, in [0.5, 1], by FIDE's table (Handbook B.02, 8.1.2).

    Args:
        gap: By how many points the side is ahead; not negative. It is rounded to whole points first.
        upper_bounds: The largest whole gap of each of .50, .51, … .99; beyond the last, 1.00 is expected.
    """
    row = bisect_left(upper_bounds, display(gap))
    return (TABLE_ROWS + row) / 100


def check_table(upper_bounds: tuple[int, ...]) -> None:
    """Refuse a table that `fide_table` could not read.

    Raises:
        ValueError: Says what is wrong.
    """
    if len(upper_bounds) != TABLE_ROWS:
        raise ValueError(f"{TABLE_ROWS} upper bounds are needed, for .50 to .99; there are {len(upper_bounds)}")
    if upper_bounds[0] < 0:
        raise ValueError(f"the first upper bound must not be negative: {upper_bounds[0]}")
    for lower, upper in pairwise(upper_bounds):
        if upper <= lower:
            raise ValueError(f"upper bounds must rise: {upper} comes after {lower}")


class Expected(Rule):
    """How a policy finds expected scores.

    Attributes:
        method: The curve or the table.
        scale: For the curve: the gap of ten-to-one odds, in points.
        table: For the table: the upper bounds of the gap for .50, .51, … .99, in whole points.
        gap_cap: A larger gap counts as this many points; None caps nothing.
        gap_cap_below: The cap holds for a player rated below this; None caps for everyone.
    """

    method: Literal["logistic", "fide-table"]
    scale: Annotated[float | None, Field(gt=0, validate_default=True)] = None
    table: Annotated[tuple[int, ...] | None, Field(strict=False, validate_default=True)] = None
    gap_cap: Annotated[float | None, Field(gt=0)] = None
    gap_cap_below: float | None = None

    @field_validator("scale")
    @classmethod
    def _scale_goes_with_the_curve(cls, value: float | None, info: ValidationInfo) -> float | None:
        method = info.data.get("method")
        if method == "logistic" and value is None:
            raise ValueError("method 'logistic' needs a scale, such as 400")
        if method == "fide-table" and value is not None:
            raise ValueError("method 'fide-table' has no scale")
        return value

    @field_validator("table")
    @classmethod
    def _table_goes_with_its_method(cls, value: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        method = info.data.get("method")
        if method == "logistic" and value is not None:
            raise ValueError("method 'logistic' has no table")
        if method == "fide-table" and value is None:
            raise ValueError(f"method 'fide-table' needs a table of {TABLE_ROWS} upper bounds")
        if value is not None:
            check_table(value)
        return value

    @field_validator("gap_cap_below")
    @classmethod
    def _exception_needs_a_cap(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("gap_cap", value) is None:
            raise ValueError("there is no gap_cap that it could limit")
        return value

    def score(self, own: float, opponent: float) -> tuple[float, bool]:
        """Give a side's expected score and whether the gap cap acted, both ratings being those before the match.

        The stronger side's expectation e is computed and the weaker side gets 1 - e. As e lies in [0.5, 1], that
        subtraction is exact (Sterbenz), and so are score - e for scores of 0, 0.5 and 1: two sides with equal K and the
        same gap move by exact opposites, to the last bit. Only a cap that holds for one side alone breaks this.
        """
        ahead = own - opponent
        gap = abs(ahead)
        capped = (
            self.gap_cap is not None and gap > self.gap_cap and (self.gap_cap_below is None or own < self.gap_cap_below)
        )
        if capped:
            gap = self.gap_cap
        stronger = logistic(gap, self.scale) if self.table is None else fide_table(gap, self.table)
        return (stronger if ahead >= 0 else 1.0 - stronger), capped
