"""What commands share while they run: the event loop, the policies, a connection to Postgres."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from worker.cli.exits import reaching_postgres
from worker.ledger.ledger import check_schema, open_pool
from worker.policies import load_policies

if sys.platform == "win32":  # uvloop is not made for it; the worker is the same without, only slower
    run_loop = asyncio.run
else:
    from uvloop import run as run_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from asyncpg.pool import PoolConnectionProxy

    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_T = TypeVar("_T")
_CLOSE_TIMEOUT_S = 5.0


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end on uvloop where there is one."""
    return run_loop(main)


def policies_of(settings: Settings) -> PolicySet:
    """Read the policies that the settings name.

    Raises:
        PolicyError: With every fault.
    """
    return load_policies(settings.pools_file, settings.policy_files)


@asynccontextmanager
async def postgres(settings: Settings, *, migrated: bool = True) -> AsyncIterator[PoolConnectionProxy[Any]]:
    """Connect to Postgres for one command.

    Args:
        settings: Say where.
        migrated: Whether the schema must be that of this version.

    Raises:
        LedgerSetupError: Wrong password, no such database, not migrated: what to do.
        CommandError: Postgres is away.
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
