"""Sending records as ready-made batches, one or few a partition, and waiting until the broker has them all."""

from __future__ import annotations

import asyncio
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.futures import retrieve
from worker.stream.errors import TOO_LARGE, RecordTooLargeError, stream_faults
from worker.stream.murmur2 import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from aiokafka import AIOKafkaProducer

_SLICE = 100  # records packed before the loop may turn


class Outgoing(NamedTuple):
    """A record to be published."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class Limits(dict[str, int]):
    """By topic: how large a batch of several records may be, in bytes before compression; learnt from refusals.

    One of a topic that is not named is as large as the producer makes them.
    """

    def shrink(self, error: RecordTooLargeError) -> None:
        """Halve what a topic refused."""
        self[error.topic] = error.size // 2


class Parcel(NamedTuple):
    """A batch of records for one partition.

    Attributes:
        builder: aiokafka's; what holds the records.
        first_value: The size of the first record's value, in bytes.
    """

    topic: str
    partition: int
    builder: Any
    first_value: int


class Parcels:
    """Batches of records, one or few a partition, those of a partition in their order.

    Each record is written into its batch at once, so that not all of them are held beside the batches.

    Args:
        producer: A started one.
        limits: How large batches may be.
        timeout_s: How long the broker may take to say how many partitions a topic has.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        limits: Mapping[str, int] = MappingProxyType({}),
        timeout_s: float | None = None,
    ) -> None:
        self._producer = producer
        self._limits = limits
        self._timeout_s = timeout_s
        self._counts: dict[str, int] = {}
        self._filling: dict[tuple[str, int], Any] = {}
        self.batches: list[Parcel] = []

    async def pack(self, records: Iterable[Outgoing]) -> None:
        """Add records; in slices, so that what else is under way goes on.

        Raises:
            StreamAwayError: The broker does not say how many partitions a topic has.
            StreamSetupError: It does not let us know.
        """
        coming = iter(records)
        while some := list(islice(coming, _SLICE)):
            for topic in {record.topic for record in some} - self._counts.keys():
                with stream_faults():  # around no more than this: what making a record raises is another matter
                    async with asyncio.timeout(self._timeout_s):
                        self._counts[topic] = len(await self._producer.partitions_for(topic))
            self._add(some)
            await asyncio.sleep(0)

    def _add(self, records: Sequence[Outgoing]) -> None:
        counts, filling, limits = self._counts, self._filling, self._limits
        for topic, key, value, headers in records:
            at = topic, partition_of(key, counts[topic]) if key is not None else 0
            builder = filling.get(at)
            if limits and builder is not None and builder.size() + len(value or b"") > limits.get(topic, inf):
                builder = None
            if builder is None or builder.append(timestamp=None, key=key, value=value, headers=headers) is None:  # full
                builder = filling[at] = self._producer.create_batch()
                self.batches.append(Parcel(*at, builder, len(value or b"")))
                builder.append(timestamp=None, key=key, value=value, headers=headers)


async def send(producer: AIOKafkaProducer, parcels: Parcels) -> None:
    """Send what was packed, and wait until every record is acknowledged.

    Raises:
        RecordTooLargeError: A topic does not take one of the batches for its size.
        KafkaError: The broker refuses one; some of the others may have been accepted.
    """
    sent: list[tuple[asyncio.Future[object], Parcel]] = []
    try:
        for parcel in parcels.batches:
            future = await producer.send_batch(parcel.builder, parcel.topic, partition=parcel.partition)
            sent.append((future, parcel))
        await _all_taken([future for future, _ in sent])
    except TOO_LARGE as error:
        raise _refused(sent) or error from error
    finally:
        # Whatever went wrong with one batch, the outcome of every other is retrieved, so that none is reported later.
        for future, _ in sent:
            future.add_done_callback(retrieve)


async def send_all(producer: AIOKafkaProducer, records: Iterable[Outgoing]) -> None:
    """Pack and send records; raises as both."""
    parcels = Parcels(producer)
    await parcels.pack(records)
    await send(producer, parcels)


async def _all_taken(futures: Sequence[asyncio.Future[object]]) -> None:
    """Wait for all, or for the first that fails, and raise what it failed with.

    Not by `gather`: when it is cancelled it cancels these, and nobody hears how the batches behind them end.
    """
    if futures:
        done, _ = await asyncio.wait(futures, return_when=asyncio.FIRST_EXCEPTION)
        for future in done:
            future.result()


def _refused(sent: Sequence[tuple[asyncio.Future[object], Parcel]]) -> RecordTooLargeError | None:
    """Say which batch was refused for its size; of several the one with the fewest records."""
    refused = [
        (parcel.builder.record_count(), parcel.builder.size(), parcel.topic, parcel.first_value)
        for future, parcel in sent
        if future.done() and not future.cancelled() and isinstance(future.exception(), TOO_LARGE)
    ]
    if not refused:
        return None
    count, size, topic, first_value = min(refused)
    return RecordTooLargeError(topic, count, size, first_value)
