"""Signals of manipulation as they were published, and the games that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.rating.model import NoticeKind
from worker.rating.signals import PlayedGame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from worker.ledger.reads.players import Connection

_SQL = sql.load("reviews.sql")
LATEST = 64
"""Ledger entries of a player that are looked at, by housekeeping and by reviewers alike."""


@dataclass(frozen=True, slots=True)
class RatedGame:
    """One rated game of a player.

    Attributes:
        game: As the signals see it.
        voided: Whether its match has been voided; it then belongs to no signal any more.
    """

    match_id: str
    game: PlayedGame
    voided: bool


@dataclass(frozen=True, slots=True)
class Flag:
    """A signal that was published.

    Attributes:
        key: What the notice is unique by.
        body: The fields of its event.
        last_at: When the last game of the evidence finished.
        published_at: When housekeeping found it.
        rating_id: Of the player whom it is about, in the pool that it is about.
    """

    key: str
    body: Mapping[str, Any]
    last_at: datetime
    published_at: datetime
    rating_id: int


def played(row: Mapping[str, Any]) -> PlayedGame:
    """Give a game as the signals see it, from a row of the ledger with the opponent's id."""
    return PlayedGame(
        row["opponent_id"],
        float(row["score"]),
        row["delta"],
        row["before"],
        row["opponent_before"],
        row["occurred_at"],
        row["games"],
    )


async def flags(
    connection: Connection, player_id: str, *, limit: int, pool: str | None = None, signal: str | None = None
) -> list[Flag]:
    """Give the signals that were published about a player, or that name them as the other one; newest first."""
    rows = await connection.fetch(_SQL["flags"], player_id, pool, signal, limit)
    return [Flag(row["key"], row["body"], row["occurred_at"], row["recorded_at"], row["rating_id"]) for row in rows]


async def published(connection: Connection, keys: Sequence[str]) -> dict[str, datetime]:
    """Tell which signals were published, by key, and when."""
    rows = await connection.fetch(_SQL["published"], NoticeKind.INTEGRITY_FLAGGED, keys)
    return {row["key"]: row["recorded_at"] for row in rows}


async def latest_games(connection: Connection, rating_id: int, recorded_by: datetime | None = None) -> list[RatedGame]:
    """Give a player's latest rated games in a pool, in order of time, from `LATEST` ledger entries at most.

    Args:
        connection: To the ledger.
        rating_id: The player in the pool.
        recorded_by: As the ledger stood then, but for voids that came since; None for now.
    """
    if recorded_by is None:
        version = await connection.fetchval(_SQL["version_now"], rating_id)
    else:
        version = await connection.fetchval(_SQL["version_at"], rating_id, recorded_by)
    rows = await connection.fetch(_SQL["games_up_to"], rating_id, version, LATEST)
    gone = {row["match_id"] for row in rows if row["reason"] == "void"}
    return [
        RatedGame(
            row["match_id"],
            played(row),
            row["voided"],
        )
        for row in rows
        if row["reason"] == "match" and row["match_id"] not in gone
    ]
