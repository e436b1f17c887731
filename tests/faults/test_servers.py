"""Kafka and Postgres killed and started again under load, on a stack of their own: the worker goes on by itself."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import aiohttp
import pytest

from deploy.local import Stack
from tests.support.checker import check
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.processes import WorkerProcess
from tests.support.waiting import until
from worker.ledger.migrate import migrate
from worker.settings import Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = {"RATING_BATCH_MAX_RECORDS": "100", "RATING_PUBLISH_TIMEOUT_S": "5", "RATING_KAFKA_REQUEST_TIMEOUT_S": "3"}


@pytest.fixture(scope="module")
def own_stack() -> Iterator[Stack]:
    """Give servers that nobody else uses."""
    with Stack() as running:
        yield running


async def prepared(stack: Stack, name: str) -> Settings:
    """Make a database and topics of a name."""
    settings = Settings(
        kafka_bootstrap=stack.bootstrap,
        database_url=stack.create_database(name),
        consumer_group=f"{name}.group",
        match_topic=f"{name}.matches",
        verdict_topic=f"{name}.verdicts",
        tournament_topic=f"{name}.tournaments",
        rating_topic=f"{name}.ratings",
        notice_topic=f"{name}.notices",
        http_port=0,
        session_timeout_ms=6_000,
        retry_max_wait_s=1.0,
    )
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=6)
    return settings


@pytest.mark.parametrize("server", ["kafka", "postgres"])
async def test_a_server_killed_and_started_again(own_stack: Stack, tmp_path: Path, server: str) -> None:
    """While it is gone the worker is alive and not ready; when it is back, everything is rated and published once."""
    settings = await prepared(own_stack, f"gone_{server}")
    matches = stream(4_000, players=120, seed=7)
    await produce(settings, map(record_of, matches[:3_000]))
    victim = getattr(own_stack, server)
    async with WorkerProcess(settings, tmp_path / "worker.log", **QUICK) as worker:
        await worker.until_logged("partitions assigned")
        url = next(line["url"] for line in worker.events() if "url" in line)
        await asyncio.to_thread(victim.kill)
        await until(lambda: answers(url, "readyz", 503), 60, worker.tail)
        assert await answers(url, "healthz", 200)
        await asyncio.to_thread(victim.start)
        await until(lambda: answers(url, "readyz", 200), 90, worker.tail)
        await produce(settings, map(record_of, matches[3_000:]))
        await until_all_committed(settings, timeout_s=180)
        worker.send(signal.SIGTERM)
        assert await worker.until_ended() == 0, worker.tail()
        assert not worker.has_logged("Task was destroyed"), worker.tail()
    assert (await check(settings, matches)).wrong(but="out_of_order") == {}


async def answers(url: str, path: str, status: int) -> bool:
    """Tell whether a path answers with a status."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/{path}") as answer:
        return answer.status == status


@pytest.mark.parametrize("server", ["kafka", "postgres"])
@pytest.mark.parametrize("busy", [True, False], ids=["busy", "idle"])
async def test_a_stop_while_a_server_is_frozen(own_stack: Stack, tmp_path: Path, server: str, busy: bool) -> None:
    """A server that hangs can't keep a worker from ending when it was told to; what it held is done by another."""
    settings = await prepared(own_stack, f"frozen_{server}_{busy}".lower())
    matches = stream(3_000 if busy else 100, players=120, seed=8)
    await produce(settings, map(record_of, matches))
    victim = getattr(own_stack, server)
    frozen_at = "after-lock:1" if busy else None
    brief = QUICK | {"RATING_SHUTDOWN_TIMEOUT_S": "6"}
    async with WorkerProcess(settings, tmp_path / "worker.log", freeze_at=frozen_at, **brief) as worker:
        if busy:
            await worker.until_frozen()
        else:
            await until_all_committed(settings)
        victim.pause()
        try:
            if busy:
                worker.send(signal.SIGCONT)
            worker.send(signal.SIGTERM)
            # The shutdown timeout and a moment for each step of closing; without one deadline for all it is far longer.
            await worker.until_ended(timeout_s=12)
        finally:
            victim.resume()
    async with WorkerProcess(settings, tmp_path / "heir.log", RATING_INSTANCE_ID="heir", **QUICK) as heir:
        await heir.until_logged("partitions assigned")
        await until_all_committed(settings, timeout_s=120)
        heir.send(signal.SIGTERM)
        assert await heir.until_ended() == 0, heir.tail()
    assert (await check(settings, matches)).wrong(but="out_of_order") == {}
