"""Reading dead letters from their topics, from their beginning or a time to their end as it is at the start.

By no consumer group: no offset of anybody moves, and nothing that comes in meanwhile is read. Letters come one by one,
so memory does not grow with the topics but for one bit a record: whether its letter was replayed.
"""

from __future__ import annotations

import asyncio
import heapq
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.events import Failure, Headers, Place, ReplayMark, read_failure, read_mark
from worker.stream import client
from worker.stream.errors import stream_faults
from worker.stream.lenient import be_lenient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
    from datetime import datetime

    from aiokafka.structs import ConsumerRecord

    from worker.settings import Settings

_T = TypeVar("_T")
_POLL_MS = 200
_AT_ONCE = 100  # records, each maybe as large as the topic takes
_FIRST_WINDOW, _LARGEST_WINDOW = 500, 4_000  # records, when looking from the end backwards
# A letter's Kafka timestamp is that of its sending, or of the broker's clock: not quite the time at which it failed.
_SKEW = timedelta(minutes=5)


class Span(NamedTuple):
    """Part of a partition: the offsets from `start` up to, but not with, `end`."""

    partition: TopicPartition
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter.

    Attributes:
        place: Where it is, not where its record came from.
        key: The record's.
        value: The record's; None for a tombstone, and where it was left out.
        headers: The record's, then ours.
        failure: What ours say.
    """

    place: Place
    key: bytes | None
    value: bytes | None
    headers: Headers
    failure: Failure


@dataclass(frozen=True, slots=True)
class Stranger:
    """A record of a dead-letter topic that no worker put there."""

    place: Place


Found = Letter | ReplayMark | Stranger


class Replayed:
    """Which letters were sent back already, as far as what was read tells: one bit for each offset of the spans."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._bits = {span.partition: (span.start, bytearray((span.end - span.start + 7) // 8)) for span in spans}

    def note(self, found: Found) -> None:
        """Take notice of a mark, or of a letter of a record that was a replay itself."""
        match found:
            case ReplayMark():
                self._add(found.letter)
            case Letter() if found.failure.replayed_from is not None:
                self._add(found.failure.replayed_from)

    def __contains__(self, place: Place) -> bool:
        start, bits = self._bits.get(TopicPartition(place.topic, place.partition), (0, b""))
        at = place.offset - start
        return 0 <= at < 8 * len(bits) and bool(bits[at // 8] >> at % 8 & 1)

    def _add(self, place: Place) -> None:
        start, bits = self._bits.get(TopicPartition(place.topic, place.partition), (0, bytearray()))
        at = place.offset - start
        if 0 <= at < 8 * len(bits):
            bits[at // 8] |= 1 << at % 8


class LetterReader:
    """Reads records where they are, committed ones alone.

    Args:
        settings: Name the brokers, the topics, and how long they may take.
        advance: Called with how many offsets further the reading is; for a progress bar.
    """

    def __init__(self, settings: Settings, advance: Callable[[int], object] = lambda _: None) -> None:
        self._settings = settings
        self._advance = advance
        self._partitions: dict[str, list[int]] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._consumer = AIOKafkaConsumer(
            **client.common(settings),
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # where retention has just taken what was to be read
            isolation_level="read_committed",
            request_timeout_ms=int(settings.kafka_request_timeout_s * 1000),
        )

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, advance: Callable[[int], object] = lambda _: None
    ) -> AsyncIterator[LetterReader]:
        """Connect for the block.

        Raises:
            StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
            StreamAwayError: The brokers are away; also from every other method.
        """
        reader = cls(settings, advance)
        try:
            await reader._look_around()
            with stream_faults():
                await reader._consumer.start()
            yield reader
        finally:
            await client.leave(reader._consumer)

    async def _look_around(self) -> None:
        async with client.administering(self._settings) as admin:
            there = set(await admin.list_topics())
            wanted = there & {*self._settings.input_topics, *self._settings.dead_letter_topics.values()}
            for topic in await admin.describe_topics(sorted(wanted)) if wanted else ():
                self._partitions[topic["topic"]] = sorted(one["partition"] for one in topic["partitions"])

    async def spans(self, topics: Iterable[str], since: datetime | None = None) -> list[Span]:
        """Give what there is of topics now; with `since` without what is surely from before it.

        The end is that of what is committed: what a worker is writing at this moment is not waited for.
        """
        partitions = [
            TopicPartition(topic, number) for topic in sorted(set(topics)) for number in self._partitions.get(topic, ())
        ]
        with stream_faults():
            starts = await self._consumer.beginning_offsets(partitions)
            ends = await self._consumer.end_offsets(partitions)
            if since is not None:
                time_ms = max(0, int((since - _SKEW).timestamp() * 1000))
                sought = await self._consumer.offsets_for_times(dict.fromkeys(partitions, time_ms))
                starts = {one: ends[one] if at is None else at.offset for one, at in sought.items()}
        return [Span(one, min(starts[one], ends[one]), ends[one]) for one in partitions]

    async def at(self, place: Place) -> Found | None:
        """Read what is at a place of a dead-letter topic; None where there is nothing, not any more or not yet."""
        record = await self._record(place)
        return None if record is None else _found(record)

    async def whole(self, letter: Letter) -> Letter | None:
        """Give a letter with its value, from where its record came from if it was left out; None if it is gone."""
        if letter.failure.left_out is None:
            return letter
        failure = letter.failure
        record = await self._record(failure.origin)
        if record is None or record.key != letter.key or failure.timestamp_ms not in {None, record.timestamp}:
            return None  # another record may be there now, of a topic that was made anew
        return replace(letter, value=record.value)

    async def found(self, span: Span) -> AsyncGenerator[Found]:
        """Give the letters of a span in their order, and what else there is between them."""
        async with aclosing(self._records(span)) as records:
            async for record in records:
                yield _found(record)

    async def replayed(self, spans: Sequence[Span]) -> Replayed:
        """Find out which letters of the spans were sent back, by reading all of them."""
        replayed = Replayed(spans)
        for span in spans:
            async for found in self.found(span):
                replayed.note(found)
        return replayed

    async def oldest(self, spans: Iterable[Span]) -> AsyncGenerator[Letter]:
        """Give the letters of all spans, those that failed first before the others."""
        async with AsyncExitStack() as opened:
            streams = [await opened.enter_async_context(aclosing(self._letters(span))) for span in spans]
            heads: list[tuple[datetime, int, Letter]] = []
            for number, stream in enumerate(streams):
                if (first := await anext(stream, None)) is not None:
                    heapq.heappush(heads, (first.failure.failed_at, number, first))
            while heads:
                _, number, letter = heads[0]
                yield letter
                following = await anext(streams[number], None)
                if following is None:
                    heapq.heappop(heads)
                else:
                    heapq.heapreplace(heads, (following.failure.failed_at, number, following))

    async def newest(
        self, span: Span, replayed: Replayed, keep: Callable[[Letter], _T | None]
    ) -> AsyncGenerator[tuple[_T, bool]]:
        """Give what is to be kept of the letters of a span from its end backwards, and whether each was replayed.

        Marks come after their letters, so reading backwards meets them first, and the rest need not be read.

        Args:
            span: Where to look.
            replayed: Takes notice of the marks on the way.
            keep: Gives what is kept of a letter, something small, or None.
        """
        end, size = span.end, _FIRST_WINDOW
        while end > span.start:
            window = Span(span.partition, max(span.start, end - size), end)
            kept: list[tuple[Place, _T]] = []
            async for found in self.found(window):
                replayed.note(found)
                if isinstance(found, Letter) and (wanted := keep(found)) is not None:
                    kept.append((found.place, wanted))
            for place, wanted in reversed(kept):
                yield wanted, place in replayed
            end, size = window.start, min(2 * size, _LARGEST_WINDOW)

    async def _letters(self, span: Span) -> AsyncGenerator[Letter]:
        async for found in self.found(span):
            if isinstance(found, Letter):
                yield found

    async def _records(self, span: Span, at_once: int = _AT_ONCE) -> AsyncGenerator[ConsumerRecord[bytes, bytes]]:
        """Give the records of a span in their order. Spans of several partitions may be read by turns."""
        partition, expected, end = span
        self._seek(partition, expected)
        while (before := self._positions[partition]) < end:
            records = await self._fetch(partition, at_once)
            self._advance(max(0, min(self._positions[partition], end) - before))
            for record in records:
                if expected <= record.offset < end:  # aiokafka may start a little before what was asked for
                    expected = record.offset + 1
                    yield record

    async def _record(self, place: Place) -> ConsumerRecord[bytes, bytes] | None:
        partition = TopicPartition(place.topic, place.partition)
        if place.partition not in self._partitions.get(place.topic, ()):
            return None
        with stream_faults():
            start = (await self._consumer.beginning_offsets([partition]))[partition]
            end = (await self._consumer.end_offsets([partition]))[partition]
        if not start <= place.offset < end:
            return None
        async with aclosing(self._records(Span(partition, place.offset, end), at_once=1)) as records:
            first = await anext(records, None)
        return first if first is not None and first.offset == place.offset else None

    def _seek(self, partition: TopicPartition, offset: int) -> None:
        with stream_faults():
            self._positions[partition] = offset
            if partition in self._consumer.assignment():
                self._consumer.seek(partition, offset)
            else:  # which makes it forget where the others are
                self._consumer.assign(list(self._positions))
                for one, its_offset in self._positions.items():
                    self._consumer.seek(one, its_offset)

    async def _fetch(self, partition: TopicPartition, at_once: int) -> list[ConsumerRecord[bytes, bytes]]:
        """Fetch what comes next, which may be nothing but the marks of transactions; notes the position behind it."""
        before, patience_s = self._positions[partition], 3 * self._settings.kafka_request_timeout_s
        with stream_faults():
            async with asyncio.timeout(patience_s):
                while True:
                    try:
                        fetched = await self._consumer.getmany(partition, timeout_ms=_POLL_MS, max_records=at_once)
                    except UnicodeDecodeError:  # the name of a header of somebody's
                        be_lenient()
                        self._consumer.seek(partition, before)
                        continue
                    self._positions[partition] = await self._consumer.position(partition)
                    if fetched or self._positions[partition] != before:
                        return list(fetched.get(partition, ()))


def _found(record: ConsumerRecord[bytes, bytes]) -> Found:
    place = Place(record.topic, record.partition, record.offset)
    failure = read_failure(record.headers)
    if failure is not None:
        return Letter(place, record.key, record.value, record.headers, failure)
    return read_mark(record.headers) or Stranger(place)
