"""Kafka as the benchmark sees it, by an independent client: feeding, the starting gun, and when all is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupState,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.benchmarks.stream import Record

_TIMEOUT_S = 60
_SHORT_S = 3
_FLUSH_S = 600
_CHUNK = 5_000


class BrokerError(Exception):
    """Kafka did not do what the benchmark needs."""


class Gun:
    """Records that lie in a topic and can't be seen yet: one transaction, whose commit starts the clock.

    So every record is produced beforehand, every contender is connected, assigned and waiting, and no process start-up,
    group join or first connection is in the measured time.
    """

    def __init__(self, bootstrap: str, topic: str, records: Iterable[Record]) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"{topic}.gun",
                "transaction.timeout.ms": 900_000,
                "linger.ms": 20,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        self._producer.init_transactions(_TIMEOUT_S)
        self._producer.begin_transaction()
        _send(self._producer, topic, records)

    def fire(self) -> None:
        """Let all be seen at once."""
        self._producer.commit_transaction(_TIMEOUT_S)


def plain_producer(bootstrap: str) -> Any:
    """Make a producer that sends at once and waits for all replicas."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 0,
            "partitioner": "murmur2_random",
        }
    )


def send(bootstrap: str, topic: str, records: Iterable[Record]) -> None:
    """Produce records that can be seen at once; returns when all are acknowledged."""
    _send(plain_producer(bootstrap), topic, records)


class Watch:
    """Looks at one consumer group on one input topic, and at the topic that it publishes to."""

    def __init__(self, bootstrap: str, group: str, source: str, target: str) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._target = target
        # read_uncommitted: what lies hidden counts, and asking for offsets never waits for a transaction.
        self._client = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "isolation.level": "read_uncommitted"}
        )
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._inputs = self._partitions(source)
        self._outputs = self._partitions(target)
        self._ends: dict[int, int] = {}

    def note_ends(self) -> None:
        """Take the present ends of the input topic for where the group has to come to."""
        for at in self._inputs:
            _, self._ends[at.partition] = self._client.get_watermark_offsets(at, timeout=_TIMEOUT_S)

    def left(self) -> int:
        """Count the records up to the noted ends that the group has not committed."""
        committed = self._client.committed(self._inputs, timeout=_TIMEOUT_S)
        return sum(max(0, self._ends[at.partition] - max(at.offset, 0)) for at in committed)

    def members(self) -> int:
        """Count the group's members, when each has its partitions; 0 while it is forming."""
        asked = self._admin.describe_consumer_groups([self._group], request_timeout=_SHORT_S)
        try:
            described = asked[self._group].result()
        except KafkaException:  # the broker is still finding out who looks after the group
            return 0
        return len(described.members) if described.state == ConsumerGroupState.STABLE else 0

    def published(self) -> bool:
        """Tell whether a read_committed reader sees the output topic to its end: no transaction is open."""
        latest: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        seen, there = (
            self._admin.list_offsets(dict.fromkeys(self._outputs, latest), isolation_level=level)
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
        return all(seen[at].result().offset == there[at].result().offset for at in self._outputs)

    def count_published(self) -> int:
        """Count the records of the output topic that a read_committed reader gets."""
        reader = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": f"{self._group}.count",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        count, ended = 0, 0
        try:
            reader.assign([TopicPartition(self._target, at.partition, OFFSET_BEGINNING) for at in self._outputs])
            while ended < len(self._outputs):
                for message in reader.consume(1000, 0.2):
                    if message.error() is None:
                        count += 1
                    else:
                        ended += 1  # the end of a partition: what else can go wrong is retried inside
        finally:
            reader.close()
        return count

    def close(self) -> None:
        """Disconnect."""
        self._client.close()

    def _partitions(self, topic: str) -> list[TopicPartition]:
        numbers = self._client.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
        return [TopicPartition(topic, number) for number in sorted(numbers)]


def delete_topics(bootstrap: str, topics: Iterable[str]) -> None:
    """Delete topics that are not needed any more."""
    for done in AdminClient({"bootstrap.servers": bootstrap}).delete_topics(list(topics)).values():
        done.result(_TIMEOUT_S)


def _send(producer: Any, topic: str, records: Iterable[Record]) -> None:
    errors: list[Any] = []

    def note(error: Any, _message: Any) -> None:
        if error:
            errors.append(error)

    for number, record in enumerate(records, 1):
        while True:
            try:
                producer.produce(topic, record.value, record.key, on_delivery=note)
                break
            except BufferError:  # its queue is full
                producer.poll(0.1)
        if number % _CHUNK == 0:
            producer.poll(0)
    if producer.flush(_FLUSH_S) or errors:
        raise BrokerError(f"not everything was taken: {errors[:1]}")
