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


@pytest.mark.parametrize("server", ["kafka", "postgres"])
async def test_a_server_killed_and_started_again(own_stack: Stack, tmp_path: Path, server: str) -> None:
    """While it is gone the worker is alive and not ready; when it is back, everything is rated and published once."""
    settings = Settings(
        kafka_bootstrap=own_stack.bootstrap,
        database_url=own_stack.create_database(f"gone_{server}"),
        consumer_group=f"gone-{server}",
        match_topic=f"{server}.matches",
        verdict_topic=f"{server}.verdicts",
        tournament_topic=f"{server}.tournaments",
        rating_topic=f"{server}.ratings",
        notice_topic=f"{server}.notices",
        http_port=0,
        session_timeout_ms=6_000,
        retry_max_wait_s=1.0,
    )
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=6)
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
