"""What a batch writes, and writing it: each table in an order that is the same in every worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import asyncpg

from worker.ledger import sql
from worker.ledger.errors import RaceLostError
from worker.ledger.rows import columns
from worker.ledger.values import Publication

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.rows import (
        EntryRow,
        EventRow,
        LedgerRow,
        MatchRow,
        NoticeRow,
        RatingRow,
        SanctionRow,
        TournamentRow,
    )
    from worker.rating.model import Lift

_BATCH = sql.load("batch.sql")
_RULEBOOK = sql.load("rulebook.sql")


@dataclass(slots=True)
class Rows:
    """What a batch writes, and nothing that is not new."""

    new_ratings: list[RatingRow] = field(default_factory=list)
    moved_ratings: list[RatingRow] = field(default_factory=list)
    matches: list[MatchRow] = field(default_factory=list)
    ledger: list[LedgerRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    sanctions: list[SanctionRow] = field(default_factory=list)
    lifts: list[Lift] = field(default_factory=list)
    voided: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    met: list[str] = field(default_factory=list)
    tournaments: list[TournamentRow] = field(default_factory=list)
    entries: list[EntryRow] = field(default_factory=list)


async def add_notices(connection: PoolConnectionProxy[Any], notices: Sequence[NoticeRow]) -> list[Publication]:
    """Record notices, and give those to publish that were not recorded before."""
    if not notices:
        return []
    arguments = columns([row.arguments() for row in notices])
    added = {tuple(row) for row in await connection.fetch(_RULEBOOK["add_notices"], *arguments)}
    publications = []
    for row in notices:
        if (row.notice.kind, row.notice.key) in added:
            added.discard((row.notice.kind, row.notice.key))
            publications.append(Publication(row.notice, row.traceparent))
    return publications


async def write(connection: PoolConnectionProxy[Any], rows: Rows) -> None:
    """Write the rows of a batch, each table in an order that is the same in every worker.

    Raises:
        RaceLostError: Another worker recorded a player, a match or an event of the batch first.
    """
    new = sorted(rows.new_ratings, key=lambda row: (row.pool_id, row.player_id))
    if new:
        status = await connection.execute(_BATCH["insert_ratings"], *columns(new))
        if int(status.rsplit(" ", 1)[-1]) != len(new):
            raise RaceLostError("a player was recorded meanwhile")
    for statement, marked in (("update_ratings", False), ("update_marked_ratings", True)):
        moved = [row.update() for row in rows.moved_ratings if row.marked is marked]
        if moved:
            await connection.execute(_BATCH[statement], *columns(moved))
    try:
        await _copy(connection, "matches", sorted(rows.matches))
        await _copy(connection, "events", sorted(rows.events))
        await _copy(connection, "sanctions", sorted(rows.sanctions))
        if rows.tournaments:  # one by one: a batch may have several of one tournament
            await connection.executemany(_RULEBOOK["keep_tournament"], rows.tournaments)
        await _copy(connection, "entries", sorted(rows.entries))
    except asyncpg.UniqueViolationError as error:  # the same event in two places at once
        raise RaceLostError(f"recorded meanwhile: {error.detail}") from error
    await _copy(connection, "ledger", rows.ledger)  # entry_id is given row by row: this is the recorded order
    for statement, match_ids in (
        ("void_matches", rows.voided),
        ("add_waiting_voids", rows.waiting),
        ("end_waiting_voids", rows.met),
    ):
        if match_ids:
            await connection.execute(_RULEBOOK[statement], match_ids)
    if rows.lifts:
        lifts = [(lift.sanction_id, lift.lifted_at, lift.why, lift.by) for lift in rows.lifts]
        await connection.execute(_RULEBOOK["lift_sanctions"], *columns(lifts))


async def _copy(connection: PoolConnectionProxy[Any], table: str, rows: Sequence[Any]) -> None:
    if rows:
        await connection.copy_records_to_table(table, records=rows, columns=rows[0]._fields)
