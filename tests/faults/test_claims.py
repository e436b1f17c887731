"""Claims change hands while their owner lives: it gives its batch back and goes on, and nothing is done twice."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.support.checker import check
from tests.support.kafka import until_all_committed
from tests.support.load import Load
from tests.support.waiting import until
from tests.support.workers import quick_worker, stop, working

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers
    from tests.support.processes import WorkerProcess

_TAKE = "update partition_claims set owner = $1 where owner is not null"
_WAITS = "select count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.mark.parametrize(
    ("one", "other"), [("between-commits", "after-flush"), ("after-flush", "between-commits")], ids=["1", "2"]
)
async def test_two_zombies_in_turn(servers: ProxiedServers, tmp_path: Path, one: str, other: str) -> None:
    """One stops within a batch, who takes over stops too, a third does all there is; both wake and change nothing."""
    settings = await servers.prepare(f"zombies_{one[:3]}", session_timeout_ms=3_000)
    load = Load(settings, seed=41)
    await load.send(1_000)
    first = quick_worker(settings, tmp_path, "first", freeze_at=f"{one}:3")
    second = quick_worker(settings, tmp_path, "second", freeze_at=f"{other}:3")
    async with first, second:
        await first.until_frozen()
        await second.until_frozen()
        async with working(settings, tmp_path, "third"):
            await until_all_committed(settings)
            for zombie in (second, first):
                zombie.send(signal.SIGCONT)
                await load.send(200)
                await until_all_committed(settings)
            await stop(first, second)
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


async def test_a_claim_is_taken_by_hand(servers: ProxiedServers, tmp_path: Path) -> None:
    """Whatever an operator writes into the claims of a worker that lives, it takes them back, in a batch or between."""
    settings = await servers.prepare("by_hand")
    load, url = Load(settings, seed=42), settings.database_url.get_secret_value()
    async with (
        asyncpg.create_pool(url, min_size=1, max_size=2) as database,
        quick_worker(settings, tmp_path, "worker", freeze_at="after-write:1") as worker,
    ):
        await load.send(300)
        await worker.until_frozen()
        taking = asyncio.create_task(database.execute(_TAKE, "during a batch"))
        await until(lambda: database.fetchval(_WAITS), 30)
        worker.send(signal.SIGCONT)
        await taking
        await until_all_committed(settings)
        for times, owner in enumerate(("", "somebody", "somebody.else#1"), start=1):
            await until(partial(_has_given_back, worker, times), 30, worker.tail)
            await database.execute(_TAKE, owner)
            await load.send(100)
            await until_all_committed(settings)
        await stop(worker)
    assert worker.times_logged("batch given back") == 4, worker.tail()
    assert (await check(settings, load.sent)).wrong() == {}


def _has_given_back(worker: WorkerProcess, times: int) -> bool:
    return worker.times_logged("batch given back") == times


@pytest.mark.parametrize("when", ["between batches", "during a batch"])
async def test_a_claim_is_taken_by_another_worker(servers: ProxiedServers, tmp_path: Path, when: str) -> None:
    """Cut off from Kafka a worker lives on with its database; another takes its partitions; later it is back."""
    settings = await servers.prepare(f"taken_{when[:3]}", session_timeout_ms=3_000)
    load, proxy = Load(settings, seed=43), servers.to_kafka
    through = servers.through(settings)
    async with quick_worker(through, tmp_path, "owner", freeze_at="between-commits:2") as owner:
        await load.send(1_000)
        await owner.until_frozen()
        if when == "between batches":
            owner.send(signal.SIGCONT)
            await until_all_committed(settings)
        proxy.stall()
        try:
            if when == "during a batch":
                owner.send(signal.SIGCONT)
            async with working(settings, tmp_path, "other") as (other,):
                await load.send(300)
                await until_all_committed(settings)
                assert other.has_logged("fenced the worker that held partitions of ours"), other.tail()
                proxy.flow()
                await load.send(300)
                await until_all_committed(settings)
                await stop(owner)
        finally:
            proxy.flow()
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}
