"""Replays of dead letters that are cut short or meet each other: nothing is left out and nothing goes twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AIOTopicPartition

from tests.support.checker import check
from tests.support.kafka import produce, record_of
from tests.support.letters import (
    open_places,
    replay,
    sent_back,
    start_dead_letters,
    take,
    with_delivery,
    without_yi,
)
from tests.support.matches import stream
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli_process
from worker.settings import Delivery

if TYPE_CHECKING:
    from worker.settings import Settings


@pytest.mark.parametrize(
    ("delivery", "method", "before", "again"),
    [
        (Delivery.EXACTLY_ONCE, "commit_transaction", True, 0),
        (Delivery.EXACTLY_ONCE, "commit_transaction", False, 0),
        # Without transactions: between the records of a piece and their marks.
        (Delivery.AT_LEAST_ONCE, "send_batch", True, 500),
    ],
    ids=str,
)
async def test_a_replay_that_is_killed_is_run_again(
    settings: Settings, tmp_path: Path, delivery: Delivery, method: str, before: bool, again: int
) -> None:
    """Killed at its worst moments and run again, every letter has gone back, once where there are transactions."""
    settings = with_delivery(settings, delivery)
    matches = stream(1_700, players=60, seed=44, pools=("yi",))
    # On one partition, so that a piece is one call of the producer for its records, and one for its marks.
    await produce(settings, [record_of(match)._replace(partition=5) for match in matches])
    await take(without_yi(settings, tmp_path), len(matches))
    passes = 3 if method == "send_batch" else 1
    process = await start_dead_letters(settings, "replay", "--yes", stop=(signal.SIGKILL, method, before, passes))
    await process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = 500 if before else 1_000
    left = await replay(settings)
    assert left["letters"] == len(matches) - done
    assert (await replay(settings, "--yes"))["letters"] == len(matches) - done
    assert await open_places(settings) == []
    sent = await sent_back(settings)
    assert {one.partition for one in sent} == {5}
    back = Counter(one.value for one in sent)
    assert len(back) == len(matches)
    assert back.total() == len(matches) + again
    totals = await take(running(settings), len(matches) + again)
    assert totals["resent"] == again
    assert (await check(settings, matches)).wrong() == {}


async def test_a_replay_that_is_interrupted_holds_nobody_up(settings: Settings, tmp_path: Path) -> None:
    """Ctrl-C ends the open transaction at once, so that workers read on; what was not sent is there to be sent."""
    matches = stream(700, players=60, seed=47, pools=("yi",))
    await produce(settings, [record_of(match)._replace(partition=5) for match in matches])
    await take(without_yi(settings, tmp_path), len(matches))
    process = await start_dead_letters(settings, "replay", "--yes", stop=(signal.SIGINT, "send_batch", True, 3))
    out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err

    async def ended() -> bool:
        return await end_of(settings, "read_committed") == await end_of(settings, "read_uncommitted")

    await until(ended, settings.transaction_timeout_ms / 2000)  # by itself, the broker waits for all of that time
    assert (await replay(settings, "--yes"))["letters"] == 200
    assert Counter(one.value for one in await sent_back(settings)).total() == len(matches)


async def end_of(settings: Settings, isolation: str) -> int:
    """Give where a reader of partition 5 of the match topic gets to."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, isolation_level=isolation)
    await consumer.start()
    try:
        (end,) = (await consumer.end_offsets([AIOTopicPartition(settings.match_topic, 5)])).values()
        return int(end)
    finally:
        await consumer.stop()


async def test_two_replays_at_once(settings: Settings, tmp_path: Path) -> None:
    """The one that is started later ends the earlier one, and leaves out what that has sent; each letter goes once."""
    matches = stream(1_200, players=60, seed=45, pools=("yi",))
    await produce(settings, map(record_of, matches))
    await take(without_yi(settings, tmp_path), len(matches))
    earlier = await start_dead_letters(
        settings, "replay", "--yes", stop=(signal.SIGSTOP, "commit_transaction", True, 1)
    )
    stat = Path(f"/proc/{earlier.pid}/stat")
    await until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 60)
    later = await cli_process(settings, "dead-letters", "replay", "--yes", "--json")
    assert (later.code, later.json()["letters"]) == (0, len(matches) - 500), later.err
    earlier.send_signal(signal.SIGCONT)
    _, err = await earlier.communicate()
    assert earlier.returncode == 75
    assert err.decode().startswith("Another replay was started")
    assert "Sent back and marked so far: 500;" in err.decode()
    assert Counter(one.value for one in await sent_back(settings)).most_common(1)[0][1] == 1
    assert len(await sent_back(settings)) == len(matches)
