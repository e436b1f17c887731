"""The network between worker and servers: cut, slow, silent. The worker goes on by itself, nothing lost or twice."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.checker import check
from tests.support.kafka import until_all_committed
from tests.support.load import Load
from tests.support.processes import WorkerProcess
from tests.support.waiting import until
from tests.support.workers import answers, stop, until_answers, working

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers
    from tests.support.proxy import Proxy

SERVERS = ["kafka", "postgres"]


def way_to(servers: ProxiedServers, server: str) -> Proxy:
    """Give the proxy before a server."""
    proxy: Proxy = getattr(servers, f"to_{server}")
    return proxy


@pytest.mark.parametrize("server", SERVERS)
async def test_connections_cut_again_and_again(servers: ProxiedServers, tmp_path: Path, server: str) -> None:
    """Every connection reset, six times under load, some with no new one for a while: all goes on by itself."""
    settings = await servers.prepare(f"cut_{server}")
    load, proxy = Load(settings, seed=11), way_to(servers, server)
    async with working(servers.through(settings), tmp_path, "one", "two") as workers:
        for number in range(6):
            await load.send_until_half_done(300)
            refusing = number % 3 == 2
            before = [times_refused(worker) for worker in workers]
            if refusing:
                proxy.refuse()
            assert proxy.cut() > 0
            if refusing:
                await load.send(100)
                for worker, times in zip(workers, before, strict=True):
                    await until(partial(refused_more_than, worker, times), 60, worker.tail)
                await proxy.accept()
        await until_all_committed(settings)
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


def times_refused(worker: WorkerProcess) -> int:
    """Give how often a worker was refused a connection, by its log."""
    return sum("Connection refused" in line for line in worker.lines())


def refused_more_than(worker: WorkerProcess, times: int) -> bool:
    """Tell whether a worker was refused a connection more often than that."""
    return times_refused(worker) > times


async def test_a_slow_network(servers: ProxiedServers, tmp_path: Path) -> None:
    """With 300 ms each way nothing breaks: nobody leaves the group, no batch is tried again, all comes in order."""
    settings = await servers.prepare("slow")
    load = Load(settings, seed=12)
    # The timeouts are those by default: they have to be enough for this.
    async with WorkerProcess(servers.through(settings), tmp_path / "slow.log", RATING_INSTANCE_ID="slow") as worker:
        await worker.until_logged("partitions assigned")
        await load.send(100)
        await until_all_committed(settings)
        servers.to_kafka.delay_s = servers.to_postgres.delay_s = 0.3
        try:
            await load.send(400)
            await until_all_committed(settings)
        finally:
            servers.to_kafka.delay_s = servers.to_postgres.delay_s = 0.0
        await stop(worker)
    events = Counter(str(line.get("event")) for line in worker.events())
    assert events["partitions assigned"] == 1
    assert events["batch given back"] == events["trying again"] == 0, worker.tail()
    assert (await check(settings, load.sent)).wrong() == {}


@pytest.mark.parametrize("server", SERVERS)
async def test_a_silent_network(servers: ProxiedServers, tmp_path: Path, server: str) -> None:
    """Connections say nothing for longer than any request may take, and then all they held; or nothing ever again."""
    settings = await servers.prepare(f"silent_{server}")
    load, proxy = Load(settings, seed=13), way_to(servers, server)
    async with working(servers.through(settings), tmp_path, "worker") as (worker,):
        for lost in (False, True):
            await load.send_until_half_done(600)
            proxy.stall()
            try:
                await until_answers(worker, "readyz", 503)
                assert await answers(worker, "healthz", 200)
                if lost:
                    assert proxy.lose() > 0
            finally:
                proxy.flow()
            await load.send(300)
            await until_all_committed(settings)
            await until_answers(worker, "readyz", 200)
    proxy.cut()  # what is lost would never end
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}
