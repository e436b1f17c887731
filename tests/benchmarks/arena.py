"""A database and topics of its own for each run, on the stack that the environment names."""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg

from tests.benchmarks import facts
from tests.benchmarks.broker import Watch, delete_topics
from worker.ledger.migrate import migrate
from worker.settings import Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

PARTITIONS = 12
_SIZES = ("shared_buffers", "max_wal_size", "checkpoint_timeout")
_BOOTSTRAP, _DATABASE = "RATING_KAFKA_BOOTSTRAP", "RATING_DATABASE_URL"


class StackMissingError(Exception):
    """The environment names no stack."""


class Stack(NamedTuple):
    """The stack that the benchmark runs on, and its processes where they are on this machine."""

    bootstrap: str
    database_url: str
    postgres_pid: int | None
    kafka_pid: int | None

    @classmethod
    def from_environment(cls) -> Stack:
        """Read the stack's addresses.

        Raises:
            StackMissingError: They are not set.
        """
        try:
            bootstrap, url = os.environ[_BOOTSTRAP], os.environ[_DATABASE]
        except KeyError as missing:
            raise StackMissingError(
                f"{missing} is not set. `make bench` starts a local stack and sets it; or run "
                "`python -m deploy.local run -- python -m tests.benchmarks`."
            ) from None
        kafka_port = int(bootstrap.split(",")[0].rsplit(":", 1)[1])
        return cls(bootstrap, url, facts.listener(urlsplit(url).port or 5432), facts.listener(kafka_port))

    def cpu(self) -> dict[str, float]:
        """Give the CPU seconds that each server has used so far, of those that can be seen."""
        pids = {"postgres": self.postgres_pid, "kafka": self.kafka_pid}
        return {name: facts.cpu_seconds(pid) for name, pid in pids.items() if pid is not None}

    def describe(self) -> dict[str, Any]:
        """Name the server's version and the settings that decide how fast it is."""
        names = ("server_version", "fsync", "synchronous_commit", "wal_level", *_SIZES)
        shown = [run_sql(self.database_url, f"show {name}") for name in names]
        return {"postgres": dict(zip(names, shown, strict=True)), "partitions": PARTITIONS}


@contextmanager
def arena(stack: Stack, label: str, *, template: str | None = None, **overrides: Any) -> Iterator[Settings]:
    """Make a database and topics, and give the settings that lead there; all of it is removed afterwards.

    Args:
        stack: Where to make them.
        label: Becomes part of the names.
        template: A database to start from, in place of an empty one that is migrated.
        overrides: Settings on top.
    """
    name = f"bench_{label}_{secrets.token_hex(3)}"
    run_sql(
        stack.database_url,
        f'create database "{name}"' + (f' template "{template}" strategy file_copy' if template else ""),
    )
    settings = Settings(
        kafka_bootstrap=stack.bootstrap,
        database_url=urlsplit(stack.database_url)._replace(path=f"/{name}").geturl(),
        consumer_group=f"{name}.group",
        match_topic=f"{name}.matches",
        rating_topic=f"{name}.ratings",
        dead_letter_topic=f"{name}.dlq",
        **overrides,
    )
    try:
        if template is None:
            asyncio.run(migrate(settings.database_url.get_secret_value()))
        asyncio.run(create_topics(settings, partitions=PARTITIONS))
        yield settings
    finally:
        # Left behind, they would be flushed and checkpointed into the next run's time.
        with suppress(Exception):
            delete_topics(stack.bootstrap, (settings.match_topic, settings.rating_topic, settings.dead_letter_topic))
        run_sql(stack.database_url, f'drop database if exists "{name}" with (force)')


def watch(settings: Settings) -> Watch:
    """Watch the group and the topics of an arena."""
    return Watch(settings.kafka_bootstrap, settings.consumer_group, settings.match_topic, settings.rating_topic)


def settle(stack: Stack) -> None:
    """Write out what the run before left in Postgres, so that this one does not pay for it."""
    with suppress(asyncpg.InsufficientPrivilegeError):
        run_sql(stack.database_url, "checkpoint")


def run_sql(url: str, statement: str) -> Any:
    """Run one statement; gives the first value of what it returns."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return _run(run())


def _run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(main)
