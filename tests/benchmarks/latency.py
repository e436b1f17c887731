"""From produced to published, at a steady load, as an independent read_committed reader sees it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from tests.benchmarks.arena import PARTITIONS, arena, settle, watch
from tests.benchmarks.running import running
from tests.benchmarks.stream import changes_of
from tests.benchmarks.throughput import WARM_UP
from tests.support.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.benchmarks.arena import Stack
    from tests.benchmarks.contenders import Contender
    from tests.benchmarks.stream import Record
    from worker.settings import Settings

IDLE_RATE = 8.0
"""So few a second that each match meets an idle worker."""

_SILENCE_S = 10.0  # with nothing new for so long, what is missing does not come any more
_END_S = 1.0  # likewise, where as many came as there are at least
_FIRST_S = 1.0  # of each load; left out, since the load before it is still felt
_NS = 1e9


class Latency(NamedTuple):
    """What one steady load measured, in ms; None where the contender did not keep up.

    Attributes:
        rate: Matches a second that were sent.
        changes: How many changes were timed.
        p50, p99, worst: Of the time from produced to seen.
        feeder_late_ms: How late the feeder itself was against its schedule, p99.
    """

    rate: float
    changes: int
    p50: float | None
    p99: float | None
    worst: float | None
    feeder_late_ms: float

    @property
    def kept_up(self) -> bool:
        """Whether every change came."""
        return self.p50 is not None


def measure(
    stack: Stack, contender: Contender, records: Sequence[Record], loads: Iterable[tuple[float, float]], logs: Path
) -> list[Latency]:
    """Put one load after the other on a contender, each given as (matches a second, seconds)."""
    found = []
    with arena(stack, contender.label, **contender.overrides) as settings:
        kafka = watch(settings)
        try:
            with running(contender, settings, logs) as processes:
                processes.warm_up(settings, kafka, records[:WARM_UP])
                at = WARM_UP
                for rate, seconds in loads:
                    part = records[at : at + int(rate * seconds)]
                    at += len(part)
                    settle(stack)
                    found.append(_one_load(settings, rate, part))
                    if not found[-1].kept_up:
                        break  # what is left over would meet the next load
        finally:
            kafka.close()
    return found


def percentile(ordered: Sequence[float], share: float) -> float:
    """Give the smallest value that at least `share` of all don't exceed."""
    return ordered[max(0, ceil(len(ordered) * share) - 1)]


def _one_load(settings: Settings, rate: float, records: Sequence[Record]) -> Latency:
    reader = _reader(settings)
    command = [sys.executable, "-m", "tests.benchmarks.feeder", str(rate), settings.kafka_bootstrap]
    feeder = subprocess.Popen(  # noqa: S603 - our own module
        [*command, settings.match_topic], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert feeder.stdin is not None
        pickle.dump(list(records), feeder.stdin)
        feeder.stdin.close()
        seen = _read(reader, changes_of(records), len(records) / rate)
        assert feeder.stdout is not None
        sent: list[int] = json.loads(feeder.stdout.read())
    finally:
        reader.close()
        feeder.kill()
        feeder.wait()

    sent_at = {record.match_id: at for record, at in zip(records, sent, strict=True)}
    times = sorted(
        (at - sent_at[match_id]) / 1e6
        for at, match_id in seen
        if match_id in sent_at and sent_at[match_id] - sent[0] >= _FIRST_S * _NS
    )
    late = sorted((at - sent[0] - number * _NS / rate) / 1e6 for number, at in enumerate(sent))
    came = Counter(match_id for _, match_id in seen)
    complete = all(came[record.match_id] >= record.changes for record in records)
    return Latency(
        rate=rate,
        changes=len(times),
        p50=percentile(times, 0.5) if complete else None,
        p99=percentile(times, 0.99) if complete else None,
        worst=times[-1] if complete else None,
        feeder_late_ms=percentile(late, 0.99),
    )


def _reader(settings: Settings) -> Any:
    """Start a read_committed reader at the present end of the output topic."""
    reader = Consumer(
        {
            "bootstrap.servers": settings.kafka_bootstrap,
            "group.id": f"{settings.consumer_group}.reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    reader.assign([TopicPartition(settings.rating_topic, number, OFFSET_END) for number in range(PARTITIONS)])
    until = time.monotonic() + 1.0
    while time.monotonic() < until:  # by then it waits at every partition's end
        reader.poll(0.1)
    return reader


def _read(reader: Any, count: int, seconds: float) -> list[tuple[int, str]]:
    """Read so many changes, and what comes after them: there may be more; gives when each was seen and its match.

    Gives up when none comes for a while.
    """
    raw: list[tuple[int, bytes]] = []
    last = time.monotonic() + seconds
    while time.monotonic() < last + (_SILENCE_S if len(raw) < count else _END_S):
        message = reader.poll(0.1)
        if message is not None and message.error() is None:
            raw.append((time.monotonic_ns(), message.value()))
            last = max(last, time.monotonic())
    return [(at, orjson.loads(value)["match_id"]) for at, value in raw]
