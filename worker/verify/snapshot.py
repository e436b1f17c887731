"""Reading a live database as it stands at one moment: what verifying needs of it, in pieces."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.ledger import sql
from worker.ledger.rows import LedgerRow
from worker.rating.model import Match, Side

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from datetime import datetime

    from worker.ledger.reads.players import Connection

_SQL = sql.load("verify.sql")

PIECE = 4_000  # rows in memory at a time
# Entries that one statement reads, by a cursor: the server sorts them, in some 300 MB of temporary files at most. Each
# statement also reads the end of the ledger that its BRIN index does not cover until the next autovacuum: so not less.
_STRETCH = 1_000_000
_PATIENCE_S = 3_600  # a whole table may have to be read before its first row comes


class Entry(NamedTuple):
    """A row of the ledger with the names of its player, None for both where `ratings` lacks them."""

    entry_id: int
    pool: str | None
    player_id: str | None
    row: LedgerRow

    @property
    def ids(self) -> dict[str, Any]:
        """What to look at it by."""
        row = self.row
        return {"pool": self.pool, "player_id": self.player_id, "version": row.version, "match_id": row.match_id}


class RecordedMatch(NamedTuple):
    """A row of `matches` with the names of its players."""

    match_id: str
    pool: str | None
    lo_rating_id: int
    hi_rating_id: int
    lo_player: str | None
    hi_player: str | None
    lo_version: int | None
    hi_version: int | None
    lo_steps: int
    hi_steps: int
    lo_score: float
    attributes: dict[str, int] | None
    finished_at: datetime
    match_type: str
    tournament_id: str | None
    verified: bool
    voided: bool
    unrated_reason: str | None
    unrated_player: str | None
    digest: bytes

    @property
    def ids(self) -> dict[str, Any]:
        """What to look at it by."""
        return {"pool": self.pool, "match_id": self.match_id}

    @property
    def keys(self) -> tuple[tuple[int, int | None], tuple[int, int | None]]:
        """Of its entries: rating_id and version of the first and the second player."""
        return (self.lo_rating_id, self.lo_version), (self.hi_rating_id, self.hi_version)

    def match(self) -> Match:
        """Make the match again that was recorded."""
        born = fields_of(self.attributes)
        return Match(
            self.match_id,
            self.pool or "",
            self.finished_at,
            (
                Side(self.lo_player or "", self.lo_score, born.get("lo_birth_year")),
                Side(self.hi_player or "", 1.0 - self.lo_score, born.get("hi_birth_year")),
            ),
            self.match_type,
            self.tournament_id,
            self.verified,
        )


class RecordedEvent(NamedTuple):
    """What matters here of a row of `events`; `changes` are keys of entries."""

    body: dict[str, Any]
    changes: frozenset[tuple[int, int]]


class Player(NamedTuple):
    """Who stands behind a rating_id."""

    pool: str
    player_id: str
    pool_id: int


class Snapshot:
    """A database at one moment, however much is written to it meanwhile.

    Attributes:
        pool_ids: The short keys of the pools to look at, None for all.
    """

    def __init__(self, connection: Connection, pool_ids: Sequence[int] | None = None) -> None:
        self.connection = connection
        self.pool_ids = pool_ids

    @classmethod
    @asynccontextmanager
    async def of(cls, connection: Connection) -> AsyncIterator[Snapshot]:
        """Take a snapshot for the block. It only reads, takes no lock that a worker could wait for, and may take long.

        While it is there, vacuum spares every row version that it sees; on a standby, it may be cancelled for that.
        """
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute(f"set local statement_timeout = '{_PATIENCE_S}s'")
            yield cls(connection)

    async def fetch(self, name: str, *arguments: Any) -> list[Any]:
        """Run a statement of verify.sql and give all its rows."""
        return await self.run(_SQL[name], *arguments)

    async def run(self, statement: str, *arguments: Any) -> list[Any]:
        """Run a statement and give all its rows."""
        return list(await self.connection.fetch(statement, *arguments, timeout=_PATIENCE_S))

    async def pieces(self, name: str, *arguments: Any) -> AsyncIterator[list[Any]]:
        """Run a statement of verify.sql and give its rows in pieces."""
        piece: list[Any] = []
        async for row in self.connection.cursor(_SQL[name], *arguments, prefetch=PIECE, timeout=_PATIENCE_S):
            piece.append(row)
            if len(piece) == PIECE:
                yield piece
                piece = []
        if piece:
            yield piece

    async def entries(self, first: int, last: int) -> AsyncIterator[list[Entry]]:
        """Give the ledger in recorded order, in pieces.

        Args:
            first: The lowest entry_id.
            last: The highest.
        """
        for after in range(first - 1, last, _STRETCH):
            async for piece in self.pieces("entries", after, after + _STRETCH, self.pool_ids):
                yield [Entry(record[0], record[1], record[2], LedgerRow(*record[3:])) for record in piece]

    async def matches_of(self, match_ids: Sequence[str]) -> dict[str, RecordedMatch]:
        """Give matches by their ids; those that are not recorded are left out."""
        rows = await self.fetch("matches_of", match_ids) if match_ids else []
        return {row[0]: RecordedMatch(*row) for row in rows}

    async def events_of(self, event_ids: Sequence[str]) -> dict[str, RecordedEvent]:
        """Give events by their ids; those that are not recorded are left out."""
        rows = await self.fetch("events_of", event_ids) if event_ids else []
        return {event_id: RecordedEvent(fields_of(body), keys_of(changes)) for event_id, body, changes in rows}

    async def entries_of(self, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Any]:
        """Give entries by rating_id and version, with what `entries_of` selects; those that there are not, not."""
        rows = await self.fetch("entries_of", [key[0] for key in keys], [key[1] for key in keys]) if keys else []
        return {(row["rating_id"], row["version"]): row for row in rows}

    async def players_of(self, rating_ids: Sequence[int]) -> dict[int, Player]:
        """Give who stands behind rating ids."""
        rows = await self.fetch("players_of", rating_ids) if rating_ids else []
        return {rating_id: Player(*names) for rating_id, *names in rows}

    def looks_at(self, pool_id: int) -> bool:
        """Tell whether a pool is one to look at."""
        return self.pool_ids is None or pool_id in self.pool_ids


def keys_of(changes: Any) -> frozenset[tuple[int, int]]:
    """Give the keys of the entries that `events.changes` names."""
    keys = rows_of(changes, ("rating_id", "version"))
    return frozenset((key[0], key[1]) for key in keys if all(isinstance(one, int) for one in key))


def rows_of(value: Any, fields: Sequence[str]) -> list[list[Any]]:
    """Give the rows in a column of jsonb that have as many fields as they should, and leave out all else."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == len(fields)]


def fields_of(body: Any) -> dict[str, Any]:
    """Give the fields in `events.body`; none where something else is there."""
    return body if isinstance(body, dict) else {}
