"""The benchmark's own parts that need no stack: a benchmark that measures wrong is worse than none."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.benchmarks import facts, plot, stream
from tests.benchmarks.contenders import EXACTLY_ONCE, FLOOR, SEQUENTIAL, contenders
from tests.benchmarks.latency import Latency, percentile
from tests.benchmarks.options import parse
from tests.benchmarks.results import Result, Table
from tests.benchmarks.throughput import WARM_UP, Run
from worker.events import decode_match

if TYPE_CHECKING:
    from pathlib import Path


def _run(rate: float) -> Run:
    return Run(1_000, 1_000 / rate, {"worker": 0.1, "postgres": 0.05, "kafka": 0.02}, 90.0, [80.0], {}, None)


def test_the_stream_is_the_same_each_time() -> None:
    """Every contender, in every run on every machine, gets the same bytes."""
    assert stream.records(500, players=1_000) == stream.records(500, players=1_000)


@pytest.mark.parametrize("players", [20_000, 10**7])
def test_the_stream_is_what_it_says(players: int) -> None:
    """Records are valid, players are within bounds and their pools, some play much, and pairs sit down again."""
    records = stream.records(2_000, players=players)
    seen: list[str] = []
    for record in records:
        match = decode_match(record.value, (), now=datetime.now(UTC), max_bytes=2_000, max_ahead=timedelta(0)).match
        assert match.match_id == record.match_id
        for side in match.sides:
            number = int(side.id.removeprefix("player-"))
            assert 0 <= number < players
            assert match.pool == stream.POOLS[number % 3]
            seen.append(side.id)
    assert len({record.match_id for record in records}) == len(records)
    assert len({record.key for record in records}) < 0.75 * len(records)
    assert max(map(seen.count, set(seen))) > 10


def test_few_may_play_of_many() -> None:
    """Who still plays is scattered over all the numbers, so that the pages of a large table are met."""
    records = stream.records(2_000, players=10**7, active=100)
    playing = {int(id_.removeprefix(b"player-")) for record in records for id_ in record.key.split(b"|")[1:]}
    assert 100 < len(playing) <= 300  # with those beside them, of the pool that a player meets
    assert min(playing) < 10**6
    assert max(playing) > 9 * 10**6


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentile(share: float, expected: int) -> None:
    """The smallest value that at least the share does not exceed."""
    assert percentile(range(1, 101), share) == expected


def test_cpu_of_a_child_that_ended_is_counted() -> None:
    """What a Postgres backend used stays in the figures after it has gone."""
    before = facts.cpu_seconds(os.getpid())
    child = os.fork()
    if child == 0:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    assert facts.cpu_seconds(os.getpid()) - before >= 0.15


def test_ratios_are_to_the_same_batch_size() -> None:
    """A batch of 2,000 is held against the floor at 2,000, and every contender against the one consumer."""
    table = Table([Result(one) for one in contenders((2_000, 5_000))])
    assert not table.results, "without runs there is nothing to tell"
    results = [Result(one, [_run(100.0 * place)]) for place, one in enumerate(contenders((2_000, 5_000)), 1)]
    table = Table(results)
    ours, floor, one = table.find(EXACTLY_ONCE, 5_000), table.find(FLOOR, 5_000), table.find(SEQUENTIAL)
    assert ours
    assert floor
    assert one
    assert table.ratios(ours)["floor"] == pytest.approx(ours.rate / floor.rate)
    assert table.ratios(ours)["sequential"] == pytest.approx(ours.rate / one.rate)


def test_the_plot_is_well_formed(tmp_path: Path) -> None:
    """Whatever was measured, the file is an SVG with a bar for each figure."""
    results = [Result(one, [_run(123.0 * place)]) for place, one in enumerate(contenders((2_000,)), 1)]
    results[0].latencies.append(Latency(500.0, 10, 3.5, 40.0, 60.0, 0.1))
    plot.save(tmp_path / "plot.svg", Table(results))
    drawn = ET.parse(tmp_path / "plot.svg").getroot()  # noqa: S314 - our own file
    bars = [one for one in drawn.iter() if one.tag.endswith("title")]
    assert len(bars) == len(results) + 1


@pytest.mark.parametrize("more", [(), ("--growth",)], ids=["side-by-side", "growth"])
def test_more_matches_than_are_recent_enough_are_refused(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says how many there may be; one of growth makes twice as many."""
    most = (stream.MOST - WARM_UP) // (2 if more else 1)
    assert parse(["--matches", str(most), *more]).matches == most
    with pytest.raises(SystemExit):
        parse(["--matches", str(most + 1), *more])
    assert f"--matches {most + 1}: at most {most}" in capsys.readouterr().err
