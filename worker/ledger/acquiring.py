"""Taking a connection from the pool and giving it back, whatever has become of the server meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg

from worker.ledger.errors import PASSING_FAULTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from asyncpg.pool import PoolConnectionProxy


@asynccontextmanager
async def acquired(pool: asyncpg.Pool[Any], timeout_s: float) -> AsyncIterator[PoolConnectionProxy[Any]]:
    """Take a connection for the block.

    Raises:
        TimeoutError: None was free, or could be opened, in time.
        OSError, asyncpg.PostgresError, asyncpg.InterfaceError: Postgres is away.
    """
    connection = await pool.acquire(timeout=timeout_s)
    try:
        yield connection
    except asyncpg.ReadOnlySQLTransactionError:
        # A fail-over left us with the server that is no longer the primary: the next try connects anew.
        await pool.expire_connections()
        raise
    finally:
        # What was done is done, and what went wrong says more: asyncpg cuts a connection that can't be given back.
        with suppress(*PASSING_FAULTS):
            # In a task of its own: cancelled with us, asyncpg would leave a fault to be reported as never retrieved.
            releasing = asyncio.ensure_future(pool.release(connection))
            releasing.add_done_callback(_retrieve)
            await asyncio.shield(releasing)


@asynccontextmanager
async def transaction(connection: PoolConnectionProxy[Any]) -> AsyncIterator[None]:
    """Open a transaction for the block, as asyncpg's own does, but let a fault be raised as it is.

    asyncpg would say instead that it can't roll back on a connection that is gone; Postgres rolls back by itself then.
    """
    opened = connection.transaction()
    await opened.start()
    try:
        yield
    except BaseException:
        with suppress(*PASSING_FAULTS):
            await opened.rollback()
        raise
    await opened.commit()


def _retrieve(task: asyncio.Future[None]) -> None:
    if not task.cancelled():
        task.exception()
