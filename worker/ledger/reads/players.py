"""Leaderboards, players and their histories."""

from __future__ import annotations

import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from worker.ledger import sql
from worker.rating.model import Factor, PolicyRef, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    Connection = asyncpg.Connection[Any] | PoolConnectionProxy[Any]

_SQL = sql.load("reads.sql")
_LAST_VERSION = 2**31 - 1


class Cursor(NamedTuple):
    """A place in a leaderboard: what stands there, and its rank when the page was read."""

    rating: float
    rating_id: int
    rank: int

    def __str__(self) -> str:
        return urlsafe_b64encode(orjson.dumps(list(self))).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read a cursor that a page gave.

        Raises:
            ValueError: It is none.
        """
        try:
            rating, rating_id, rank = orjson.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            cursor = cls(float(rating), int(rating_id), int(rank))
        except (ValueError, TypeError, Base64Error):
            raise ValueError(f"{text!r} is no cursor that a leaderboard gave") from None
        if not 0 <= cursor.rating_id < 2**63:
            raise ValueError(f"{text!r} is no cursor that a leaderboard gave")
        return cursor


TOP = Cursor(math.inf, 2**63 - 1, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a player stands in a pool.

    Attributes:
        version: How many changes the player's chain has.
        peak: The highest rating ever held after a rated game, or the start.
        inactive: Whether the player has not played for so long that the policy takes them off the leaderboard.
        requalify: Rated games still to play before the leaderboard opens again after an absence.
        rank: The place in the leaderboard, from 1; None outside one.
    """

    pool: str
    player_id: str
    rating: float
    title: str
    games: int
    wins: int
    draws: int
    losses: int
    last_played_at: datetime | None
    version: int
    peak: float
    provisional: bool
    inactive: bool
    requalify: int
    rating_id: int
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a leaderboard, and where the next one starts; None after the last."""

    standings: list[Standing]
    after: Cursor | None


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a player's rating, as a history shows it; without match and opponent where no match gave it."""

    version: int
    match_id: str | None
    opponent_id: str | None
    reason: Reason
    before: float
    after: float
    delta: float
    score: float | None
    weight: float
    factors: tuple[Factor, ...]
    occurred_at: datetime


async def pools(connection: Connection) -> list[str]:
    """Name the pools that have ever been played in."""
    return [row["name"] for row in await connection.fetch(_SQL["pools"])]


async def leaderboard(connection: Connection, pool: str, *, limit: int, after: Cursor = TOP) -> Page | None:
    """Give a page of a pool's leaderboard, by rating: those who are neither provisional nor inactive nor suspended.

    Args:
        connection: To the ledger.
        pool: The pool.
        limit: How many players at most.
        after: Where the page before ended.

    Returns:
        The page, None where nobody ever played in the pool.
    """
    pool_id = await connection.fetchval(_SQL["pool_id"], pool)
    if pool_id is None:
        return None
    rows = await connection.fetch(_SQL["leaderboard_page"], pool_id, after.rating, after.rating_id, pool, limit + 1)
    page = [Standing(pool=pool, rank=after.rank + place, **row) for place, row in enumerate(rows[:limit], start=1)]
    last = page[-1] if len(rows) > limit else None
    return Page(page, None if last is None else Cursor(last.rating, last.rating_id, last.rank or 0))


async def standings(connection: Connection, player_id: str, pool: str | None = None) -> list[Standing]:
    """Give where a player stands, in every pool or in one; empty for one whom the ledger does not know."""
    return [Standing(**row) for row in await connection.fetch(_SQL["standings"], player_id, pool)]


async def history(
    connection: Connection, rating_id: int, *, limit: int, before_version: int = _LAST_VERSION
) -> list[Step]:
    """Give a player's changes in a pool, newest first, starting before a version."""
    rows = await connection.fetch(_SQL["history_page"], rating_id, before_version, limit)
    return [Step(**{**row, "reason": Reason(row["reason"]), "factors": factors_of(row)}) for row in rows]


async def policies(connection: Connection) -> list[PolicyRef]:
    """Name every policy version that the ledger knows."""
    return [PolicyRef(row["name"], row["version"], row["digest"]) for row in await connection.fetch(_SQL["policies"])]


async def outcomes(connection: Connection, match_ids: Sequence[str]) -> dict[str, int]:
    """Count given matches by what became of them: the reason of those not rated, the empty text for those rated."""
    return {row["unrated_reason"]: row["matches"] for row in await connection.fetch(_SQL["outcomes"], match_ids)}


def factors_of(row: Mapping[str, Any]) -> tuple[Factor, ...]:
    """Make a ledger row's factors."""
    return tuple(Factor(*factor) for factor in row["factors"] or ())
