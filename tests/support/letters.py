"""Dead letters: workers that make them, and the commands that find them and send them back."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from tests.support.kafka import Raw, read_all
from tests.support.processes import ROOT, environment_of
from tests.support.waiting import until
from tests.unit.cli.processes import cli
from worker.events import Reject, dead_letter_headers
from worker.policies import load_policies
from worker.service import Worker

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from worker.settings import Delivery, Settings

HEADERS = (("x", b"\xff\x00"), ("x", b"2"), ("traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01"))
WHOLE = ("--oldest-first", "--limit", 0)
REPLAY = ("dlq.attempt", "dlq.replayed-from", "dlq.replayed-at")


@asynccontextmanager
async def without_yi(settings: Settings, folder: Path) -> AsyncIterator[Worker]:
    """Run a worker whose operator forgot the pool `yi`."""
    pools = folder / "pools.toml"
    pools.write_text('[pools]\nshax = "biciid"\n"chess/*" = "fide"\n', "utf-8")
    worker = Worker(settings, load_policies(pools, ()))
    task = asyncio.create_task(worker.run())
    started = asyncio.create_task(worker.running.wait())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def take(running_worker: AbstractAsyncContextManager[Worker], records: int) -> Counter[str]:
    """Have a worker take so many records, and no more; gives its totals."""
    async with running_worker as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        await until(lambda: totals["records"] >= records, 60, lambda: str(totals))
    assert totals["records"] == records
    return totals


async def letters(settings: Settings, *arguments: object) -> list[dict[str, Any]]:
    """List letters as JSON."""
    ended = await cli(settings, "dead-letters", "list", "--json", *arguments)
    assert ended.code == 0, ended.err
    return [orjson.loads(line) for line in ended.out.splitlines()]


async def replay(settings: Settings, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run a replay to its end; gives what it says as JSON."""
    ended = await cli(settings, "dead-letters", "replay", "--json", *arguments)
    assert ended.code == code, ended.err
    told: dict[str, Any] = ended.json()
    return told


async def sent_back(settings: Settings) -> list[Raw]:
    """Give the records of the match topic that a replay sent."""
    return [one for one in await read_all(settings, settings.match_topic) if one.header("dlq.attempt") is not None]


async def open_places(settings: Settings) -> list[str]:
    """Give where the letters are that no replay has sent back."""
    return [one["letter"] for one in await letters(settings, "--open", *WHOLE)]


def made_letter(settings: Settings, number: int, **changed: Any) -> Raw:
    """Make a dead letter without a worker."""
    said: dict[str, Any] = {
        "reason": Reject.UNKNOWN_POOL,
        "detail": "made up",
        "topic": settings.match_topic,
        "partition": 0,
        "offset": number,
        "timestamp_ms": None,
        "group": settings.consumer_group,
        "failed_at": datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=number),
        "worker_version": "0.0.1",
    }
    headers = dead_letter_headers((), **said | changed)
    return Raw(b"key %d" % number, b"{}", tuple((name, value or b"") for name, value in headers), 0)


def with_delivery(settings: Settings, delivery: Delivery) -> Settings:
    """Give the settings with a way of delivery, also for processes that load them."""
    settings = settings.model_copy(update={"delivery": delivery})
    settings.model_fields_set.add("delivery")
    return settings


# What a shell starts in the background ignores SIGINT, and so does all that comes of it: a run of the tests, say.
STOPPING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from aiokafka import AIOKafkaProducer
from worker.cli import main
number, method, before, passes = sys.argv.pop(1).split(":")
left, call = [int(passes)], getattr(AIOKafkaProducer, method)
def stop():
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), int(number))
async def wrapped(self, *arguments, **options):
    before == "1" and stop()
    result = await call(self, *arguments, **options)
    before == "1" or stop()
    return result
setattr(AIOKafkaProducer, method, wrapped)
sys.argv[0] = "rating-worker"
main()
"""


async def start_dead_letters(
    settings: Settings, *arguments: str, stop: tuple[int, str, bool, int] | None = None
) -> asyncio.subprocess.Process:
    """Start a command of `dead-letters` in a process of its own, which may stop itself.

    Args:
        settings: Become its environment.
        arguments: Of `dead-letters`.
        stop: By which signal, before or after (False) which call of the producer, and how many are let pass.
    """
    program: tuple[str, ...] = ("-m", "worker")
    if stop is not None:
        number, method, before, passes = stop
        program = ("-c", STOPPING, f"{number:d}:{method}:{before:d}:{passes + 1}")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *program, "dead-letters", *arguments),
        cwd=ROOT,
        env=os.environ | environment_of(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
