"""A connection to Postgres for one command."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from worker.cli.reaching import reaching_postgres
from worker.ledger.ledger import check_schema, open_pool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from asyncpg.pool import PoolConnectionProxy

    from worker.settings import Settings

_CLOSE_TIMEOUT_S = 5.0


@asynccontextmanager
async def postgres(settings: Settings, *, migrated: bool = True) -> AsyncIterator[PoolConnectionProxy[Any]]:
    """Connect to Postgres for the block.

    Args:
        settings: Say where.
        migrated: Whether the schema must be that of this version.

    Raises:
        CommandError: Postgres is away, refuses the login, or is not migrated: what to do.
    """
    with reaching_postgres(settings):
        pool = await open_pool(settings)
        try:
            async with pool.acquire(timeout=settings.database_acquire_timeout_s) as connection:
                if migrated:
                    await check_schema(connection)
                yield connection
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(pool.close(), _CLOSE_TIMEOUT_S)
