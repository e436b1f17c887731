"""Taking a connection from the pool and giving it back, whatever became of the server and of other workers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg
import structlog

from worker.futures import retrieve
from worker.ledger import sql
from worker.ledger.connecting import setup_advice
from worker.ledger.errors import PASSING_FAULTS, SETUP_FAULTS, LedgerSetupError
from worker.ledger.plans import plan_anew

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from asyncpg.pool import PoolConnectionProxy

    from worker.settings import Settings

_SQL = sql.load("connections.sql")
_log = structlog.get_logger(__name__)


class Connections:
    """The connections of a pool, for the parts of the ledger.

    Attributes:
        pool: The pool itself.
    """

    def __init__(self, pool: asyncpg.Pool[Any], settings: Settings) -> None:
        self.pool = pool
        self._acquire_timeout_s = settings.database_acquire_timeout_s
        # A batch may take half of a rebalance at most, then its partitions are another's; this is twice that.
        self._abandoned_after_s = settings.rebalance_timeout_ms / 1000

    @asynccontextmanager
    async def one(self) -> AsyncIterator[PoolConnectionProxy[Any]]:
        """Take a connection for the block.

        Raises:
            LedgerSetupError: The login, a right, a table is gone, here or in the block: somebody has to mend it.
            TimeoutError: None was free, or could be opened, in time.
            OSError, asyncpg.PostgresError, asyncpg.InterfaceError: Postgres is away.
        """
        try:
            async with self._acquired() as connection:
                yield connection
        except SETUP_FAULTS as error:
            raise LedgerSetupError(setup_advice(error)) from error

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[PoolConnectionProxy[Any]]:
        connection = await self.pool.acquire(timeout=self._acquire_timeout_s)
        try:
            await plan_anew(connection)  # not in the pool's `setup`: asyncpg would wait there for a server that hangs
            yield connection
        except asyncpg.ReadOnlySQLTransactionError:
            # A fail-over left us with the server that is no longer the primary: the next try connects anew.
            await self.pool.expire_connections()
            raise
        except asyncpg.LockNotAvailableError:
            await self._end_abandoned(connection)
            raise
        finally:
            # What was done is done, and what went wrong says more: asyncpg cuts a connection that can't be given back.
            with suppress(*PASSING_FAULTS):
                # In a task of its own: cancelled with us, asyncpg would leave a fault to be reported as unretrieved.
                releasing = asyncio.ensure_future(self.pool.release(connection))
                releasing.add_done_callback(retrieve)
                await asyncio.shield(releasing)

    async def _end_abandoned(self, connection: PoolConnectionProxy[Any]) -> None:
        """End what a worker left open that stands still, or is cut off, in the midst of sending rows.

        Postgres waits for the rest of them for ever: neither its limit for statements nor the one for idle transactions
        counts there. All that such a worker had locked would stay so for as long as its connection seems to live.
        """
        with suppress(*PASSING_FAULTS):
            for name, age_s in await connection.fetch(_SQL["end_abandoned"], self._abandoned_after_s):
                _log.warning("ended a transaction that a worker left open and others wait for", of=name, age_s=age_s)


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
