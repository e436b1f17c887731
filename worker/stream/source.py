"""Reading matches, verdicts and tournaments: which partitions are ours, from where, and the next batch of records.

aiokafka's rebalance callbacks run beside `getmany`, and its own reset of positions can come after a seek. So positions
are ours: the callbacks only note that the assignment changed, and before the next record is taken the partitions are
claimed, the committed offsets read and sought. A batch that was fetched under another assignment is dropped, and
records below the next expected offset are skipped; both are counted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog
from aiokafka import ConsumerRebalanceListener, TopicPartition

from worker.ops.metrics import Dropped
from worker.stream import client
from worker.stream.batch import Batch
from worker.stream.diagnosis import reworded
from worker.stream.errors import StreamAwayError, StreamSetupError, stream_faults
from worker.stream.lenient import be_lenient
from worker.stream.positions import committed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from aiokafka import AIOKafkaConsumer
    from aiokafka.structs import ConsumerRecord

    from worker.ops.metrics import Metrics
    from worker.settings import Settings

_log = structlog.get_logger(__name__)
_PIECES = 8  # in which a batch is fetched at least, when its records are large
_LARGEST_PIECE = 250
_SINCE_MS = 5  # for one fetch of what has come while the batch before was worked on: it takes 1 or 2


class Source(ConsumerRebalanceListener):  # type: ignore[misc]
    """The topics that are read, as this worker sees them.

    Args:
        settings: The worker's.
        metrics: Where lag, rebalances and dropped records are counted.
        take: Claims partitions; runs before any record of them is taken, again after every reset.
        release: Gives the claims up; runs on an orderly revocation, after the batch in flight is done.

    Attributes:
        in_backlog: Whether more records waited than the latest batch could hold.
    """

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        *,
        take: Callable[[Iterable[tuple[str, int]]], Awaitable[None]],
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self.consumer: AIOKafkaConsumer = client.consumer(settings)
        self._settings = settings
        self._metrics = metrics
        self._take = take
        self._release = release
        self.in_backlog = False
        self._epoch = 0
        self._prepared_epoch = -1
        self._between = False
        self._piece = _LARGEST_PIECE
        self._handed_out: dict[TopicPartition, int] = {}  # in batches done or in hand
        self._done: dict[TopicPartition, int] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._claiming = asyncio.Lock()

    async def start(self) -> None:
        """Join the group. Raises StreamAwayError where the broker is away."""
        with stream_faults():
            await self.consumer.start()
        self.consumer.subscribe(self._settings.input_topics, listener=self)

    async def stop(self) -> None:
        """Give the claims up and leave the group; the batch in flight is done by now."""
        self._idle.set()
        self._epoch += 1
        try:
            async with self._claiming:
                await self._release()
        finally:
            self._metrics.held(())
            await client.leave(self.consumer)

    def holds(self, epoch: int) -> bool:
        """Tell whether the partitions are still assigned as they were when a batch of that epoch was fetched."""
        return epoch == self._epoch

    def reset(self) -> None:
        """Forget the positions: they are read from the committed offsets before the next record is taken."""
        self._prepared_epoch = -1

    def done(self, batch: Batch) -> None:
        """Note that the batch is committed: the next one starts after it."""
        if self.holds(batch.epoch):
            self._done.update(batch.offsets)

    async def next_batch(self) -> Batch | None:
        """Fetch the next records, or None where none came within the poll's wait.

        The batch before it counts as done (or dropped) when this is called.

        Raises:
            StreamAwayError, asyncpg.PostgresError, OSError: Claims, positions or records can't be had now.
        """
        self._idle.set()
        if self._between:  # revoked and not assigned yet: aiokafka still names the old partitions, and none is ours
            await asyncio.sleep(self._settings.batch_max_wait_ms / 1000)
            with stream_faults():  # aiokafka stops joining at a fault until somebody asks for it, as `getmany` would
                self.consumer._coordinator.check_errors()  # noqa: SLF001 - nothing public asks without waiting
            return None
        if self._prepared_epoch != self._epoch:
            await self._prepare()
        batch = await self._read(self._settings.batch_max_wait_ms)
        if batch is not None:
            self._idle.clear()
        return batch

    async def batch_ahead(self) -> Batch | None:
        """Fetch the records after those of the batch in hand, without waiting for any; None where that can't be now.

        Raises:
            StreamAwayError: Records can't be had now.
        """
        return await self._read(0) if self._ready else None

    def take_up(self, batch: Batch) -> bool:
        """Begin with a batch that was fetched ahead; False where it holds no more and is dropped.

        The batch before it counts as done (or dropped) when this is called.
        """
        self._idle.set()
        if self._ready and self.holds(batch.epoch):
            self._idle.clear()
            return True
        self._metrics.dropped(Dropped.STALE_EPOCH, len(batch.records))
        self.reset()
        return False

    @property
    def _ready(self) -> bool:
        """Whether the positions are those of the assignment, and no revocation waits for the batch in hand."""
        return self._prepared_epoch == self._epoch and not self._between

    async def _read(self, timeout_ms: int) -> Batch | None:
        """Fetch the next records of partitions whose positions are set."""
        epoch = self._epoch
        try:
            fetched, full = await self._fetch(timeout_ms)
        except BaseException:
            self.reset()  # what was taken from other partitions before the fault is not given out again
            raise
        if epoch != self._epoch or epoch != self._prepared_epoch:
            self._metrics.dropped(Dropped.STALE_EPOCH, sum(map(len, fetched.values())))
            self.reset()
            return None
        records: list[ConsumerRecord[bytes, bytes]] = []
        offsets: dict[TopicPartition, int] = {}
        for partition, its_records in fetched.items():
            expected = self._handed_out.get(partition, 0)
            fresh = [record for record in its_records if record.offset >= expected]
            self._metrics.dropped(Dropped.BELOW_POSITION, len(its_records) - len(fresh))
            if fresh:
                records += fresh
                offsets[partition] = fresh[-1].offset + 1
        if not records:
            self.in_backlog = False
            return None
        self._handed_out.update(offsets)
        self.in_backlog = full
        return Batch(records, offsets, epoch, full)

    async def probe(self) -> None:
        """Ask the brokers where our partitions end, and report the lag of each.

        Raises:
            StreamAwayError: They don't answer, or let us in no more: says why, if that can be found out.
        """
        try:
            with stream_faults():
                async with asyncio.timeout(self._settings.kafka_request_timeout_s):
                    epoch, offsets = self._epoch, dict(self._done)
                    # Without a partition, any answer of the cluster will do.
                    ends = await self.consumer.end_offsets(list(offsets)) if offsets else await self.consumer.topics()
        except (
            StreamSetupError
        ) as error:  # a right that was taken away may be given back: the loop decides, not a probe
            raise StreamAwayError(str(error)) from error
        except StreamAwayError as error:
            raise await reworded(self._settings, error) from error
        if epoch == self._epoch and offsets:
            for partition, offset in offsets.items():
                self._metrics.lag(partition.topic, partition.partition, max(0, ends[partition] - offset))

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Let the batch in flight be finished, then give the claims up, so that nobody need fence this worker."""
        self._between = True  # nothing new is begun
        if not revoked:
            return
        try:
            # Half of what the group waits: the rest is for the release and for joining again.
            async with asyncio.timeout(self._settings.revocation_wait_s):
                await self._idle.wait()
        except TimeoutError:
            # Its claims stay: whoever takes the partitions fences this worker, and the batch is dropped.
            _log.warning("the batch in flight outlasts the rebalance; whoever takes the partitions fences this worker")
            self._forget()
            return
        self._forget()
        async with self._claiming:
            try:
                await self._release()
            except Exception as error:  # noqa: BLE001 - whoever takes over will fence this worker; nothing is lost
                _log.warning("the claims could not be released", error=repr(error))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Note the new assignment; it is prepared before the next record is taken."""
        self._between = False
        self._epoch += 1
        self._metrics.assigned([(partition.topic, partition.partition) for partition in assigned])
        by_topic: dict[str, list[int]] = {}
        for partition in sorted(assigned):
            by_topic.setdefault(partition.topic, []).append(partition.partition)
        _log.info("partitions assigned", count=len(assigned), partitions=by_topic)

    async def _prepare(self) -> None:
        """Claim the assigned partitions, then seek each to its committed offset."""
        async with self._claiming:
            epoch = self._epoch
            assigned = self.consumer.assignment()
            if assigned:
                await self._take((partition.topic, partition.partition) for partition in assigned)
                # Read after the claim: only now can nobody else commit any more.
                with stream_faults():
                    async with asyncio.timeout(self._settings.publish_timeout_s):  # aiokafka would try for ever
                        offsets = await self._committed(assigned)
                if epoch != self._epoch:
                    return
                for partition, offset in offsets.items():
                    self.consumer.seek(partition, offset)
                self._done, self._handed_out = offsets, dict(offsets)
            self._prepared_epoch = epoch

    async def _committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Give the offsets that the group has committed, the first of a partition where it never did."""
        said = await committed(self.consumer, self._settings.consumer_group, sorted(partitions))
        unread = [partition for partition, offset in said.items() if offset is None]
        first: dict[TopicPartition, int] = await self.consumer.beginning_offsets(unread) if unread else {}
        return {partition: first[partition] if offset is None else offset for partition, offset in said.items()}

    async def _fetch(self, timeout_ms: int) -> tuple[dict[TopicPartition, list[Any]], bool]:
        """Fetch what is there, up to the limits of a batch, and tell whether those cut it off."""
        try:
            return await self._fetch_in_pieces(timeout_ms)
        except UnicodeDecodeError as error:
            _log.warning("a record has a header name that isn't UTF-8; such names are read as they are", why=str(error))
            be_lenient()
            self.reset()  # what was taken from other partitions before it comes again
            return {}, False

    async def _fetch_in_pieces(self, timeout_ms: int) -> tuple[dict[TopicPartition, list[Any]], bool]:
        """Fetch a batch piece by piece, so that large records, which may have come compressed, don't pile up."""
        fetched: dict[TopicPartition, list[Any]] = {}
        count = size = wait_ms = 0
        waited = timeout_ms == 0
        while count < self._settings.batch_max_records and size < self._settings.batch_max_bytes:
            asked = min(self._piece, self._settings.batch_max_records - count)
            with stream_faults():
                piece = await self.consumer.getmany(timeout_ms=wait_ms, max_records=asked)
            piece_count = piece_size = 0
            for partition, records in piece.items():
                fetched.setdefault(partition, []).extend(records)
                piece_count += len(records)
                piece_size += sum(len(record.value or b"") for record in records)
            count, size = count + piece_count, size + piece_size
            self._piece = _next_piece(self._piece, piece_size, self._settings.batch_max_bytes)
            wait_ms = 0
            if piece_count < asked:  # that was all that is here
                if waited:
                    return fetched, False
                # aiokafka fetched it when the batch before was begun, and fetches nothing more until it is taken: what
                # has come since is at the broker still, and would wait there for as long as this batch takes.
                waited, wait_ms = True, min(_SINCE_MS, timeout_ms) if count else timeout_ms
        return fetched, True

    def _forget(self) -> None:
        """Forget an assignment: what was fetched under it is dropped."""
        self._between = True
        self._epoch += 1
        self._done.clear()
        self._handed_out.clear()
        self._metrics.held(())


def _next_piece(piece: int, size: int, limit: int) -> int:
    """Give how many records to ask for next, so that a piece is a small part of the limit: fewer, or slowly more."""
    if size * _PIECES > limit:
        return max(1, piece * limit // (size * _PIECES))
    return min(piece * 2, _LARGEST_PIECE)
