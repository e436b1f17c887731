"""`rating-worker generate` on a real Kafka."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.support.kafka import read_all
from tests.support.waiting import until
from tests.unit.cli.processes import cli_process, seen, start

if TYPE_CHECKING:
    from worker.settings import Settings


async def test_so_many_matches_and_no_more(settings: Settings) -> None:
    """It sends as many matches as it was told, with the repeats and the bad records among them, and ends."""
    await seen(settings)
    ended = await cli_process(settings, "generate", "--matches", 300, "--rate", 1_000, "--players", 20)
    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[-1] == "Stopped: 304 records sent."  # 2 that come twice, 2 that can't be taken
    assert len(await read_all(settings, settings.match_topic)) == 304


async def test_until_it_is_stopped(settings: Settings) -> None:
    """It goes on until SIGTERM, as from an orchestrator, and ends with what it has sent acknowledged."""
    await seen(settings)
    process = await start(settings, "generate", "--rate", 200)

    async def some() -> bool:
        return len(await read_all(settings, settings.match_topic)) > 100

    await until(some, 60)
    process.send_signal(signal.SIGTERM)
    _, err = await process.communicate()
    assert process.returncode == 0, err
    sent = len(await read_all(settings, settings.match_topic))
    assert err.decode().splitlines()[-1] == f"Stopped: {sent} records sent."


async def test_not_elsewhere_by_mistake(settings: Settings) -> None:
    """Made-up matches don't go to a Kafka on another machine unless that is meant."""
    ended = await cli_process(settings, "generate", RATING_KAFKA_BOOTSTRAP="kafka.example:9092")
    assert ended.code == 2
    assert "kafka.example is not this machine" in ended.err


async def test_no_topic(blank_settings: Settings) -> None:
    """Without the topic it says what makes it."""
    ended = await cli_process(blank_settings, "generate")
    assert ended.code == 78
    assert "rating-worker topics --create" in ended.err
