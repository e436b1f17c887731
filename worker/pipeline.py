"""The loop: fetch a batch, apply it to the ledger, publish what it changed, commit the offsets.

Exactly once from event to rating change rests on three things, each in its own place: the ledger knows every match and
where it came from (`ledger.transaction`); the records of a batch and its offsets are one Kafka transaction, flushed
before the Postgres commit and committed after it (`stream.publisher`); whoever takes a partition first fences the one
who held it (`ledger.claims`). This file only puts them in order.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from aiokafka.errors import KafkaError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from worker import __version__
from worker.events import BadEventError, Reject, dead_letter_headers, decode_match, encode_change
from worker.ledger.errors import PASSING_FAULTS as LEDGER_FAULTS
from worker.ledger.errors import ClaimLostError, kind_of
from worker.ledger.values import Applied, Arrival, Origin, Refusal
from worker.ops.health import Component
from worker.ops.metrics import Duplicate, Retry, Stage
from worker.rating.errors import UnknownPoolError
from worker.stream.errors import PASSING_FAULTS as STREAM_FAULTS
from worker.stream.errors import BatchLostError
from worker.stream.outbox import Outgoing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aiokafka.structs import ConsumerRecord

    from worker.ledger.ledger import Ledger
    from worker.ops.health import Health
    from worker.ops.metrics import Metrics
    from worker.settings import Settings
    from worker.stream.publisher import Publisher
    from worker.stream.source import Batch, Source

_log = structlog.get_logger(__name__)

PASSING_FAULTS = LEDGER_FAULTS + STREAM_FAULTS


class Pipeline:
    """One worker's loop over its partitions. Everything that it works with is handed in, started."""

    def __init__(
        self,
        settings: Settings,
        source: Source,
        ledger: Ledger,
        publisher: Publisher,
        metrics: Metrics,
        health: Health,
    ) -> None:
        self._settings = settings
        self._source = source
        self._ledger = ledger
        self._publisher = publisher
        self._metrics = metrics
        self._health = health
        self._max_ahead = timedelta(seconds=settings.max_future_s)
        self._stop = asyncio.Event()
        self.totals: Counter[str] = Counter()

    def stop(self) -> None:
        """Ask the loop to end after the batch in hand."""
        self._stop.set()
        self._health.stopping()

    async def run(self) -> None:
        """Work until `stop` is called. What passes by itself is waited for; anything else is raised."""
        while not self._stop.is_set():
            try:
                batch = None
                async for attempt in self._retrying():
                    with attempt, self._metrics.stage(Stage.FETCH):
                        batch = await self._source.next_batch()
                self._well()
                if batch is not None:
                    with self._metrics.batch(len(batch.records)):
                        await self._finish(batch)
            except (BatchLostError, ClaimLostError) as lost:
                self._drop(lost)

    async def _finish(self, batch: Batch) -> None:
        """Process a batch until it is committed; give it up only when it is not ours any more, or at a stop."""
        async for attempt in self._retrying(batch):
            with attempt:
                try:
                    await self._process(batch)
                except BaseException:
                    await self._publisher.abort()
                    raise

    async def _process(self, batch: Batch) -> None:
        """Take a batch from records to committed offsets."""
        with self._metrics.stage(Stage.DECODE):
            arrivals, refusals = self._decode(batch.records)
        with self._metrics.stage(Stage.TRANSACTION):
            async with self._ledger.transaction(batch.partitions) as transaction:
                applied = await transaction.apply(arrivals)
                applied.refusals += refusals
                with self._metrics.stage(Stage.PUBLISH):
                    await self._publisher.stage(list(self._outgoing(batch, applied)))
        with self._metrics.stage(Stage.COMMIT_KAFKA):
            await self._publisher.commit(batch.offsets)
        self._source.done(batch)
        self._count(batch, arrivals, applied)

    def _decode(self, records: Iterable[ConsumerRecord[bytes, bytes]]) -> tuple[list[Arrival], list[Refusal]]:
        now = datetime.now(UTC)
        arrivals: list[Arrival] = []
        refusals: list[Refusal] = []
        for record in records:
            origin = Origin(record.topic, record.partition, record.offset)
            try:
                event = decode_match(
                    record.value,
                    record.headers,
                    now=now,
                    max_bytes=self._settings.max_event_bytes,
                    max_ahead=self._max_ahead,
                )
                self._ledger.policies.at(event.match.pool, event.match.finished_at)
                arrivals.append(Arrival(origin, event))
            except BadEventError as bad:
                refusals.append(Refusal(origin, bad.reason, bad.detail))
            except UnknownPoolError as unknown:
                refusals.append(Refusal(origin, Reject.UNKNOWN_POOL, str(unknown)))
        return arrivals, refusals

    def _outgoing(self, batch: Batch, applied: Applied) -> Iterator[Outgoing]:
        """Give the records to publish: each change, then each dead letter with its original bytes."""
        topic = self._settings.rating_topic
        for change, traceparent in applied.publications:
            encoded = encode_change(change, traceparent=traceparent)
            yield Outgoing(topic, encoded.key, encoded.value, encoded.headers)
        if not applied.refusals:
            return
        originals = {(record.topic, record.partition, record.offset): record for record in batch.records}
        failed_at = datetime.now(UTC)
        for origin, reason, detail in applied.refusals:
            record = originals[origin]
            headers = dead_letter_headers(
                record.headers,
                reason=reason,
                detail=detail,
                topic=origin.topic,
                partition=origin.partition,
                offset=origin.offset,
                timestamp_ms=record.timestamp,
                group=self._settings.consumer_group,
                failed_at=failed_at,
                worker_version=__version__,
            )
            yield Outgoing(self._settings.dead_letter_topic, record.key, record.value, headers)

    def _count(self, batch: Batch, arrivals: list[Arrival], applied: Applied) -> None:
        metrics = self._metrics
        metrics.rated(applied.rated)
        for reason, count in applied.unrated.items():
            metrics.unrated(reason, count)
        metrics.duplicates(Duplicate.REDELIVERED, applied.redelivered)
        metrics.duplicates(Duplicate.RESENT, applied.resent)
        refused = Counter(refusal.reason for refusal in applied.refusals)
        for reject, count in refused.items():
            metrics.dead_lettered(reject, count)
        metrics.published(len(applied.publications))
        metrics.changes(publication.change for publication in applied.publications)
        for stage, seconds in applied.seconds.items():
            metrics.took(Stage(stage), seconds)
        metrics.acknowledged(
            [arrival.event.match.finished_at for arrival in arrivals],
            [record.timestamp for record in batch.records],
            now_s=time.time(),
        )
        self.totals.update(
            records=len(batch.records),
            batches=1,
            rated=applied.rated,
            unrated=applied.unrated.total(),
            redelivered=applied.redelivered,
            resent=applied.resent,
            dead_lettered=len(applied.refusals),
            published=len(applied.publications),
        )
        self._well()
        _log.debug("batch done", records=len(batch.records), rated=applied.rated, dead_letters=dict(refused))

    def _drop(self, lost: BatchLostError | ClaimLostError) -> None:
        """Go on from the committed offsets: the records of the batch come again, to us or to whoever has them now."""
        kind = lost.kind if isinstance(lost, BatchLostError) else "claim-lost"
        if isinstance(lost, ClaimLostError):
            self._metrics.lost_claim()
        _log.warning("batch dropped", kind=kind, why=str(lost))
        self._health.progress()
        self._source.reset()

    def _retrying(self, batch: Batch | None = None) -> AsyncRetrying:
        """Try again, with jittered backoff, what passes by itself, while there is a point in it."""

        def pointless(state: RetryCallState) -> bool:  # noqa: ARG001 - tenacity's signature
            return self._stop.is_set() or (batch is not None and not self._source.holds(batch))

        return AsyncRetrying(
            retry=retry_if_exception_type(PASSING_FAULTS),
            wait=wait_random_exponential(multiplier=0.05, max=self._settings.retry_max_wait_s),
            stop=pointless,
            before_sleep=self._unwell,
            sleep=self._pause,
            retry_error_callback=_give_up,
        )

    async def _pause(self, seconds: float) -> None:
        """Wait, but not on after a stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            pass

    def _unwell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is None:
            return
        component = Component.KAFKA if isinstance(error, KafkaError) else Component.DATABASE
        kind = Retry.KAFKA if component is Component.KAFKA else Retry(kind_of(error))
        self._metrics.retried(kind)
        self._health.progress()  # waiting for a broker or a database is no reason to be restarted
        if kind in {Retry.RACE, Retry.DEADLOCK, Retry.SERIALIZATION}:
            return  # nothing is away: two workers met, and the second try settles it
        self._health.down(component, f"{type(error).__name__}: {error}")
        _log.warning(
            "trying again", component=component.value, kind=kind.value, tries=state.attempt_number, error=repr(error)
        )

    def _well(self) -> None:
        self._health.progress()
        for component in Component:
            if self._health.up(component):
                _log.info("connected", component=component.value)


def _give_up(state: RetryCallState) -> Any:
    """End the retries of a batch that is not ours any more, or at a stop: nothing of it is committed."""
    error = state.outcome.exception() if state.outcome else None
    raise BatchLostError("reassigned", f"given up after {state.attempt_number} tries: {error!r}") from error
