"""A player's rating over time: the latest of its changes, thinned to what a plot can show."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from worker.ledger import sql
from worker.rating.model import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from worker.ledger.reads.players import Connection

_SQL = sql.load("page.sql")
_LAST_VERSION = 2**31 - 1


class Point(NamedTuple):
    """What a change left a player with.

    Attributes:
        rating: After the change.
        reason: Whatever is no match is marked in the plot.
    """

    version: int
    at: datetime
    rating: float
    reason: Reason
    match_id: str | None


async def trace(
    connection: Connection, rating_id: int, *, limit: int, before_version: int = _LAST_VERSION
) -> list[Point]:
    """Give a player's latest changes in a pool before a version, oldest first."""
    rows = await connection.fetch(_SQL["trace"], rating_id, before_version, limit)
    return [
        Point(row["version"], row["occurred_at"], row["after"], Reason(row["reason"]), row["match_id"])
        for row in reversed(rows)
    ]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Leave out points that a plot of this width would not show: it keeps its shape, and every peak and every low.

    Of equal stretches, each keeps its highest and its lowest point; the first, the last and the latest marks stay too.

    Args:
        points: In order.
        most: How many to keep at most, not less than 8.
    """
    if len(points) <= most:
        return list(points)
    marks = [place for place, point in enumerate(points) if point.reason is not Reason.MATCH]
    kept = {0, len(points) - 1, *marks[-(most // 4) :]}
    stretches = (most - len(kept)) // 2
    bounds = [round(number * len(points) / stretches) for number in range(stretches + 1)]
    for start, end in pairwise(bounds):
        stretch = range(start, end)
        kept |= {max(stretch, key=lambda at: points[at].rating), min(stretch, key=lambda at: points[at].rating)}
    return [points[place] for place in sorted(kept)]
