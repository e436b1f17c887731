"""Workers that restart under the same id and under another, one by one and all of them, while matches come."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from tests.support.checker import check
from tests.support.kafka import until_all_committed
from tests.support.load import Load
from tests.support.waiting import until
from tests.support.workers import quick_worker, stop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers

ASSIGNED = "partitions assigned"
TWIN = "another process seems to run under our instance id"
PODS = ("pod-0", "pod-1")
# The session is so long that no restart outlasts it, however busy the machine is.
STATIC: dict[str, Any] = {"static_membership": True, "session_timeout_ms": 30_000}
LONG = {"RATING_REBALANCE_TIMEOUT_MS": "40000"}


async def test_a_static_member_restarts(servers: ProxiedServers, tmp_path: Path) -> None:
    """Back within the session timeout, killed or stopped, a static member goes on and the others don't notice."""
    settings = await servers.prepare("static", instance_id="pod-0", **STATIC)
    load = Load(settings, seed=51)
    async with AsyncExitStack() as stack:
        member, other = [
            await stack.enter_async_context(quick_worker(settings, tmp_path, name, **LONG)) for name in PODS
        ]
        for worker in (member, other):
            await worker.until_logged(ASSIGNED)
        async with load.flowing():
            await load.until_done(500)
            rebalances = other.times_logged(ASSIGNED)
            for how in (signal.SIGKILL, signal.SIGTERM):
                member.send(how)
                await member.until_ended()
                member = quick_worker(settings, tmp_path, PODS[0], log=f"after-{how.name}", **LONG)
                await stack.enter_async_context(member)
                await member.until_logged(ASSIGNED)
                await load.until_done(len(load.sent) + 300)
        await until_all_committed(settings)
        assert other.times_logged(ASSIGNED) == rebalances, other.tail()
        await stop(member, other)
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


async def test_two_workers_under_one_static_id(servers: ProxiedServers, tmp_path: Path) -> None:
    """By mistake two at once under a static id get in each other's way, lose or double nothing, and say so."""
    settings = await servers.prepare("static_twins", instance_id="pod-0", **STATIC)
    load = Load(settings, seed=53)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(quick_worker(settings, tmp_path, PODS[0], **LONG))
        await first.until_logged(ASSIGNED)
        async with load.flowing():
            await load.until_done(300)
            second = await stack.enter_async_context(quick_worker(settings, tmp_path, PODS[0], log="twin", **LONG))
            await second.until_logged(ASSIGNED)
            await until(lambda: any(worker.has_logged(TWIN) for worker in (first, second)), 60, first.tail)
        await until_all_committed(settings)
        await stop(first, second)
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


async def test_a_rolling_restart(servers: ProxiedServers, tmp_path: Path) -> None:
    """Three workers stopped and started one after the other under load, with old names and new: nobody is fenced."""
    settings = await servers.prepare("rolling")
    load = Load(settings, seed=52)
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(quick_worker(settings, tmp_path, f"pod-{number}")) for number in range(3)
        ]
        for worker in workers:
            await worker.until_logged(ASSIGNED)
        async with load.flowing():
            for number, name in enumerate(("pod-0", "pod-1-new", "pod-2")):
                await load.until_done(len(load.sent) + 200)
                await stop(workers[number])
                workers.append(await stack.enter_async_context(quick_worker(settings, tmp_path, name, log=f"{name}-2")))
                await workers[-1].until_logged(ASSIGNED)
        await until_all_committed(settings)
        await stop(*workers[3:])
    for worker in workers:
        assert not worker.has_logged("fenced the worker"), worker.tail()
    assert (await check(settings, load.sent)).wrong() == {}
