"""What `demo` and `dev` share: a stack made ready, and a worker in this process for as long as a block."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit
from worker.cli.reaching import reaching_kafka, reaching_postgres
from worker.cli.running import policies_of
from worker.cli.worker_faults import worker_faults
from worker.ledger.migrate import migrate
from worker.service import Worker
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings

_HERE = {"localhost", "127.0.0.1", "::1", ""}


def new_run() -> str:
    """Name a run, so that its match ids are no other run's."""
    return f"demo-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def only_here(settings: Settings, *, meant: bool) -> None:
    """Refuse to write made-up players anywhere but on this machine, unless that is meant.

    Raises:
        CommandError: A broker or the database is elsewhere.
    """
    hosts = {broker.rpartition(":")[0].strip("[]") for broker in settings.kafka_bootstrap.split(",")}
    netloc = urlsplit(settings.database_url.get_secret_value()).netloc.rpartition("@")[2]
    hosts |= {urlsplit(f"//{part}").hostname or "" for part in netloc.split(",")}
    if (away := sorted(hosts - _HERE)) and not meant:
        raise CommandError(
            f"This writes made-up players and matches, and {', '.join(away)} is not this machine. "
            "If that is meant, add --yes.",
            Exit.USAGE,
        )


async def make_ready(settings: Settings, partitions: int) -> None:
    """Migrate the database and create the topics that are missing.

    Raises:
        LedgerSetupError, StreamSetupError, CommandError: What is wrong, and what to do.
    """
    async with postgres(settings, migrated=False):
        pass  # the clearest words for what may be wrong with the way there
    with reaching_postgres(settings):
        await migrate(settings.database_url.get_secret_value())
    with reaching_kafka(settings):
        await create_topics(settings, partitions=partitions)


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Worker]:
    """Run a worker beside the block, and stop it in order after it; should it fail, the block is cancelled.

    Raises:
        CommandError: What somebody has to mend before a worker can work.
    """
    worker = Worker(settings, policies_of(settings))
    task = asyncio.create_task(worker.run())
    block = asyncio.current_task()

    def failed(done: asyncio.Task[None]) -> None:
        if not done.cancelled() and done.exception() is not None and block is not None:
            block.cancel()

    task.add_done_callback(failed)
    with worker_faults():
        try:
            running = asyncio.create_task(worker.running.wait())
            await asyncio.wait({task, running}, return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            yield worker
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                if block is not None:
                    block.uncancel()
                raise error from None
            raise
        finally:
            task.remove_done_callback(failed)
            worker.stop()
            await asyncio.wait({task})
        await task
