"""What a worker wrote, read back: the floor writes the very same rows and records again.

So the floor follows the worker: a column that the worker no longer writes, the floor no longer writes either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg
import orjson
from aiokafka import AIOKafkaConsumer

if TYPE_CHECKING:
    from collections.abc import Sequence


class Sent(NamedTuple):
    """A record as it was published."""

    partition: int
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]


class Unit(NamedTuple):
    """All that came of one match: its row, its ledger rows and what was published, and each player's rating row."""

    match: tuple[Any, ...]
    ledger: list[tuple[Any, ...]]
    sent: list[Sent]
    ratings: dict[int, tuple[Any, ...]]


class Table(NamedTuple):
    """A table's columns that are sent, and their types."""

    columns: list[str]
    types: list[str]


@dataclass
class Reference:
    """The tables, the rows of `pools`, and the units in the order in which their matches were recorded."""

    matches: Table
    ledger: Table
    ratings: Table
    pools: list[tuple[Any, ...]]
    units: list[Unit]


async def load(bootstrap: str, topic: str, database_url: str) -> Reference:
    """Read back all that a worker wrote."""
    connection = await asyncpg.connect(database_url)
    try:
        matches, ledger, ratings = [
            await _table(connection, name, everything=name == "ratings") for name in ("matches", "ledger", "ratings")
        ]
        match_rows = {
            row["match_id"]: row for row in await connection.fetch(_select("matches", matches) + " order by ctid")
        }
        ledger_rows = await connection.fetch(
            """select l.*, p.name as pool, r.player_id from ledger l join ratings r using (rating_id)
               join pools p using (pool_id) order by l.entry_id"""
        )
        pools = await connection.fetch("select pool_id, name from pools")
        standing = {row["rating_id"]: row for row in await connection.fetch(_select("ratings", ratings))}
    finally:
        await connection.close()

    sent = await _read(bootstrap, topic)
    units = {match_id: Unit(tuple(row), [], [], {}) for match_id, row in match_rows.items()}
    for row in ledger_rows:
        record, event = sent[row["pool"], row["player_id"], row["version"]]
        unit = units[event["match_id"]]
        unit.ledger.append(tuple(row[name] for name in ledger.columns))
        unit.sent.append(record)
        # The rating row as it stood after this change: were it the same each time, Postgres would write less.
        then = dict(standing[row["rating_id"]]) | {
            "rating": event["after"],
            "version": event["version"],
            "games": event["games"],
            "provisional": event["provisional"],
            "title": event["title_after"],
        }
        unit.ratings[row["rating_id"]] = tuple(then[name] for name in ratings.columns)
    return Reference(matches, ledger, ratings, [tuple(row) for row in pools], list(units.values()))


async def _table(connection: asyncpg.Connection[Any], name: str, *, everything: bool) -> Table:
    """Give the columns that are sent: those that Postgres fills in by itself only where `everything` is asked for."""
    rows = await connection.fetch(
        """select attname, format_type(atttypid, atttypmod) from pg_attribute
           where attrelid = $1::text::regclass and attnum > 0 and not attisdropped
             and ($2 or (attidentity = '' and not atthasdef)) order by attnum""",
        name,
        everything,
    )
    return Table([row[0] for row in rows], [row[1] for row in rows])


def _select(name: str, table: Table) -> str:
    return f"select {', '.join(table.columns)} from {name}"


async def _read(bootstrap: str, topic: str) -> dict[tuple[str, str, int], tuple[Sent, Any]]:
    """Read the published records, by pool, player and version."""
    found: dict[tuple[str, str, int], tuple[Sent, Any]] = {}
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    async with consumer:
        ends = await consumer.end_offsets(consumer.assignment())
        left = {partition for partition, end in ends.items() if end}
        while left:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    event = orjson.loads(record.value)
                    sent = Sent(record.partition, record.key, record.value, list(record.headers))
                    found[event["pool"], event["player_id"], event["version"]] = (sent, event)
            left = {partition for partition in left if await consumer.position(partition) < ends[partition]}
    return found
