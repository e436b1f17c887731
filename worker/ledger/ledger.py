"""The ledger: a connection pool to Postgres, and the batch transaction on it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson

from worker.ledger import sql
from worker.ledger.acquiring import Connections, transaction
from worker.ledger.claims import Claims, hold
from worker.ledger.connecting import advice, check_files, setup_advice
from worker.ledger.errors import SETUP_FAULTS, LedgerSetupError
from worker.ledger.plans import PlanningConnection
from worker.ledger.references import References
from worker.ledger.revision import head_revision
from worker.ledger.transaction import BatchTransaction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from asyncpg.pool import PoolConnectionProxy

    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_SQL = sql.load("connections.sql")
_CLOSE_TIMEOUT_S = 5.0
# Then a new connection, lest a backend's memory grow for ever: those of two hours at 100 batches a second.
_QUERIES = 10_000_000
_READS_ONLY = "the server takes no writes: it is a standby, or default_transaction_read_only is on"


class Ledger:
    """Postgres as the worker sees it. Open it with `Ledger.open`, close it with `close`."""

    def __init__(self, pool: asyncpg.Pool[Any], settings: Settings, policies: PolicySet) -> None:
        self.pool = pool
        self.policies = policies
        self.connections = Connections(pool, settings)
        self.references = References(self.connections)
        self.claims = Claims(self.connections, group=settings.consumer_group, owner=settings.transactional_id)

    @classmethod
    async def open(cls, settings: Settings, policies: PolicySet) -> Ledger:
        """Connect, check that the schema is the one of this version, and register the policies.

        Raises:
            LedgerSetupError: Wrong password, no such database, an unmigrated schema, a changed policy: what is wrong
                and what to do.
            OSError, asyncpg.PostgresError: Postgres is away; worth trying again.
        """
        pool = await open_pool(settings)
        ledger = cls(pool, settings, policies)
        try:
            async with ledger.connection() as connection:
                await check_schema(connection)
            await ledger.references.register_policies(policies.policies)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    @asynccontextmanager
    async def transaction(self, partitions: Iterable[tuple[str, int]]) -> AsyncIterator[BatchTransaction]:
        """Open the transaction of a batch that came from `partitions`, holding this worker's claims on them.

        It commits when the block ends and rolls back when it raises.

        Raises:
            ClaimLostError: Another worker has one of the partitions.
            LedgerSetupError: The role lacks a right, a table is gone: somebody has to mend it.
        """
        claims = self.claims
        async with self.claimed_transaction(claims.group, claims.owner, partitions) as connection:
            yield BatchTransaction(connection, self.policies, self.references)

    @asynccontextmanager
    async def claimed_transaction(
        self, group: str, owner: str, partitions: Iterable[tuple[str, int]]
    ) -> AsyncIterator[PoolConnectionProxy[Any]]:
        """Open a transaction that holds claims of any group; what `transaction` says holds for it."""
        async with self.connection() as connection, transaction(connection):
            await hold(connection, group, owner, partitions)
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PoolConnectionProxy[Any]]:
        """Take a connection from the pool, within the acquire timeout; raises as `Connections.one` does."""
        async with self.connections.one() as connection:
            yield connection

    async def probe(self) -> None:
        """Ask Postgres whether it is there and takes writes. Raises what it raises where it is away.

        Raises:
            asyncpg.ReadOnlySQLTransactionError: It only reads.
            asyncpg.InterfaceError: It lets us in no more; that may be mended, so it is the loop that ends by it.
        """
        try:
            async with self.connection() as connection:
                if not await connection.fetchval(_SQL["takes_writes"]):
                    raise asyncpg.ReadOnlySQLTransactionError(_READS_ONLY)
        except LedgerSetupError as error:
            raise asyncpg.InterfaceError(str(error)) from error

    async def close(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> None:
        """Close every connection; a peer that does not answer within the timeout is cut off."""
        try:
            await asyncio.wait_for(self.pool.close(), timeout_s)
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self.terminate()

    def terminate(self) -> None:
        """Cut every connection, whatever waits for an answer on it; Postgres rolls back what was open."""
        self.pool.terminate()


async def open_pool(settings: Settings) -> asyncpg.Pool[Any]:
    """Open a pool with every time-out set: nothing that waits for Postgres waits for ever.

    Raises:
        LedgerSetupError: Postgres refuses the role, the password or the database, or its TLS is not as the URL says.
        OSError, asyncpg.PostgresError: Postgres is away.
    """
    check_files(settings)
    try:
        return await asyncpg.create_pool(
            settings.database_url.get_secret_value(),
            min_size=1,
            max_size=settings.database_pool_size,
            timeout=settings.database_acquire_timeout_s,
            # A little above the server's own limit, which says more when it acts.
            command_timeout=settings.statement_timeout_ms / 1000 + 5,
            connection_class=PlanningConnection,
            init=set_codecs,
            # A connection is given back as it was taken, so asyncpg need not ask Postgres to make it so, in the middle
            # of each batch; and it stays, with its prepared statements.
            reset=_as_it_is,
            max_queries=_QUERIES,
            max_cached_statement_lifetime=0,
            server_settings={
                "application_name": f"rating-worker {settings.instance_id}"[:63],
                "statement_timeout": str(settings.statement_timeout_ms),
                "lock_timeout": str(settings.lock_timeout_ms),
                "idle_in_transaction_session_timeout": str(settings.idle_in_transaction_timeout_ms),
                "jit": "off",  # the statements are short; compiling them costs more than it gives
            },
        )
    except SETUP_FAULTS as error:
        raise LedgerSetupError(setup_advice(error)) from error
    except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError) as error:
        if (said := advice(error)) is None:
            raise
        raise LedgerSetupError(said) from error


async def check_schema(connection: asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]) -> None:
    """Check that the database is migrated to what this version of the worker expects.

    Raises:
        LedgerSetupError: It is not.
    """
    try:
        current = await connection.fetchval("select version_num from alembic_version")
    except asyncpg.UndefinedTableError:
        current = None
    expected = head_revision()
    if current != expected:
        raise LedgerSetupError(
            f"the database is not migrated: its schema is {current or 'empty'}, this worker needs {expected}. "
            "Run `rating-worker migrate` with a role that may create tables, then start the worker again."
        )


async def _as_it_is(_connection: asyncpg.Connection[Any]) -> None:
    """Leave a connection as a batch leaves it: no session settings, no session locks, no cursors."""


async def set_codecs(connection: asyncpg.Connection[Any]) -> None:
    """Let a connection give and take jsonb decoded."""
    await connection.set_type_codec(
        "jsonb",
        encoder=lambda value: b"\x01" + orjson.dumps(value),  # 1 is the version of jsonb's binary form
        decoder=lambda data: orjson.loads(data[1:]),
        schema="pg_catalog",
        format="binary",  # what COPY needs
    )
