"""Rights: what workers and readers may do in the database, and giving exactly that to a role."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from worker.ledger import sql

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    Connection = asyncpg.Connection[Any] | PoolConnectionProxy[Any]

_SQL = sql.load("rights.sql")


class Kind(StrEnum):
    """What a role is for: working, or looking at ratings by dashboards and commands."""

    WORKER = "worker"
    READER = "reader"


async def missing_rights(connection: Connection, kind: Kind = Kind.WORKER) -> list[str]:
    """Name what a kind of role needs in a migrated database and this one may not do, such as `insert on ledger`."""
    role = await connection.fetchval("select current_user::text")
    rows = await connection.fetch(_SQL["needed"], role, kind.value)
    return [f"{privilege} on {row['relation']}" for row in rows for privilege in row["lacking"]]


async def grant(connection: Connection, role: str, kind: Kind) -> None:
    """Give a role what its kind needs, and take whatever else it was given on the worker's tables; all or nothing.

    Raises:
        asyncpg.UndefinedObjectError: There is no such role.
        asyncpg.InsufficientPrivilegeError: We are not the owner of the tables.
    """
    async with connection.transaction():
        rows = await connection.fetch(_SQL["needed"], role, kind.value)
        usage = await connection.fetch(_SQL["schema_usage"], role)
        statements = [
            *(row["taking"] for row in rows),
            *(row["giving"] for row in rows if row["privileges"]),
            *(statement for (statement,) in usage),
        ]
        await connection.execute(";\n".join(statements))
