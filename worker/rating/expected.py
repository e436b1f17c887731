"""The expected score: what a side is expected to take from a match, by the gap between the two ratings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from worker.rating.rounding import display
from worker.rating.rule import Rule

TABLE_ROWS = 50  # the expected scores .50, .51, … .99: what "two decimals" leaves between even and certain


class Expected(Rule, ABC):
    """What the methods share.

    Attributes:
        gap_cap: A larger gap counts as this many points; None caps nothing.
        gap_cap_below: The cap holds for a player rated below this; None caps for everyone.
    """

    gap_cap: Annotated[float | None, Field(gt=0)] = None
    gap_cap_below: float | None = None

    @field_validator("gap_cap_below")
    @classmethod
    def _exception_needs_a_cap(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("gap_cap", value) is None:
            raise ValueError("there is no gap_cap that it could limit")
        return value

    @abstractmethod
    def of_stronger(self, gap: float) -> float:
        """Give the expected score, in [0.5, 1], of a side that is `gap` points ahead; `gap` is not negative."""

    def score(self, own: float, opponent: float) -> tuple[float, bool]:
        """Give a side's expected score and whether the gap cap acted, both ratings being those before the match.

        The stronger side's expectation e is computed and the weaker side gets 1 - e. As e lies in [0.5, 1], that
        subtraction is exact (Sterbenz), and so are score - e for scores of 0, 0.5 and 1: two sides with equal K and the
        same gap move by exact opposites, to the last bit. Only a cap that holds for one side alone breaks this.
        """
        ahead = own - opponent
        gap = abs(ahead)
        cap = self.gap_cap
        capped = False
        if cap is not None and gap > cap and (self.gap_cap_below is None or own < self.gap_cap_below):
            gap, capped = cap, True
        stronger = self.of_stronger(gap)
        return (stronger if ahead >= 0 else 1.0 - stronger), capped


class Logistic(Expected):
    """Elo's curve, 1 / (1 + 10 ** ((opponent - own) / scale)).

    Attributes:
        scale: The gap at which the odds are ten to one, in points.
    """

    method: Literal["logistic"]
    scale: Annotated[float, Field(gt=0)]

    def of_stronger(self, gap: float) -> float:
        """Give the curve's value. The power is at most 1: it may vanish, it cannot overflow."""
        odds: float = 10.0 ** (-gap / self.scale)
        return 1.0 / (1.0 + odds)


class FideTable(Expected):
    """FIDE's table, two decimals by the gap rounded to whole points (FIDE Handbook B.02, 8.1.2).

    Attributes:
        table: The largest whole gap of each of .50, .51, … .99; beyond the last, 1.00 is expected.
    """

    method: Literal["fide-table"]
    table: Annotated[tuple[int, ...], Field(strict=False)]

    @field_validator("table")
    @classmethod
    def _has_a_rising_bound_for_each_score(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(value) != TABLE_ROWS:
            raise ValueError(f"{TABLE_ROWS} upper bounds are needed, for .50 to .99; there are {len(value)}")
        if value[0] < 0:
            raise ValueError(f"the first upper bound must not be negative: {value[0]}")
        for lower, upper in pairwise(value):
            if upper <= lower:
                raise ValueError(f"upper bounds must rise: {upper} comes after {lower}")
        return value

    def of_stronger(self, gap: float) -> float:
        """Give the table's value."""
        row = bisect_left(self.table, display(gap))
        return (TABLE_ROWS + row) / 100
