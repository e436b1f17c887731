"""Publishing what a batch changed, in two modes of one shape: all but the commit comes before that of Postgres.

exactly-once:  begin = offsets into a Kafka transaction;  stage = records into it, flushed;  commit = end it.
at-least-once: begin = keep the offsets;  stage = keep the records;  commit = publish them, then commit the offsets.

In both, `pack` comes before `stage`: records become batches as fast as they are encoded.

The offsets go first, while the batch is rated: they are known, and the records could not go beside them. A broker that
is changing the transaction's state puts their records off with NotEnoughReplicas (KIP-890), for 100 ms.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from worker.settings import Delivery
from worker.stream import client
from worker.stream.errors import FENCED, BatchLostError, StreamAwayError, StreamSetupError, stream_faults
from worker.stream.outbox import Limits, Outgoing, Parcels, send

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    from worker.settings import Settings


class Publisher(Protocol):
    """What the pipeline asks of either mode.

    Attributes:
        limits: How large the batches for each topic may be.
    """

    limits: Limits

    async def start(self) -> None:
        """Connect, if that is not done. Raises StreamAwayError where the broker is away."""

    async def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Take the offsets of a batch, those of the next record of each partition; nothing is committed yet.

        Raises:
            BatchLostError: Another producer has our transactional id.
            StreamAwayError: The broker is away; call `abort`, then try the batch again.
        """

    async def pack(self, records: Iterable[Outgoing]) -> Parcels:
        """Put the records of a batch that was begun into parcels, each record as soon as it is made.

        Raises:
            BatchLostError: Another producer has our transactional id.
            StreamAwayError: The broker does not say how many partitions a topic has.
        """

    async def stage(self, parcels: Parcels) -> None:
        """Take the records of a batch that was begun; nothing is visible to a read_committed reader yet.

        Raises:
            BatchLostError: Another producer has our transactional id.
            RecordTooLargeError: A topic does not take one of the records.
            StreamAwayError: The broker is away; call `abort`, then try the batch again.
        """

    async def commit(self) -> None:
        """Make the staged records visible and the offsets committed.

        Raises:
            BatchLostError: Fenced, or the outcome is unknown.
            StreamAwayError: (at-least-once) not all was published; try the batch again.
        """

    @property
    def settled(self) -> bool:
        """Whether nothing of ours can become visible or committed any more without a new call."""

    async def abort(self) -> None:
        """Forget what is staged; afterwards the publisher is as new. Never raises for a broker that is away."""

    async def fence(self, owner: str) -> None:
        """End the open transaction of another worker's id for good, so that it can't commit any more."""

    async def stop(self) -> None:
        """Disconnect; tolerates a second call."""


def publisher(settings: Settings, consumer: AIOKafkaConsumer, limits: Limits | None = None) -> Publisher:
    """Make the publisher of the delivery mode that the settings ask for."""
    limits = Limits() if limits is None else limits
    if settings.delivery is Delivery.EXACTLY_ONCE:
        return ExactlyOncePublisher(settings, limits)
    return AtLeastOncePublisher(settings, consumer, limits)


class ExactlyOncePublisher:
    """Changes, dead letters and offsets in one Kafka transaction a batch."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self.limits = limits
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None
        self._open = False
        self._unknown = False
        self._broken = False

    @property
    def settled(self) -> bool:
        """False while a transaction is open, or one was told to commit and did not answer."""
        return not self._open and not self._unknown

    async def start(self) -> None:
        """Start a producer under our id; that ends whatever an earlier producer under the same id left open."""
        if self._producer is None:
            self._producer = await _started(self._settings, self._settings.transactional_id)
            self._open = self._unknown = self._broken = False

    async def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Open a transaction and add the offsets."""
        await self.start()
        async with self._changing() as producer:
            self._open = True
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction(dict(offsets), self._settings.consumer_group)

    async def pack(self, records: Iterable[Outgoing]) -> Parcels:
        """Put records into parcels."""
        if self._producer is None:
            raise _gone()
        return await _packed(self._producer, records, self.limits, self._settings.publish_timeout_s)

    async def stage(self, parcels: Parcels) -> None:
        """Flush the records into the transaction."""
        async with self._changing() as producer:
            await send(producer, parcels)

    async def commit(self) -> None:
        """End the transaction."""
        producer = self._producer
        if producer is None or not self._open:
            raise _gone()
        self._unknown = True  # until the broker has answered; also when this call is cancelled
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    await producer.commit_transaction()
        except StreamAwayError as error:
            await self._discard()
            raise _lost(error, self._settings) or BatchLostError(
                "commit-unknown", f"the Kafka commit may or may not have happened: {error}"
            ) from error
        self._open = self._unknown = False

    async def abort(self) -> None:
        """Abort the open transaction; where that fails, drop the producer: the next one's start aborts it."""
        if self._producer is None or not self._open:
            return
        if self._unknown or self._broken:
            # A commit may be under way, and only a new producer's start tells its end; or aiokafka counted sequence
            # numbers that the broker never took, and such a producer stays refused.
            await self._leave_open()
            return
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    await self._producer.abort_transaction()
            self._open = False
        except (StreamAwayError, StreamSetupError):
            await self._leave_open()

    async def fence(self, owner: str) -> None:
        """Start a producer under the other id and stop it: from then on the broker refuses the other's."""
        if (
            owner == self._settings.transactional_id
        ):  # another process under our id: a new producer of ours ends its own
            await self._discard()
            await self.start()
            return
        await client.discard(await _started(self._settings, owner))

    async def stop(self) -> None:
        """Stop the producer; an open transaction is aborted."""
        await self.abort()
        await self._discard()

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[AIOKafkaProducer]:
        """Change the open transaction within the publish timeout; a producer that failed at it is not used again."""
        if self._producer is None:
            raise _gone()
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    self._broken = True
                    yield self._producer
                    self._broken = False
        except StreamAwayError as error:
            raise await self._fenced_or(error) from error

    async def _fenced_or(self, error: StreamAwayError) -> Exception:
        lost = _lost(error, self._settings)
        if lost is None:
            return error
        await self._discard()
        return lost

    async def _leave_open(self) -> None:
        """Drop a producer whose transaction the broker still has: only the next start under its id ends that."""
        self._unknown = True
        await self._discard()

    async def _discard(self) -> None:
        producer, self._producer, self._open = self._producer, None, False
        if producer is not None:
            await client.discard(producer)


