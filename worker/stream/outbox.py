"""Sending records as ready-made batches, one or few a partition, and waiting until the broker has them all."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.futures import retrieve
from worker.stream.errors import TOO_LARGE, RecordTooLargeError
from worker.stream.murmur2 import partition_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiokafka import AIOKafkaProducer


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


async def send_all(
    producer: AIOKafkaProducer, records: Sequence[Outgoing], limits: Mapping[str, int] = MappingProxyType({})
) -> None:
    """Send records, those of a partition in their order, and wait until every one is acknowledged.

    Args:
        producer: A started one.
        records: What to send.
        limits: How large batches may be.

    Raises:
        RecordTooLargeError: A topic does not take one of the batches for its size.
        KafkaError: The broker refuses one; some of the others may have been accepted.
    """
    counts: dict[str, int] = {}
    sent: list[tuple[asyncio.Future[object], str, Any]] = []
    builders: dict[tuple[str, int], Any] = {}

    async def send(at: tuple[str, int], builder: Any) -> None:
        topic, partition = at
        sent.append((await producer.send_batch(builder, topic, partition=partition), topic, builder))

    try:
        for topic, key, value, headers in records:
            count = counts.get(topic)
            if count is None:
                count = counts[topic] = len(await producer.partitions_for(topic))
            at = (topic, partition_of(key, count) if key is not None else 0)
            builder = builders.get(at)
            if builder is not None and topic in limits and builder.size() + len(value or b"") > limits[topic]:
                await send(at, builder)
                builder = None
            if builder is None:
                builder = builders[at] = producer.create_batch()
            if builder.append(timestamp=None, key=key, value=value, headers=headers) is None:  # full
                await send(at, builder)
                builder = builders[at] = producer.create_batch()
                builder.append(timestamp=None, key=key, value=value, headers=headers)
        for at, builder in builders.items():
            await send(at, builder)
        await _all_taken([future for future, _, _ in sent])
    except TOO_LARGE as error:
        raise _refused(sent, records) or error from error
    finally:
        # Whatever went wrong with one batch, the outcome of every other is retrieved, so that none is reported later.
        for future, _, _ in sent:
            future.add_done_callback(retrieve)


async def _all_taken(futures: Sequence[asyncio.Future[object]]) -> None:
    """Wait for all, or for the first that fails, and raise what it failed with.

    Not by `gather`: when it is cancelled it cancels these, and nobody hears how the batches behind them end.
    """
    if futures:
        done, _ = await asyncio.wait(futures, return_when=asyncio.FIRST_EXCEPTION)
        for future in done:
            future.result()


def _refused(
    sent: Sequence[tuple[asyncio.Future[object], str, Any]], records: Sequence[Outgoing]
) -> RecordTooLargeError | None:
    """Say which batch was refused for its size; of several the one with the fewest records."""
    refused = [
        (builder.record_count(), builder.size(), topic)
        for future, topic, builder in sent
        if future.done() and not future.cancelled() and isinstance(future.exception(), TOO_LARGE)
    ]
    if not refused:
        return None
    count, size, topic = min(refused)
    largest = max(len(record.value or b"") for record in records if record.topic == topic)
    return RecordTooLargeError(topic, count, size, largest)
