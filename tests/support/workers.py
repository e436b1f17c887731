"""Several worker processes at a place, with timeouts so short that a fault is over within seconds."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

from tests.support.processes import WorkerProcess
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from worker.settings import Settings

# They contain each other as the worker's settings ask for.
QUICK = {
    "RATING_BATCH_MAX_RECORDS": "100",
    "RATING_DATABASE_ACQUIRE_TIMEOUT_S": "1.5",
    "RATING_STATEMENT_TIMEOUT_MS": "2000",
    "RATING_LOCK_TIMEOUT_MS": "1500",
    "RATING_PUBLISH_TIMEOUT_S": "2.5",
    "RATING_KAFKA_REQUEST_TIMEOUT_S": "1.5",
    "RATING_IDLE_IN_TRANSACTION_TIMEOUT_MS": "3500",
    "RATING_REBALANCE_TIMEOUT_MS": "12000",
}


def quick_worker(
    settings: Settings, logs: Path, name: str, *, freeze_at: str | None = None, log: str = "", **overrides: str
) -> WorkerProcess:
    """Make a worker with the timeouts of QUICK; `log` names its log where its instance id was used before."""
    environment = {"RATING_INSTANCE_ID": name} | QUICK | overrides
    return WorkerProcess(settings, logs / f"{log or name}.log", freeze_at=freeze_at, **environment)


@asynccontextmanager
async def working(settings: Settings, logs: Path, *names: str, **overrides: str) -> AsyncIterator[list[WorkerProcess]]:
    """Run workers, each with partitions of its own; at the end of the block they are stopped in order.

    Args:
        settings: Of all of them.
        logs: The folder for their logs.
        names: Their instance ids.
        overrides: Environment on top of QUICK.
    """
    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(quick_worker(settings, logs, name, **overrides)) for name in names]
        for worker in workers:
            await worker.until_logged("partitions assigned")
        yield workers
        await stop(*workers)


async def stop(*workers: WorkerProcess) -> None:
    """Stop workers in order, one after the other; fails with the log of one that does not end well."""
    for worker in workers:
        worker.send(signal.SIGTERM)
        assert await worker.until_ended() == 0, worker.tail()


async def answers(worker: WorkerProcess, path: str, status: int) -> bool:
    """Tell whether a worker's HTTP server answers a path with a status."""
    url = next(line["url"] for line in worker.events() if "url" in line)
    async with aiohttp.ClientSession() as session, session.get(f"{url}/{path}") as answer:
        return answer.status == status


async def until_answers(worker: WorkerProcess, path: str, status: int) -> None:
    """Wait until a worker's HTTP server answers a path with a status."""
    await until(lambda: answers(worker, path, status), 60, worker.tail)


async def until_tried(worker: WorkerProcess, times: int) -> None:
    """Wait until a worker has tried something again so many times more, from now on."""
    before = worker.times_logged("trying again")
    await until(lambda: worker.times_logged("trying again") >= before + times, 60, worker.tail)
