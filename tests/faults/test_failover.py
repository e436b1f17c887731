"""Postgres fails over to another server: the worker goes on with it by itself, and nothing is lost or done twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import pytest

from deploy.local import Postgres
from tests.support.checker import check
from tests.support.kafka import until_all_committed
from tests.support.load import Load
from tests.support.places import address_of, prepared
from tests.support.proxy import Proxy
from tests.support.standby import promote, standby_of
from tests.support.waiting import until
from tests.support.workers import answers, until_answers, until_tried, working
from worker.settings.values import DatabaseUrl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers


@pytest.mark.parametrize("way", ["by one address", "by both addresses"])
async def test_the_standby_takes_over(servers: ProxiedServers, tmp_path: Path, way: str) -> None:
    """The primary falls silent under load, its standby is promoted: the worker finds it and loses nothing.

    Either one address leads to whoever is the primary, as with a cloud's; or the URL names both servers.
    """
    with Postgres() as primary:
        name = "over_" + way.split()[1]
        settings = await prepared(servers.kafka.address(), primary.create_database(name), name)
        load = Load(settings, seed=21)
        async with standby_of(primary) as standby, Proxy(address_of(primary.dsn())) as proxy:
            here, there = proxy.address, address_of(standby.dsn())
            address = here if way == "by one address" else f"{here},{there}"
            url = f"postgresql://rating@{address}/{name}?target_session_attrs=read-write"
            through = settings.model_copy(update={"database_url": DatabaseUrl(url)})
            async with working(through, tmp_path, "one", "two") as workers:
                await load.send_until_half_done(600)
                proxy.lose()  # a machine that is gone says goodbye to nobody
                if way == "by one address":
                    await asyncio.to_thread(primary.kill)
                    await promote(standby)
                    proxy.target = there
                else:
                    proxy.refuse()
                    await asyncio.to_thread(primary.kill)
                    await promote(standby)
                await load.send(300)
                await until_all_committed(settings)
                for worker in workers:
                    await until_answers(worker, "readyz", 200)
            new = settings.model_copy(update={"database_url": DatabaseUrl(f"postgresql://rating@{there}/{name}")})
            assert (await check(new, load.sent)).wrong(but="out_of_order") == {}


async def test_connections_that_lead_to_the_old_primary(servers: ProxiedServers, tmp_path: Path) -> None:
    """Connections that live through a fail-over lead to a server that takes no writes: the worker connects anew.

    Be it in a batch that it notices, or while it takes partitions over.
    """
    settings = await servers.prepare("old")
    load = Load(settings, seed=22)
    try:
        async with working(settings, tmp_path, "one") as (one,):
            await load.send(200)
            await until_all_committed(settings)
            await _take_writes(servers, "old", old_connections=False)
            await load.send(300)
            await until_all_committed(settings)
            await _take_writes(servers, "old")
            await until_answers(one, "readyz", 200)
            await _take_writes(servers, "old", old_connections=False)
            async with working(settings, tmp_path, "two"):
                await load.send(300)
                await until_all_committed(settings)
            await until_answers(one, "readyz", 200)
    finally:
        await _take_writes(servers, "old")
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


async def test_a_server_that_takes_no_writes(servers: ProxiedServers, tmp_path: Path) -> None:
    """With a server that only reads a worker is not ready, has it work or not, and alive; it waits, nothing is lost."""
    settings = await servers.prepare("read_only")
    load = Load(settings, seed=23)
    async with working(settings, tmp_path, "worker") as (worker,):
        await load.send(200)
        await until_all_committed(settings)
        await _take_writes(servers, "read_only", old_connections=False, new_connections=False)
        try:
            await until_answers(worker, "readyz", 503)
            await load.send(300)
            await until_tried(worker, 20)
            assert await answers(worker, "readyz", 503)
            assert await answers(worker, "healthz", 200)
        finally:
            await _take_writes(servers, "read_only")
        await until_all_committed(settings)
        await until_answers(worker, "readyz", 200)
    assert (await check(settings, load.sent)).wrong(but="out_of_order") == {}


async def _take_writes(
    servers: ProxiedServers, database: str, *, old_connections: bool = True, new_connections: bool = True
) -> None:
    """Let the sessions that are open, and those of a database that are opened from now on, write, or only read.

    A session takes what is set for its database when it begins, and what is set for the server at any time.
    """
    writing = {"default_transaction_read_only": "off"}
    connection = await asyncpg.connect(servers.postgres.dsn(), server_settings=writing)
    watching = await asyncpg.connect(servers.postgres.dsn("postgres"))
    try:
        for_new, for_all = ("off" if yes else "on" for yes in (new_connections, old_connections))
        await connection.execute(f"alter database {database} set default_transaction_read_only = {for_new}")
        await connection.execute(f"alter system set default_transaction_read_only = {for_all}")
        await connection.execute("select pg_reload_conf()")
        await until(lambda: watching.fetchval("select current_setting('transaction_read_only') = $1", for_all), 30)
    finally:
        await connection.close()
        await watching.close()
