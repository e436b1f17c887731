"""What the cells mean: times, figures, players; and how a value that came out is shown and compared with a cell."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

# When housekeeping looks, after all events: so far ahead that what lies three days before it, or more, is in the past.
LOOK = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=2)
MARGIN = timedelta(days=3)

NOTHING = "–"
_DAY = re.compile(r"day (-?\d+)(?: (\d\d):(\d\d)(?::(\d\d))?)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?")
_AGO = re.compile(r"(\d+) days ago")
_FIGURE = re.compile(r"[+-]?\d+(?:\.(\d+))?")
_NOISE = 1e-9


class Clock(NamedTuple):
    """The times of a scenario.

    Attributes:
        day_0: Its day 0, at midnight in UTC.
    """

    day_0: datetime

    @classmethod
    def starting(cls, text: str) -> Clock:
        """Read the setting `Day 0`: `60 days ago`, counted from the look of housekeeping, or a date.

        Raises:
            ValueError: It is neither; says what is allowed.
        """
        if found := _AGO.fullmatch(text):
            return cls(LOOK.replace(hour=0) - timedelta(days=int(found[1])))
        if _DATE.fullmatch(text):
            return cls(datetime.fromisoformat(text).replace(tzinfo=UTC))
        raise ValueError(f"{text!r} is no start; allowed is '60 days ago' or a date such as 2025-09-30")

    def read(self, text: str) -> datetime:
        """Read a time: `day 3`, `day 3 12:00`, `day 3 12:00:01` or `2025-09-30 23:59:59`, all in UTC.

        Raises:
            ValueError: It is none of these; says what is allowed.
        """
        if found := _DAY.fullmatch(text):
            day, hours, minutes, seconds = (int(part or 0) for part in found.groups())
            if found[2] is None:
                hours = 12
            return self.day_0 + timedelta(days=day, hours=hours, minutes=minutes, seconds=seconds)
        if _DATE.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        raise ValueError(f"{text!r} is no time; allowed is 'day 3', 'day 3 12:00:01' or '2025-09-30 23:59:59'")

    def show(self, time: datetime) -> str:
        """Write a time as scenarios do."""
        since = time - self.day_0
        clock = f"{self.day_0.replace(hour=0, minute=0, second=0) + since % timedelta(days=1):%H:%M:%S}".removesuffix(
            ":00"
        )
        return f"day {since // timedelta(days=1)} {clock}"


class Kind(StrEnum):
    """How a column is read."""

    TEXT = "a text"
    FIGURE = "a number, compared to as many decimals as it is written with"
    EXACT = "a number, compared exactly"
    FLAG = "yes or no"
    TIME = "a time"


def check(kind: Kind, text: str, clock: Clock) -> None:
    """See to it that a cell can be compared.

    Raises:
        ValueError: It can't; says what is allowed.
    """
    if text == NOTHING:
        return
    if kind in {Kind.FIGURE, Kind.EXACT} and not _FIGURE.fullmatch(text):
        raise ValueError(f"{text!r} is no number; allowed is a number such as 1016.5, or {NOTHING} for none")
    if kind is Kind.FLAG and text not in {"yes", "no"}:
        raise ValueError(f"{text!r} is neither yes nor no")
    if kind is Kind.TIME:
        clock.read(text)


def same(kind: Kind, text: str, got: Any, clock: Clock) -> bool:
    """Tell whether what came out is what a cell says."""
    if text == NOTHING or got is None:
        return (text == NOTHING) == (got is None)
    match kind:
        case Kind.TEXT:
            return text == str(got)
        case Kind.EXACT:
            return float(text) == float(got)
        case Kind.FLAG:
            return got is (text == "yes")
        case Kind.TIME:
            return isinstance(got, datetime) and clock.read(text) == got
        case Kind.FIGURE:
            decimals = len(text.partition(".")[2])
            return abs(float(text) - float(got)) <= 0.5 * float(10**-decimals) + _NOISE


def show(got: Any, clock: Clock) -> str:
    """Write what came out as a cell."""
    if got is None:
        return NOTHING
    if isinstance(got, bool):
        return "yes" if got else "no"
    if isinstance(got, datetime):
        return clock.show(got)
    if isinstance(got, float):
        return f"{got:.4f}".rstrip("0").removesuffix(".")
    return str(got)
