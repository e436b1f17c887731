"""Kafka by an independent client (librdkafka): what the worker's own client says of itself is not believed here."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.support.waiting import until
from worker.events import encode_match, pair_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from worker.rating.model import Match
    from worker.settings import Settings

_TIMEOUT_S = 30
_STABLE_TRIES = 20


class Raw(NamedTuple):
    """A record as it is sent or as it was read."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int = -1
    offset: int = -1

    def json(self) -> Any:
        """Parse the value."""
        assert self.value is not None
        return json.loads(self.value)

    def header(self, name: str) -> str | None:
        """Give the last header of a name as text."""
        return next((value.decode() for key, value in reversed(self.headers) if key == name), None)


def record_of(match: Match) -> Raw:
    """Give the record that a well-behaved backend sends for a match."""
    return Raw(pair_key(match.pool, *(side.id for side in match.sides)), encode_match(match))


async def produce(
    settings: Settings, records: Iterable[Raw], topic: str | None = None, *, transaction: str | None = None
) -> int:
    """Send records to the match topic, or to another; gives how many, once all are acknowledged.

    Args:
        settings: Name broker and topic.
        records: What to send.
        topic: Another than the match topic.
        transaction: `commit` or `abort`: send them in a transaction that ends so.
    """

    def send() -> int:
        errors: list[Any] = []
        producer = Producer(
            {
                "bootstrap.servers": settings.kafka_bootstrap,
                "enable.idempotence": True,
                **({} if transaction is None else {"transactional.id": secrets.token_hex(4)}),
                "linger.ms": 5,
                "partitioner": "murmur2_random",
                "message.max.bytes": 2_000_000,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        if transaction is not None:
            producer.init_transactions(_TIMEOUT_S)
            producer.begin_transaction()
        count = 0
        for record in records:
            placed: dict[str, Any] = {} if record.partition < 0 else {"partition": record.partition}
            producer.produce(
                topic or settings.match_topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=lambda error, _message: errors.append(error) if error else None,
                **placed,
            )
            count += 1
            if count % 1000 == 0:
                producer.poll(0)
        assert producer.flush(_TIMEOUT_S) == 0, "the broker did not take everything"
        assert not errors, errors[:3]
        if transaction is not None:
            getattr(producer, f"{transaction}_transaction")(_TIMEOUT_S)
        return count

    return await asyncio.to_thread(send)


async def read_all(settings: Settings, topic: str) -> list[Raw]:
    """Read a topic from its beginning to its stable end, as a read_committed consumer sees it.

    A broker answers a commit before readers see what it brought: where the stable end is not the end yet, it is read
    again a moment later; not for long, since a transaction may stay open.
    """

    def read() -> tuple[list[Raw], bool]:
        consumer = Consumer(
            {
                "bootstrap.servers": settings.kafka_bootstrap,
                "group.id": "independent-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        try:
            partitions = list(consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            records: list[Raw] = []
            ended: dict[int, int] = {}
            while ended.keys() != set(partitions):
                message = consumer.poll(_TIMEOUT_S)
                assert message is not None, f"{topic} did not come to its end"
                error = message.error()
                if error is None:
                    records.append(
                        Raw(
                            message.key(),
                            message.value(),
                            _headers(message),
                            message.partition() or 0,
                            message.offset() or 0,
                        )
                    )
                else:
                    assert error.name() == "_PARTITION_EOF", error
                    ended[message.partition() or 0] = message.offset() or 0
            ends = _ends(settings, topic, partitions)
            return records, all(offset >= ends[number] for number, offset in ended.items())
        finally:
            consumer.close()

    for _ in range(_STABLE_TRIES):
        records, complete = await asyncio.to_thread(read)
        if complete:
            break
    return records


def _ends(settings: Settings, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Give the high watermark of each partition, open transactions included."""
    consumer = Consumer(
        {
            "bootstrap.servers": settings.kafka_bootstrap,
            "group.id": "independent-reader",
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_TIMEOUT_S)[1]
            for number in partitions
        }
    finally:
        consumer.close()


def _headers(message: Any) -> tuple[tuple[str, bytes], ...]:
    return tuple(message.headers() or ())


Lag = Callable[[], Awaitable[int]]


@asynccontextmanager
async def lag_of(settings: Settings, topics: Sequence[str] = ()) -> AsyncIterator[Lag]:
    """Give a way to ask again and again how many records of the match topic, or of others, are not committed.

    The end of a partition is its high watermark; where the topic was written by transactions it would include markers,
    which most of these tests' producers don't write. Asking raises KafkaException while the broker is away, or is still
    electing its coordinators.
    """
    consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": settings.consumer_group})

    def behind() -> int:
        known = consumer.list_topics(timeout=_TIMEOUT_S).topics
        all_of_them = [
            TopicPartition(topic, number)
            for topic in topics or (settings.match_topic,)
            for number in known[topic].partitions
        ]
        left = 0
        for at in consumer.committed(all_of_them, timeout=_TIMEOUT_S):
            _low, end = consumer.get_watermark_offsets(TopicPartition(at.topic, at.partition), timeout=_TIMEOUT_S)
            left += end - max(at.offset, 0)
        return left

    try:
        yield lambda: asyncio.to_thread(behind)
    finally:
        await asyncio.to_thread(consumer.close)


async def uncommitted(settings: Settings, topics: Sequence[str] = ()) -> int:
    """Give how many records of the match topic, or of other topics, the worker's group has not committed.

    Raises:
        KafkaException: The broker is away, or is still electing its coordinators.
    """
    async with lag_of(settings, topics) as lag:
        return await lag()


async def reset_offsets(settings: Settings, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets for the worker's group, as an operator does while no worker runs.

    Args:
        settings: Name broker and group.
        offsets: The next offset of each topic and partition.
    """

    def commit() -> None:
        consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": settings.consumer_group})
        try:
            wanted = [TopicPartition(*at, offset) for at, offset in offsets.items()]
            consumer.commit(offsets=wanted, asynchronous=False)
        finally:
            consumer.close()

    await asyncio.to_thread(commit)


async def until_all_committed(
    settings: Settings, timeout_s: float = 120, topics: Sequence[str] = (), *, but: int = 0
) -> None:
    """Wait until the worker's group has committed all records of the match topic, or of other topics, `but` so many."""
    left: int | KafkaException = -1
    async with lag_of(settings, topics) as lag:

        async def done() -> bool:
            nonlocal left
            try:
                left = await lag()
            except KafkaException as error:
                left = error
                return False
            return left <= but

        await until(done, timeout_s, lambda: f"{left} records are not committed")
