"""`verify` and every column there is: what is changed in one of them is found, but for those that are named here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import asyncpg

from tests.integration.test_verify_corruption import copy_of, written
from worker.verify import verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from asyncpg.pool import PoolConnectionProxy

    from tests.integration.test_verify_corruption import Written

__all__ = ["written"]  # the fixture

TABLES = ("ledger", "matches", "ratings", "events", "sanctions", "policies", "pools", "waiting_voids")
OTHER = {
    "boolean": "not {0}",
    "jsonb": "'[[7, {{}}]]'",
    "text": "{0} || '~'",
    "timestamp with time zone": "{0} - interval '1 second'",
    "bytea": "'\\x00'",
}  # another value, by type; of numbers one more

# What no rating and no other row depends on: when something was written down, and where it came from; that this is
# a place of a known topic, and another one than all others come from, is looked at.
NOT_LOOKED_AT = {
    "ledger.recorded_at",
    "matches.recorded_at",
    "events.recorded_at",
    "sanctions.recorded_at",
    "waiting_voids.recorded_at",
    "policies.registered_at",
    "matches.source_partition",
    "events.source_partition",
}


async def test_every_column_is_looked_at(written: Written) -> None:
    """Another value in any column of any table, in rows that have one and then in all that have, is found."""
    unseen = set()
    async with copy_of(written) as pool, pool.acquire() as connection:
        async for table, column, kind in columns(connection):
            change = f"{column} = {OTHER.get(kind, '{0} + 1').format(column)}"
            if not await finds(connection, table, column, change):
                unseen.add(f"{table}.{column}")
    assert unseen == NOT_LOOKED_AT


async def columns(connection: PoolConnectionProxy[Any]) -> AsyncIterator[tuple[str, str, str]]:
    """Give the columns that can be changed."""
    rows = await connection.fetch(
        "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' "
        "and table_name = any($1) and is_identity = 'NO' order by 1, ordinal_position",
        list(TABLES),
    )
    for row in rows:
        yield row["table_name"], row["column_name"], row["data_type"]


async def finds(connection: PoolConnectionProxy[Any], table: str, column: str, change: str) -> bool:
    """Tell whether a change of one row is found, or refused by Postgres; it is undone."""
    rows = await connection.fetch(f"select ctid from {table} where {column} is not null order by ctid desc limit 40")
    for place in {0, len(rows) // 2, len(rows) - 1} if rows else ():
        ctid = rows[place]["ctid"]
        [old] = await connection.fetch(f"select {column} as value from {table} where ctid = $1", ctid)
        try:
            moved = await connection.fetchval(f"update {table} set {change} where ctid = $1 returning ctid", ctid)
        except asyncpg.IntegrityConstraintViolationError:
            return True
        report = await verify(connection, examples=0)
        await connection.execute(f"update {table} set {column} = $1 where ctid = $2", old["value"], moved)
        if report.findings:
            return True
    return False
