"""When pairs met: what the decay of repeated pairings counts."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta


def pair_of(pool: str, a: str, b: str) -> tuple[str, str, str]:
    """Name a pair in a pool, whoever comes first."""
    return (pool, a, b) if a < b else (pool, b, a)


def count_times(times: list[datetime], finished_at: datetime, window: timedelta) -> int:
    """Count the times f, sorted, with f <= finished_at and finished_at - f < window."""
    until = bisect_right(times, finished_at)
    try:
        since = finished_at - window
    except OverflowError:  # in the first hours of year 1
        return until
    return until - bisect_right(times, since, hi=until)


def forget_time(times: list[datetime], finished_at: datetime) -> None:
    """Take out a match that counts no more, if the times reach back to it."""
    place = bisect_left(times, finished_at)
    if place < len(times) and times[place] == finished_at:
        del times[place]
