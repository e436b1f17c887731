"""`python -m deploy.local run -- python -m tests.benchmarks.recovery`: how long a killed worker is felt, and by whom.

Two workers share the partitions at a steady load. One is killed right after it has flushed a batch into its open Kafka
transaction: the worst moment, since readers of the rating events wait behind that transaction. Two delays are measured
from the kill on, as a read_committed reader sees them: until a match of the dead worker's partitions that came after it
is published (recovery), and the longest that a match of the living worker's partitions waited (behind the transaction).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson
from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition
from rich.console import Console
from rich.table import Table

from tests.benchmarks.arena import Stack, arena
from tests.support.kafka import record_of
from tests.support.matches import stream
from tests.support.processes import WorkerProcess
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

    from worker.settings import Settings

_RATE = 200.0
_OUTLAST_S = 20.0  # of matches after the kill
_PASSES = 20  # batches that the worker does before the one in which it dies


class Delays(NamedTuple):
    """What one kill cost, in seconds."""

    session_timeout_s: float
    recovery: float
    readers: float
    before: float


class _Traffic:
    """Matches at a steady rate, and when each was sent and seen; `partition_of` tells where each went."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ended = threading.Event()
        self.sent: dict[str, float] = {}
        self.seen: dict[str, float] = {}
        self.partition_of: dict[str, int] = {}
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._read)]

    @contextlib.contextmanager
    def flowing(self) -> Iterator[None]:
        """Let it flow while the block runs."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self._settings.kafka_bootstrap, "partitioner": "murmur2_random"})
        started = time.monotonic()
        for number, match in enumerate(stream(60_000, players=5_000, seed=1, pools=("yi",))):
            if self._ended.wait(max(0.0, started + number / _RATE - time.monotonic())):
                break
            match = match._replace(match_type="ranked", verified=True)  # noqa: PLW2901 - each is to be rated
            record, match_id = record_of(match), match.match_id
            self.sent[match_id] = time.monotonic()
            producer.produce(
                self._settings.match_topic,
                key=record.key,
                value=record.value,
                on_delivery=partial(self._delivered, match_id),
            )
            producer.poll(0)
        producer.flush(10)

    def _delivered(self, match_id: str, error: object, message: Message) -> None:
        assert error is None, error
        self.partition_of[match_id] = message.partition() or 0

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._settings.kafka_bootstrap,
                "group.id": "recovery-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        topic = self._settings.rating_topic
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in partitions])
        while not self._ended.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.seen.setdefault(orjson.loads(message.value() or b"")["match_id"], time.monotonic())
        consumer.close()


async def measure(settings: Settings, session_timeout_ms: int, logs: Path) -> Delays:
    """Kill one of two workers under load, and time what it is felt by."""
    settings = settings.model_copy(update={"session_timeout_ms": session_timeout_ms})
    settings.model_fields_set.add("session_timeout_ms")
    traffic = _Traffic(settings)
    dying = WorkerProcess(settings, logs / "dying.log", freeze_at=f"after-flush:{_PASSES}", RATING_INSTANCE_ID="dying")
    async with dying, WorkerProcess(settings, logs / "heir.log", RATING_INSTANCE_ID="heir") as heir:
        await asyncio.gather(dying.until_logged("partitions assigned"), heir.until_logged("partitions assigned"))
        with traffic.flowing():
            await dying.until_frozen(120)
            dying.send(signal.SIGKILL)
            killed = time.monotonic()
            lost = await _of_the_dead(dying)
            await until(lambda: time.monotonic() > killed + _OUTLAST_S, _OUTLAST_S + 5)
        heir.send(signal.SIGTERM)
        await heir.until_ended()
    seen = [(match_id, traffic.sent[match_id], at) for match_id, at in traffic.seen.items()]
    theirs = [at for match_id, sent, at in seen if sent > killed and traffic.partition_of.get(match_id) in lost]
    waits = [
        at - max(sent, killed)
        for match_id, sent, at in seen
        if at > killed and traffic.partition_of.get(match_id) not in lost
    ]
    usual = sorted(at - sent for _, sent, at in seen if at < killed)
    return Delays(session_timeout_ms / 1000, min(theirs) - killed, max(waits), usual[len(usual) // 2])


async def _of_the_dead(worker: WorkerProcess) -> set[int]:
    """Give the partitions of the match topic that a worker was assigned last."""
    last = [event["partitions"] for event in worker.events() if event.get("event") == "partitions assigned"][-1]
    return {number for topic, numbers in last.items() if topic.endswith("matches") for number in numbers}


def main() -> int:
    """Measure some session timeouts, several kills each; print a table."""
    parser = argparse.ArgumentParser(description="Time the recovery from a killed worker.")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--session-timeouts-ms", default="6000,10000")
    given = parser.parse_args()
    stack = Stack.from_environment()
    table = Table(
        "session timeout, s", "recovery, s", "readers waited, s", "usual, ms", title="a worker killed after its flush"
    )
    for timeout in map(int, given.session_timeouts_ms.split(",")):
        for _ in range(given.runs):
            with arena(stack, f"recovery{secrets.token_hex(2)}", http_port=0) as settings:
                delays = asyncio.run(measure(settings, timeout, Path(tempfile.mkdtemp(prefix="recovery-"))))
            seconds = (f"{one:.1f}" for one in (delays.recovery, delays.readers))
            table.add_row(f"{delays.session_timeout_s:g}", *seconds, f"{delays.before * 1000:.0f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "120")
    sys.exit(main())
