"""`rating-worker demo` and `dev` on a real Kafka and a real Postgres."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import read_all
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process, seen, sql, start

if TYPE_CHECKING:
    from worker.settings import Settings


@pytest.fixture
async def ready(settings: Settings) -> Settings:
    """Settings whose topics the broker shows."""
    return await seen(settings)


async def test_demo(blank_settings: Settings) -> None:
    """The demo needs nothing but the servers, rates every match once, shows its sections, and can be run again."""
    first = await cli_process(blank_settings, "demo", "--matches", 400, "--players", 20, "--json")
    assert first.code == 0, first.err
    report = first.json()
    assert report["faults"] == []
    assert report["sent"] == {"match": 400, "repeat": 2, "bad": 2}
    assert report["rated"] + sum(report["unrated"].values()) == 400
    assert sum(report["dead_lettered"].values()) == 2
    assert report["changes"] >= 2 * report["rated"]
    assert report["changes_twice"] == 0
    assert report["matches_per_second"] > 0
    assert 0 < report["latency_ms"]["p50"] <= report["latency_ms"]["p99"]
    assert report["explained"]["consistent"] is True
    assert any(board["players"] for board in report["leaderboards"])
    assert await sql(blank_settings, "select count(*) from matches") == 400
    assert len(await read_all(blank_settings, blank_settings.rating_topic)) == report["changes"]

    second = await cli_process(blank_settings, "demo", "--matches", 400, "--players", 20)
    assert second.code == 0, second.err
    assert second.err == ""
    for part in (
        "rated",
        "dead-lettered",
        "yi",
        "Match demo-",
        "Throughput",
        "Latency",
        "rating-worker explain demo-",
        "`make dev`",
    ):
        assert part in second.out
    assert await sql(blank_settings, "select count(*) from matches") == 800
    assert (await cli(blank_settings, "check")).code == 0


async def test_demo_beside_another_worker(ready: Settings) -> None:
    """A worker of the same group may do a share of the demo's matches: still all are rated once."""
    async with running(ready.model_copy(update={"instance_id": "beside"})):
        ended = await cli_process(ready, "demo", "--matches", 300, "--players", 20, "--json")
    assert ended.code == 0, ended.err
    assert ended.json()["faults"] == []


async def test_demo_in_vain(ready: Settings) -> None:
    """Where not everything is rated in time, the demo says so and ends."""
    ended = await cli_process(ready, "demo", "--matches", 2_000, "--timeout", 1, RATING_BATCH_MAX_RECORDS="1")
    assert ended.code == 75
    assert "Not all was rated and read back in 1 s" in ended.err


async def test_dev(blank_settings: Settings) -> None:
    """dev makes everything ready, keeps matches flowing, says where to look, and stops in order at Ctrl-C."""
    process = await start(blank_settings, "dev", "--rate", 200, "--players", 20)
    assert process.stderr
    told = [(await process.stderr.readline()).decode() for _ in range(5)]
    assert told[0].startswith("A worker is at work on 200 matches a second")
    assert "/metrics" in told[1]

    async def rated() -> bool:
        return bool(await sql(blank_settings, "select count(*) > 100 from matches"))

    await until(rated, 60)
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert process.returncode == 0, err
    assert out == b""
    assert b"Stopped: " in err.splitlines()[-1]
    assert b"Traceback" not in err
