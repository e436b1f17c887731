"""Sending records as ready-made batches, one or few a partition, and waiting until the broker has them all."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from aiokafka.partitioner import DefaultPartitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aiokafka import AIOKafkaProducer

_partition_of: Callable[..., int] = DefaultPartitioner()


class Outgoing(NamedTuple):
    """A record to be published."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@lru_cache(maxsize=200_000)
def partition_for(key: bytes | None, count: int) -> int:
    """Give the partition of a key as every Kafka client does by default (murmur2), out of `count`.

    Cached, since aiokafka computes it in Python and the same players come again and again.
    """
    partitions = list(range(count))
    return _partition_of(key, partitions, partitions)


async def send_all(producer: AIOKafkaProducer, records: Sequence[Outgoing]) -> None:
    """Send records, those of a partition in their order, and wait until every one is acknowledged.

    Raises:
        KafkaError: The broker refuses one; some of the others may have been accepted.
    """
    counts: dict[str, int] = {}
    sent: list[asyncio.Future[object]] = []
    builders: dict[tuple[str, int], Any] = {}
    try:
        for topic, key, value, headers in records:
            count = counts.get(topic)
            if count is None:
                count = counts[topic] = len(await producer.partitions_for(topic))
            at = (topic, partition_for(key, count) if key is not None else 0)
            builder = builders.get(at)
            if builder is None:
                builder = builders[at] = producer.create_batch()
            if builder.append(timestamp=None, key=key, value=value, headers=headers) is None:  # full
                sent.append(await producer.send_batch(builder, topic, partition=at[1]))
                builder = builders[at] = producer.create_batch()
                builder.append(timestamp=None, key=key, value=value, headers=headers)
        for (topic, partition), builder in builders.items():
            sent.append(await producer.send_batch(builder, topic, partition=partition))
        await asyncio.gather(*sent)
    finally:
        # Whatever went wrong with one batch, the outcome of every other is retrieved, so that none is reported later.
        for future in sent:
            future.add_done_callback(_retrieve)


def _retrieve(future: asyncio.Future[object]) -> None:
    if not future.cancelled():
        future.exception()
