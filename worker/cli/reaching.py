"""Reaching Postgres and Kafka: what goes wrong on the way there, as the end of a command with one clear message."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import asyncpg
from aiokafka.errors import KafkaError

from worker.cli.exits import CommandError, Exit
from worker.ledger.errors import LedgerSetupError
from worker.stream.errors import StreamAwayError, StreamSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.settings import Settings


# What passes by itself. Any other word of Postgres' is about a statement of ours, and a bug.
AWAY: tuple[type[Exception], ...] = (
    asyncpg.InterfaceError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InvalidTransactionStateError,
    asyncpg.LockNotAvailableError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresConnectionError,
    asyncpg.PostgresSystemError,
    asyncpg.TransactionRollbackError,
    OSError,
    TimeoutError,
)


_WORDS = (
    ("Unable to bootstrap", "no broker answers there"),
    ("Connect call failed", "connection refused"),
    ("Connection refused", "connection refused"),
    ("Name or service not known", "no such host"),
    ("nodename nor servname", "no such host"),
    ("node which is not ready", "the broker does not answer"),
)
_CLASS_AND_NUMBER = re.compile(r"(\b\w*[Ee]rror: )?\[Errno -?\d+\] ")


@contextmanager
def reaching_postgres(settings: Settings) -> Iterator[None]:
    """Turn what Postgres and the way to it can say into the end of the command."""
    try:
        yield
    except LedgerSetupError as error:
        raise CommandError(sentence_of(error), Exit.CONFIG) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise CommandError(f"Postgres refuses: {error}. The role needs more rights.", Exit.CONFIG) from error
    except AWAY as error:
        raise CommandError(
            f"Postgres at {settings.database_url} can't be worked with now: {described(error)}. "
            "Is it up, and is RATING_DATABASE_URL right?",
            Exit.TEMPORARY,
        ) from error


@contextmanager
def reaching_kafka(settings: Settings) -> Iterator[None]:
    """Turn what Kafka and the way to it can say into the end of the command."""
    try:
        yield
    except StreamSetupError as error:
        raise CommandError(sentence_of(error), Exit.CONFIG) from error
    except (KafkaError, StreamAwayError, OSError, TimeoutError) as error:
        raise CommandError(
            f"{away(settings, error)}. Is it up, and is RATING_KAFKA_BOOTSTRAP right?", Exit.TEMPORARY
        ) from error


def away(settings: Settings, error: BaseException) -> str:
    """Say that Kafka is away: where, and how it shows."""
    if isinstance(error, StreamAwayError) and error.__cause__ is None:
        return described(error)  # which says where
    return f"Kafka at {settings.kafka_bootstrap} can't be worked with now: {described(error.__cause__ or error)}"


def described(error: BaseException) -> str:
    """Give an error in one line, in words: those of people rather than those of a library where there are any."""
    text = " ".join(str(error).split()).removesuffix(".")
    if not isinstance(error, StreamAwayError):  # whose words are ours
        for sign, words in _WORDS:
            if sign in text:
                return words
    if isinstance(error, TimeoutError) and not text:
        return "no answer in time"
    return _CLASS_AND_NUMBER.sub("", text) or type(error).__name__


def sentence_of(error: Exception) -> str:
    """Give an error's message with a capital first letter."""
    text = str(error)
    return text[:1].upper() + text[1:]
