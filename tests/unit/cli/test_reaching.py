"""What goes wrong on the way to Postgres and Kafka, in words and codes."""

from __future__ import annotations

from socket import gaierror

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError

from worker.cli.exits import CommandError, Exit
from worker.cli.reaching import described, reaching_kafka, reaching_postgres
from worker.cli.worker_faults import worker_faults
from worker.ledger.errors import LedgerSetupError
from worker.ops.http import HttpServerError
from worker.settings import DatabaseUrl, Settings
from worker.stream.errors import StreamAwayError, StreamSetupError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError("refused"), Exit.TEMPORARY),
        (TimeoutError(), Exit.TEMPORARY),
        (asyncpg.CannotConnectNowError("starting up"), Exit.TEMPORARY),
        (asyncpg.InsufficientPrivilegeError("no"), Exit.CONFIG),
        (LedgerSetupError("no such database"), Exit.CONFIG),
    ],
    ids=repr,
)
def test_postgres_away(error: Exception, code: Exit) -> None:
    """A database that is away is told with its place and without its password; the code says whether to try again."""
    settings = Settings(database_url=DatabaseUrl("postgresql://u:sesame@db.example:5/x"))
    with pytest.raises(CommandError) as told, reaching_postgres(settings):
        raise error
    assert told.value.code is code
    assert "sesame" not in str(told.value)


@pytest.mark.parametrize(
    "error", [LedgerSetupError("mend it"), StreamSetupError("mend it"), HttpServerError("mend it")]
)
def test_what_keeps_a_worker_from_working(error: Exception) -> None:
    """What somebody has to mend comes in the worker's own words, by the code for it."""
    with pytest.raises(CommandError, match="Mend it") as told, worker_faults():
        raise error
    assert told.value.code is Exit.CONFIG


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            KafkaConnectionError("Unable to bootstrap from [('x', 1, <AddressFamily.AF_UNSPEC: 0>)]"),
            "no broker answers",
        ),
        (NodeNotReadyError("Attempt to send a request to node which is not ready (node id 1)."), "does not answer"),
        (TimeoutError(), "no answer in time"),
        (BrokenPipeError(32, "Broken pipe"), "Broken pipe"),
        (
            StreamAwayError("Kafka at broker.example:9092 can't be reached: no answer within 10 s."),
            "within 10 s. Is it",
        ),
    ],
    ids=repr,
)
def test_kafka_away(error: Exception, words: str) -> None:
    """A broker that is away is told with its place, how it shows and what to do; the code says to try again."""
    settings = Settings(kafka_bootstrap="broker.example:9092")
    with pytest.raises(CommandError) as told, reaching_kafka(settings):
        raise error
    assert told.value.code is Exit.TEMPORARY
    said = str(told.value)
    assert said.count("broker.example:9092") == 1
    assert words in said
    assert said.endswith("Is it up, and is RATING_KAFKA_BOOTSTRAP right?")
    assert "AF_UNSPEC" not in said


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), "connection refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1), …"), "connection refused"),
        (gaierror(-2, "Name or service not known"), "no such host"),
        (OSError(113, "No route to host"), "No route to host"),
        (ZeroDivisionError(), "ZeroDivisionError"),
    ],
    ids=repr,
)
def test_errors_in_words(error: Exception, words: str) -> None:
    """What the system or a library says is told in words, without classes and numbers where there are words."""
    assert described(error) == words
