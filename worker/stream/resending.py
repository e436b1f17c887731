"""Sending dead letters back to where their records came from, and marking them as sent back."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.events import Place, mark_headers, replay_headers
from worker.futures import retrieve
from worker.settings import Delivery
from worker.stream import client
from worker.stream.errors import FENCED, TOO_LARGE, StreamAwayError, stream_faults
from worker.stream.murmur2 import partition_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from aiokafka import AIOKafkaProducer

    from worker.events import Headers
    from worker.settings import Settings
    from worker.stream.letters import Letter

AT_ONCE = 500  # letters in one transaction, at most
_ABORT_S = 3.0


class OvertakenError(Exception):
    """Another replay was started meanwhile, or this one stood still for too long: it sends no more."""


class _Record(NamedTuple):
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Resender:
    """Sends letters back; those of each call with their marks in one Kafka transaction, where the settings have any.

    So of a letter and its mark there are both or neither, however the process ends. One such producer lives at a time:
    another that is started ends the transaction of the one before, which then sends no more.

    Attributes:
        sent: How many letters are sent back and marked.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._transactions = settings.delivery is Delivery.EXACTLY_ONCE
        self._producer: AIOKafkaProducer | None = None
        self._at_once = AT_ONCE
        self.sent = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Resender]:
        """Start a producer for the block. What an earlier one has sent is visible, or is never going to be.

        Raises:
            StreamSetupError: A setting, a login or a right is wrong: which, where and what to do.
            StreamAwayError: The brokers are away.
        """
        resender = cls(settings)
        try:
            await resender._start()
            yield resender
        finally:
            await resender._stop()

    async def send(self, letters: Sequence[Letter]) -> list[Letter]:
        """Send letters back, in their order, and mark them; gives those that their topic does not take for their size.

        Raises:
            OvertakenError: Another replay was started meanwhile.
            StreamAwayError, StreamSetupError: As `open`.
        """
        refused: list[Letter] = []
        at = 0
        while at < len(letters):
            piece = letters[at : at + self._at_once]
            if await self._taken(piece):
                self.sent += len(piece)
                self._at_once = min(2 * self._at_once, AT_ONCE)
            elif len(piece) > 1:  # together they may be too large a batch, and alone not
                self._at_once = len(piece) // 2
                continue
            else:
                refused += piece
            at += len(piece)
        return refused

    async def _taken(self, letters: Sequence[Letter]) -> bool:
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    await self._send(letters)
        except StreamAwayError as error:
            if isinstance(error.__cause__, FENCED):
                raise OvertakenError(
                    "Another replay was started, or this one stood still for longer than "
                    "RATING_TRANSACTION_TIMEOUT_MS: it ends here. Look at what is left once no other runs."
                ) from error
            if not isinstance(error.__cause__, TOO_LARGE):
                raise
            await self._stop()  # the broker counts other sequence numbers now; the next start ends the transaction
            await self._start()
            return False
        return True

    async def _send(self, letters: Sequence[Letter]) -> None:
        producer, at = self._producer, datetime.now(UTC)
        assert producer is not None  # noqa: S101 - for the type checker: it is started
        if self._transactions:
            await producer.begin_transaction()
        counts = {
            topic: len(await producer.partitions_for(topic)) for topic in {one.failure.origin.topic for one in letters}
        }
        placed = await _sent(producer, [_record(letter, counts[letter.failure.origin.topic], at) for letter in letters])
        await _sent(producer, [_mark(letter, to, at) for letter, to in zip(letters, placed, strict=True)])
        if self._transactions:
            await producer.commit_transaction()

    async def _start(self) -> None:
        # Of the consumer group, as the ids of workers are, so that the rights that cover those cover it.
        transactional_id = f"{self._settings.consumer_group}.dead-letters" if self._transactions else None
        self._producer = client.producer(self._settings, transactional_id)
        with stream_faults():
            async with asyncio.timeout(self._settings.publish_timeout_s):
                await self._producer.start()

    async def _stop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        if self._transactions:
            # One that is open, say at Ctrl-C, would hold up the workers until the broker ends it. Where none is, or a
            # fault was, aiokafka refuses.
            with suppress(Exception):
                async with asyncio.timeout(_ABORT_S):
                    await producer.abort_transaction()
        await client.discard(producer)


def _record(letter: Letter, partitions: int, at: datetime) -> _Record:
    """Make the record that goes back: as it came, on the partition that it came from.

    That is where its producer puts the games of this pair, whichever partitioner it has: behind those that are there,
    and in the order of their letters. Where the topic was made anew with fewer partitions, the key decides.
    """
    origin = letter.failure.origin
    by_key = 0 if letter.key is None else partition_of(letter.key, partitions)
    return _Record(
        origin.topic,
        origin.partition if origin.partition < partitions else by_key,
        letter.key,
        letter.value,
        replay_headers(letter.headers, letter.place, letter.failure.attempt + 1, at),
    )


def _mark(letter: Letter, to: Place, at: datetime) -> _Record:
    place = letter.place
    headers = mark_headers(place, letter.failure.attempt + 1, at, to)
    return _Record(place.topic, place.partition, f"replayed {place}".encode(), None, headers)


async def _sent(producer: AIOKafkaProducer, records: Sequence[_Record]) -> list[Place]:
    """Send records, those of a partition in their order; gives where each is, once every one is acknowledged."""
    batches: list[tuple[str, int, Any]] = []
    last: dict[tuple[str, int], int] = {}
    where: list[tuple[int, int]] = []  # of each record: its batch, and its place in it
    for topic, partition, key, value, headers in records:
        number = last.get((topic, partition))
        content = {"timestamp": None, "key": key, "value": value, "headers": headers}
        if number is None or batches[number][2].append(**content) is None:  # none yet, or full
            number = last[topic, partition] = len(batches)
            batches.append((topic, partition, producer.create_batch()))
            batches[number][2].append(**content)
        where.append((number, batches[number][2].record_count() - 1))
    futures = [await producer.send_batch(batch, topic, partition=partition) for topic, partition, batch in batches]
    for future in futures:
        future.add_done_callback(retrieve)
    first = [metadata.offset for metadata in await asyncio.gather(*futures)]
    return [Place(*batches[number][:2], first[number] + index) for number, index in where]
