"""What can go wrong with Postgres, sorted by what to do about it."""

from __future__ import annotations

import asyncpg


class ClaimLostError(Exception):
    """Another worker holds a partition of this batch: drop the batch, read positions from committed offsets."""


class RaceLostError(Exception):
    """Another worker recorded a match or a player of this batch first: run the batch again."""


class RowRefusedError(Exception):
    """Postgres refuses a row of this batch, whenever it is tried: `apply` finds it."""


class LedgerSetupError(Exception):
    """The database can't be worked with until somebody mends it: says what is wrong and what to do."""


# Postgres refuses a value, not the moment: the row would be refused again, so it is found and dead-lettered alone.
ROW_REFUSED: tuple[type[Exception], ...] = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)

# Somebody has to mend these; trying again does not help.
SETUP_FAULTS: tuple[type[Exception], ...] = (
    asyncpg.InvalidPasswordError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.UndefinedObjectError,
    asyncpg.InsufficientPrivilegeError,
)

# Everything else that Postgres or the way to it can say passes by itself: a restart, a fail-over, a full disk, a
# deadlock, a time-out. OSError and TimeoutError are the network's. Whatever takes a connection by
# `Connections.one` meets the faults above as LedgerSetupError.
PASSING_FAULTS: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that was cut in the middle of a statement
    RaceLostError,
    OSError,
    TimeoutError,
)


# The first that fits names it: TimeoutError is an OSError, a cancelled query an operator's intervention.
_KINDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((asyncpg.DeadlockDetectedError,), "deadlock"),
    ((asyncpg.SerializationError,), "serialization"),
    ((RaceLostError,), "race"),
    ((asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError, TimeoutError), "timeout"),
    (
        (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError, asyncpg.InterfaceError, OSError),
        "connection",
    ),
)


def kind_of(error: BaseException) -> str:
    """Name a passing fault for the retry metric; `database` is anything else that Postgres says."""
    return next((kind for classes, kind in _KINDS if isinstance(error, classes)), "database")
