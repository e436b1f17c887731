"""Reading what the worker publishes, as any consumer would, and asking how far the group is."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.generator import RUN_HEADER
from worker.rating.model import Reason
from worker.stream import client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiokafka.structs import ConsumerRecord

    from worker.settings import Settings

_POLL_MS = 200


class Watcher:
    """A `read_committed` reader of the changes and dead letters of one run, from now on.

    Attributes:
        changes: The run's changes by event id, as JSON decoded.
        twice: How many changes came again under an event id that was seen. There should be none.
        dead_letters: The run's dead letters, by reason.
        seen_at: When a match's first change was seen, by match id, on the clock of `time.perf_counter`.
    """

    def __init__(self, settings: Settings, run: str) -> None:
        self._settings = settings
        self._run = run
        self._consumer = AIOKafkaConsumer(
            settings.rating_topic,
            settings.dead_letter_topic,
            **client.common(settings),
            group_id=None,
            isolation_level="read_committed",
            request_timeout_ms=int(settings.kafka_request_timeout_s * 1000),
        )
        self.changes: dict[str, dict[str, Any]] = {}
        self.twice = 0
        self._match_changes = 0
        self.dead_letters: Counter[str] = Counter()
        self.seen_at: dict[str, float] = {}
        self._arrived = asyncio.Condition()

    @classmethod
    @asynccontextmanager
    async def watch(cls, settings: Settings, run: str) -> AsyncIterator[Watcher]:
        """Read beside the block, from the topics' ends as they are now."""
        watcher = cls(settings, run)
        reading: asyncio.Task[None] | None = None
        try:
            await watcher._consumer.start()
            for partition, end in (await watcher._consumer.end_offsets(watcher._consumer.assignment())).items():
                watcher._consumer.seek(partition, end)
            reading = asyncio.create_task(watcher._read())
            yield watcher
        finally:
            if reading is not None:
                reading.cancel()
                with suppress(asyncio.CancelledError):
                    await reading
            await client.leave(watcher._consumer)

    async def until(self, *, match_changes: int, dead_letters: int) -> None:
        """Wait until so many changes that came from games, two for each rated match, and dead letters were read."""
        async with self._arrived:
            await self._arrived.wait_for(
                lambda: self._match_changes >= match_changes and self.dead_letters.total() >= dead_letters
            )

    async def _read(self) -> None:
        while True:
            fetched = await self._consumer.getmany(timeout_ms=_POLL_MS)
            now = time.perf_counter()
            for partition, records in fetched.items():
                take = self._change if partition.topic == self._settings.rating_topic else self._dead_letter
                for record in records:
                    take(record, now)
            async with self._arrived:
                self._arrived.notify_all()

    def _change(self, record: ConsumerRecord[bytes, bytes], now: float) -> None:
        change = orjson.loads(record.value or b"{}")
        match_id: str = change["match_id"] or ""  # not every change comes from a match
        if not match_id.startswith(f"{self._run}-"):
            return
        if change["event_id"] in self.changes:
            self.twice += 1
            return
        self.changes[change["event_id"]] = change
        self._match_changes += change["reason"] == Reason.MATCH
        self.seen_at.setdefault(match_id, now)

    def _dead_letter(self, record: ConsumerRecord[bytes, bytes], now: float) -> None:  # noqa: ARG002 - as for changes
        headers = dict(record.headers)
        if headers.get(RUN_HEADER) == self._run.encode():
            self.dead_letters[(headers.get("dlq.reason") or b"?").decode()] += 1


async def lag(settings: Settings) -> int:
    """Count the records of the topics that workers read which their group has not committed yet.

    Raises:
        StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
        StreamAwayError: The broker is away.
    """
    consumer = AIOKafkaConsumer(
        **client.common(settings), group_id=None, request_timeout_ms=int(settings.kafka_request_timeout_s * 1000)
    )
    try:
        async with client.administering(settings) as admin:
            await consumer.start()
            partitions = [
                TopicPartition(topic["topic"], partition["partition"])
                for topic in await admin.describe_topics(settings.input_topics)
                for partition in topic["partitions"]
            ]
            committed = await admin.list_consumer_group_offsets(settings.consumer_group, partitions=partitions)
            ends = await consumer.end_offsets(partitions)
            begins = await consumer.beginning_offsets(partitions)
            return sum(
                max(0, ends[partition] - max(committed[partition].offset, begins[partition]))
                for partition in partitions
            )
    finally:
        await client.leave(consumer)
