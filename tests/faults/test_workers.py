"""Workers killed, or stopped for longer than their session, at every named step of the loop: nothing lost or twice."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.checker import check
from tests.support.freezing_worker import STEPS
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.processes import WorkerProcess
from tests.support.waiting import until
from tests.support.workers import QUICK

if TYPE_CHECKING:
    from pathlib import Path

    from worker.rating.model import Match
    from worker.settings import Settings


@pytest.mark.parametrize("step", STEPS)
async def test_a_worker_killed_at_any_step(settings: Settings, tmp_path: Path, step: str) -> None:
    """Killed at a step, its work is taken up by another: every match once, every change once."""
    matches = stream(3_000, players=120, seed=len(step))
    await produce(settings, map(record_of, matches))
    async with WorkerProcess(
        settings, tmp_path / "dying.log", freeze_at=f"{step}:3", RATING_INSTANCE_ID="dying", **QUICK
    ) as dying:
        await dying.until_frozen()
        dying.send(signal.SIGKILL)
        await dying.until_ended()
    async with WorkerProcess(settings, tmp_path / "heir.log", RATING_INSTANCE_ID="heir", **QUICK) as heir:
        await until_all_committed(settings)
        heir.send(signal.SIGTERM)
        assert await heir.until_ended() == 0, heir.tail()
    # Only what was committed to Postgres and not to Kafka is repaired, and so may come after later changes.
    repaired = "out_of_order" if step == "between-commits" else ""
    assert (await check(settings, matches)).wrong(but=repaired) == {}


@pytest.mark.parametrize("step", STEPS)
async def test_a_zombie_of_any_step(settings: Settings, tmp_path: Path, step: str) -> None:
    """Stopped at a step until another has taken over and done everything, then continued, it changes nothing."""
    matches = stream(3_000, players=120, seed=len(step))
    await produce(settings, map(record_of, matches))
    async with (
        WorkerProcess(
            settings, tmp_path / "zombie.log", freeze_at=f"{step}:3", RATING_INSTANCE_ID="zombie", **QUICK
        ) as zombie,
    ):
        await zombie.until_frozen()
        async with WorkerProcess(settings, tmp_path / "heir.log", RATING_INSTANCE_ID="heir", **QUICK) as heir:
            await until_all_committed(settings)
            zombie.send(signal.SIGCONT)
            more = stream(300, players=120, seed=1, prefix="later")
            await produce(settings, map(record_of, more))
            await until_all_committed(settings)
            for worker in (zombie, heir):
                worker.send(signal.SIGTERM)
                assert await worker.until_ended() == 0, worker.tail()
    findings = await check(settings, [*matches, *more])
    assert findings.wrong(but="out_of_order") == {}


async def test_two_workers_under_one_id(settings: Settings, tmp_path: Path) -> None:
    """Two processes with one instance id, by mistake, get in each other's way, lose or double nothing, and say so."""
    sent: list[Match] = []

    async def send(count: int) -> None:
        more = stream(count, players=120, seed=len(sent), prefix=f"m{len(sent)}")
        sent.extend(more)
        await produce(settings, map(record_of, more))

    await send(3_000)
    async with (
        WorkerProcess(settings, tmp_path / "one.log", RATING_INSTANCE_ID="same", **QUICK) as one,
        WorkerProcess(settings, tmp_path / "two.log", RATING_INSTANCE_ID="same", **QUICK) as two,
    ):

        async def noticed() -> bool:
            await send(300)
            return any(worker.has_logged("another process seems to run under our instance id") for worker in (one, two))

        await until(noticed, 60, one.tail)
        await until_all_committed(settings, timeout_s=180)
        for worker in (one, two):
            worker.send(signal.SIGTERM)
            assert await worker.until_ended() == 0, worker.tail()
            assert not worker.has_logged("Future exception was never retrieved"), worker.tail()
    assert (await check(settings, sent)).wrong(but="out_of_order") == {}


async def test_at_least_once_repeats_carry_the_same_id(settings: Settings, tmp_path: Path) -> None:
    """Without transactions a killed worker's changes may come again, byte for byte, and none is missing."""
    settings = settings.model_copy(update={"delivery": type(settings.delivery)("at-least-once")})
    matches = stream(2_000, players=120, seed=6)
    await produce(settings, map(record_of, matches))
    async with WorkerProcess(
        settings, tmp_path / "dying.log", freeze_at="after-commits:2", RATING_DELIVERY="at-least-once", **QUICK
    ) as dying:
        await dying.until_frozen()
        dying.send(signal.SIGKILL)
        await dying.until_ended()
    async with WorkerProcess(settings, tmp_path / "heir.log", RATING_DELIVERY="at-least-once", **QUICK) as heir:
        await until_all_committed(settings)
        heir.send(signal.SIGTERM)
        assert await heir.until_ended() == 0, heir.tail()
    findings = await check(settings, matches)
    findings.published_twice.clear()  # allowed here; that they are the same, byte for byte, `unequal` tells
    assert findings.wrong(but="out_of_order") == {}