class AtLeastOncePublisher:
    """For brokers or operators without transactions: publish after the Postgres commit, then commit the offsets."""

    def __init__(self, settings: Settings, consumer: AIOKafkaConsumer, limits: Limits) -> None:
        self.limits = limits
        self._settings = settings
        self._consumer = consumer
        self._producer: AIOKafkaProducer | None = None
        self._staged: Parcels | None = None
        self._offsets: Mapping[TopicPartition, int] = {}

    @property
    def settled(self) -> bool:
        """Always true: without transactions, what a zombie publishes are repeats under the same event ids."""
        return True

    async def start(self) -> None:
        """Start an idempotent producer."""
        if self._producer is None:
            self._producer = await _started(self._settings, None)

    async def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Keep the offsets for the commit."""
        self._offsets = offsets

    async def pack(self, records: Iterable[Outgoing]) -> Parcels:
        """Put records into parcels."""
        await self.start()
        assert self._producer is not None  # noqa: S101 - for the type checker: start() just set it
        return await _packed(self._producer, records, self.limits, self._settings.publish_timeout_s)

    async def stage(self, parcels: Parcels) -> None:
        """Keep the records for the commit."""
        self._staged = parcels

    async def commit(self) -> None:
        """Publish, wait for all replicas, then commit the offsets."""
        await self.start()
        assert self._producer is not None  # noqa: S101 - for the type checker: start() just set it
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    if self._staged is not None:
                        await send(self._producer, self._staged)
        except BaseException:
            await self.stop()  # what it still holds would be sent beside the second try
            raise
        self._staged = None
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.publish_timeout_s):
                    await self._consumer.commit(dict(self._offsets))
        except StreamAwayError as error:
            # The group moved on, or the broker is away: either way the records come again and are published again,
            # under the same event ids.
            raise BatchLostError("commit-unknown", f"the offsets may not be committed: {error}") from error

    async def abort(self) -> None:
        """Forget the staged records."""
        self._staged = None

    async def fence(self, owner: str) -> None:
        """Do nothing: without transactions there is nothing to fence; a zombie can publish again what it had rated."""

    async def stop(self) -> None:
        """Stop the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await client.discard(producer)


def _gone() -> BatchLostError:
    return BatchLostError("fenced", "the transaction of this batch is gone")


async def _packed(producer: AIOKafkaProducer, records: Iterable[Outgoing], limits: Limits, timeout_s: float) -> Parcels:
    parcels = Parcels(producer, limits, timeout_s)
    await parcels.pack(records)
    return parcels


def _lost(error: StreamAwayError, settings: Settings) -> BatchLostError | None:
    """Tell whether a fault is that of a fenced producer."""
    if isinstance(error.__cause__, FENCED):
        return BatchLostError("fenced", f"another producer was started under {settings.transactional_id}")
    return None


async def _started(settings: Settings, transactional_id: str | None) -> AIOKafkaProducer:
    producer = client.producer(settings, transactional_id)
    try:
        with stream_faults():
            async with asyncio.timeout(settings.publish_timeout_s):
                await producer.start()
    except BaseException:
        await client.discard(producer)
        raise
    return producer
