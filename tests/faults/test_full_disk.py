"""Postgres' disk is full: the worker waits, not ready but alive, loses nothing, and goes on when there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.checker import check
from tests.support.disk import nearly_full_disk, nothing_more_fits
from tests.support.kafka import read_all, until_all_committed
from tests.support.load import Load
from tests.support.workers import answers, until_answers, until_tried, working

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers


async def test_a_disk_that_fills_up(servers: ProxiedServers, tmp_path: Path) -> None:
    """A write that finds no room is no refused row: nothing is dead-lettered, all is done when there is room again."""
    settings = await servers.prepare("full")
    url = settings.database_url.get_secret_value()
    load = Load(settings, seed=31)
    async with working(settings, tmp_path, "worker") as (worker,):
        await load.send(300)
        await until_all_committed(settings)
        for full in (nearly_full_disk(servers.postgres, url), nothing_more_fits(url)):
            async with full:
                await load.send(2_000)
                await until_answers(worker, "readyz", 503)
                await until_tried(worker, 12)  # beyond the next look at the server, which answers
                assert await answers(worker, "readyz", 503), worker.tail()
                assert await answers(worker, "healthz", 200)
            await until_all_committed(settings)
            await until_answers(worker, "readyz", 200)
    said = {str(line.get("error")) for line in worker.events() if line.get("event") == "trying again"}
    for error in ("File too large", "No space left on device"):
        assert any(error in one for one in said), said
    assert await read_all(settings, settings.dead_letter_topic) == []
    assert (await check(settings, load.sent)).wrong() == {}
