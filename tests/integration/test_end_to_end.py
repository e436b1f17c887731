"""The main job on real services: matches in, ratings and events out, each once, with workers that come and go."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.support.checker import check
from tests.support.kafka import produce, read_all, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.processes import WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from worker.settings import Settings

SMALL_BATCHES = {"RATING_BATCH_MAX_RECORDS": "200"}


async def test_two_workers_share_twenty_thousand_matches(settings: Settings, tmp_path: Path) -> None:
    """Two workers that meet at the same players rate each match once, in chains without a gap, published in order."""
    matches = stream(20_000, players=400, seed=1)
    await produce(settings, map(record_of, matches[:1000]))
    async with (
        WorkerProcess(settings, tmp_path / "one.log", RATING_INSTANCE_ID="one") as one,
        WorkerProcess(settings, tmp_path / "two.log", RATING_INSTANCE_ID="two") as two,
    ):
        await one.until_logged("partitions assigned")
        await two.until_logged("partitions assigned")
        await produce(settings, map(record_of, matches[1000:]))
        await until_all_committed(settings)
        for worker in (one, two):
            worker.send(signal.SIGTERM)
            assert await worker.until_ended() == 0, worker.tail()
        shares = [worker.events()[-1]["records"] for worker in (one, two)]
    assert all(shares), f"one of the workers did nothing: {shares}"
    assert (await check(settings, matches)).wrong() == {}
    assert await read_all(settings, settings.dead_letter_topic) == []


async def test_a_killed_worker_loses_and_doubles_nothing(settings: Settings, tmp_path: Path) -> None:
    """A worker killed half way, and another started, leave every match rated once and every change published once."""
    matches = stream(20_000, players=400, seed=2)
    await produce(settings, map(record_of, matches))
    async with (
        WorkerProcess(settings, tmp_path / "one.log", RATING_INSTANCE_ID="one", **SMALL_BATCHES),
        WorkerProcess(
            settings, tmp_path / "two.log", freeze_at="between-commits:12", RATING_INSTANCE_ID="two", **SMALL_BATCHES
        ) as two,
    ):
        await two.until_frozen()  # half way, between its two commits: the worst moment
        two.send(signal.SIGKILL)
        await two.until_ended()
        async with WorkerProcess(settings, tmp_path / "three.log", RATING_INSTANCE_ID="three", **SMALL_BATCHES):
            await until_all_committed(settings)
    findings = await check(settings, matches)
    # What the killed worker had committed to Postgres is published by its heir, maybe after later changes.
    assert findings.wrong(but="out_of_order") == {}


async def test_a_zombie_between_its_commits_changes_nothing(settings: Settings, tmp_path: Path) -> None:
    """A worker stopped between its commits for longer than the session, then continued, doubles and loses nothing."""
    matches = stream(20_000, players=400, seed=3)
    await produce(settings, map(record_of, matches))
    async with WorkerProcess(
        settings, tmp_path / "zombie.log", freeze_at="between-commits:5", RATING_INSTANCE_ID="zombie", **SMALL_BATCHES
    ) as zombie:
        await zombie.until_frozen()
        async with WorkerProcess(settings, tmp_path / "heir.log", RATING_INSTANCE_ID="heir", **SMALL_BATCHES) as heir:
            await heir.until_logged("fenced the worker")
            await until_all_committed(settings)
            zombie.send(signal.SIGCONT)
            await zombie.until_logged("batch given back")
            more = stream(2_000, players=400, seed=4, prefix="later")
            await produce(settings, map(record_of, more))
            await until_all_committed(settings)
            for worker in (zombie, heir):
                worker.send(signal.SIGTERM)
                assert await worker.until_ended() == 0, worker.tail()
    findings = await check(settings, [*matches, *more])
    assert findings.wrong(but="out_of_order") == {}
