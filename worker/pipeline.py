"""The loop: fetch a batch, apply it to the ledger, publish what it changed, commit the offsets.

Exactly once from event to rating change rests on three things, each in its own place: the ledger knows every match and
where it came from (`ledger.known`); the records of a batch and its offsets are one Kafka transaction, flushed before
the Postgres commit and committed after it (`stream.publisher`); whoever takes a partition first fences the one who held
it (`ledger.claims`). This file only puts them in order.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

import structlog

from worker.concurrently import both
from worker.intake import Intake
from worker.ledger.errors import ROW_REFUSED, ClaimLostError, RowRefusedError
from worker.ops.health import Component
from worker.ops.labels import Duplicate, Stage
from worker.rating.model import Change, Match
from worker.records import Translator
from worker.retrying import MET, culprit, retrying
from worker.stream.errors import BatchLostError, RecordTooLargeError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tenacity import AsyncRetrying

    from worker.intake import Taken
    from worker.ledger.ledger import Ledger
    from worker.ledger.transaction import BatchTransaction
    from worker.ledger.values import Applied
    from worker.ops.health import Health
    from worker.ops.metrics import Metrics
    from worker.ops.spans import Spans
    from worker.settings import Settings
    from worker.stream.batch import Batch
    from worker.stream.publisher import Publisher
    from worker.stream.source import Source

_log = structlog.get_logger(__name__)
_QUIET_TRIES = 5
_TWIN_FENCES, _TWIN_WINDOW_S = 3, 120.0  # so often fenced within so many seconds
_CAREFUL_RECORDS = 100  # in a batch in which a row that Postgres refuses is searched for


class Pipeline:
    """One worker's loop over its partitions. Everything that it works with is handed in, started.

    Attributes:
        waits_for: What the loop is waiting for to work again; a sign of life from there does not mean that it does.
        totals: What was done so far, for the last log line.
    """

    def __init__(
        self,
        settings: Settings,
        source: Source,
        ledger: Ledger,
        publisher: Publisher,
        metrics: Metrics,
        health: Health,
        spans: Spans | None = None,
    ) -> None:
        self._settings = settings
        self._source = source
        self._ledger = ledger
        self._publisher = publisher
        self._metrics = metrics
        self._health = health
        self._spans = spans
        self._translator = Translator(settings, ledger.policies)
        self._intake = Intake(source, self._translator, metrics, health)
        self._stop = asyncio.Event()
        self._fenced_at: list[float] = []
        self.waits_for: Component | None = None
        self.totals: Counter[str] = Counter()

    def stop(self) -> None:
        """Ask the loop to end after the batch in hand."""
        self._stop.set()
        self._health.stopping()

    async def run(self) -> None:
        """Work until `stop` is called. What passes by itself is waited for; anything else is raised."""
        try:
            while not self._stop.is_set():
                self.waits_for = None
                try:
                    taken = await self._next_batch()
                    self.waits_for = None
                    if taken is not None:
                        with self._metrics.batch(len(taken.batch.records)):
                            await self._finish(taken)
                except (BatchLostError, ClaimLostError) as lost:
                    self._drop(lost)
        finally:
            await self._intake.close()

    async def _next_batch(self) -> Taken | None:
        taken = None
        async for attempt in self._attempts():
            with attempt:
                taken = await self._intake.next()
        self._health.progress()
        return taken

    async def _finish(self, taken: Taken) -> None:
        """Process a batch until it is committed; give it up only when it is not ours any more, or at a stop."""
        try:
            await self._settle(taken, careful=False)
        except RowRefusedError:
            # In pieces that are committed one by one: many refused rows, each searched for, hold nobody up for long.
            for piece in taken.pieces(_CAREFUL_RECORDS):
                await self._settle(piece, careful=True)

    async def _settle(self, taken: Taken, *, careful: bool) -> None:
        async for attempt in self._attempts(taken.batch):
            with attempt:
                try:
                    await self._process(taken, careful=careful)
                except Exception as error:  # a cancelled one is aborted where all is closed, within the time for that
                    await self._publisher.abort()
                    if isinstance(error, RecordTooLargeError):
                        self._make_smaller(error)
                    if isinstance(error, ROW_REFUSED) and not careful:
                        raise RowRefusedError from error
                    raise

    async def _process(self, taken: Taken, *, careful: bool) -> None:
        """Take a batch from events to committed offsets."""
        await self._publisher.start()
        offsets, partitions = taken.batch.offsets, taken.batch.partitions
        with self._metrics.stage(Stage.TRANSACTION):
            async with AsyncExitStack() as opened:
                opening = opened.enter_async_context(self._ledger.transaction(partitions))
                if careful:  # Postgres refused a row: find it, before a Kafka transaction that waits for it is opened
                    applied = await (await opening).apply(taken.arrivals)
                    await self._publisher.begin(offsets)
                    await self._stage(taken, applied)
                else:
                    _, (transaction, applied) = await both(self._publisher.begin(offsets), self._rate(opening, taken))
                    # Side by side: the rows on their way to Postgres, the changes on theirs to Kafka; then both commit.
                    await both(self._write(transaction), self._stage(taken, applied))
                committing = time.perf_counter()
        self._metrics.took(Stage.COMMIT_DATABASE, time.perf_counter() - committing)
        with self._metrics.stage(Stage.COMMIT_KAFKA):
            await self._publisher.commit()
        self._source.done(taken.batch)
        self._count(taken, applied)
        if self._spans is not None:
            self._spans.batch(taken, applied)

    async def _rate(self, opening: Awaitable[BatchTransaction], taken: Taken) -> tuple[BatchTransaction, Applied]:
        transaction = await opening
        return transaction, await transaction.rate(taken.arrivals)

    async def _write(self, transaction: BatchTransaction) -> None:
        self._metrics.took(Stage.WRITE, await transaction.write())

    async def _stage(self, taken: Taken, applied: Applied) -> None:
        with self._metrics.stage(Stage.ENCODE):
            changed = self._translator.outgoing(applied.publications)
            refused = self._translator.dead_letters(taken.refusals + applied.refusals, taken.batch.records)
            parcels = await self._publisher.pack(chain(changed, refused))
        with self._metrics.stage(Stage.FLUSH):
            await self._publisher.stage(parcels)

    def _count(self, taken: Taken, applied: Applied) -> None:
        metrics = self._metrics
        refused = Counter(refusal.reason for refusal in taken.refusals + applied.refusals)
        metrics.rated(applied.rated)
        for reason, count in applied.unrated.items():
            metrics.unrated(reason, count)
        for kind, count in applied.recorded.items():
            metrics.recorded(kind, count)
        metrics.duplicates(Duplicate.REDELIVERED, applied.redelivered)
        metrics.duplicates(Duplicate.RESENT, applied.resent)
        for reject, count in refused.items():
            metrics.dead_lettered(reject, count)
        metrics.published(len(applied.publications))
        metrics.changes(what for what, _ in applied.publications if isinstance(what, Change))
        for stage, seconds in applied.seconds.items():
            metrics.took(Stage(stage), seconds)
        metrics.acknowledged(
            [event.finished_at for _, (event, *_) in taken.arrivals if isinstance(event, Match)],
            [record.timestamp for record in taken.batch.records],
            now_s=time.time(),
        )
        self.totals.update(
            records=len(taken.batch.records),
            batches=1,
            rated=applied.rated,
            unrated=applied.unrated.total(),
            recorded=applied.recorded.total(),
            redelivered=applied.redelivered,
            resent=applied.resent,
            dead_lettered=refused.total(),
            published=len(applied.publications),
        )
        self._health.progress()
        for component in Component:
            if self._health.up(component):
                _log.info("connected", component=component.value)
        _log.debug("batch done", records=len(taken.batch.records), rated=applied.rated, dead_letters=dict(refused))

    def _drop(self, lost: BatchLostError | ClaimLostError) -> None:
        """Go on from the committed offsets: the records of the batch come again, to us or to whoever has them now."""
        kind = lost.kind if isinstance(lost, BatchLostError) else "claim-lost"
        if isinstance(lost, ClaimLostError):
            self._metrics.lost_claim()
        _log.warning("batch given back", kind=kind, why=str(lost))
        if kind == "fenced":
            self.look_for_a_twin()
        self._health.progress()
        self._source.reset()

    def look_for_a_twin(self) -> None:
        """Note that we were fenced, or had to fence our own id.

        Once, that is how partitions change hands; again and again, it is another process under our own name.
        """
        now = time.monotonic()
        self._fenced_at = [at for at in self._fenced_at if now - at < _TWIN_WINDOW_S] + [now]
        if len(self._fenced_at) >= _TWIN_FENCES:
            _log.error(
                "another process seems to run under our instance id, and each ends what the other begins: give every "
                "worker a RATING_INSTANCE_ID of its own",
                instance=self._settings.instance_id,
                fenced=len(self._fenced_at),
                within_s=_TWIN_WINDOW_S,
            )

    def _make_smaller(self, error: RecordTooLargeError) -> None:
        """Send less at once to the topic that refuses it; a single dead letter goes without its value."""
        if error.records > 1:
            self._publisher.limits.shrink(error)
            _log.warning("a topic takes no batch as large as ours: smaller ones from now on", **error.facts())
            return
        advice = "the topic does not take a record of ours: raise its max.message.bytes"
        if error.topic in self._settings.dead_letter_topics.values():
            # One that its topic does not take must not hold up all that comes after it.
            self._translator.leave_out_from(error.first_value)
            advice += ". Until this worker is started again, values of that size are left out, and named by their place"
        _log.error(advice, **error.facts())

    def _attempts(self, batch: Batch | None = None) -> AsyncRetrying:
        """Try again what passes by itself, while there is a point in it."""

        def give_up(error: BaseException) -> NoReturn:
            kind = "stopping" if self._stop.is_set() else "reassigned"
            raise BatchLostError(kind, f"given up, nothing of it is committed: {error!r}") from error

        # Not the batch itself: tenacity ends in a cycle of references, which would keep it until the next collection.
        epoch = None if batch is None else batch.epoch
        return retrying(
            max_wait_s=self._settings.retry_max_wait_s,
            stopping=self._stop,
            before_retry=self._unwell,
            give_up=give_up,
            pointless=lambda: epoch is not None and not self._source.holds(epoch),
        )

    def _unwell(self, error: BaseException, tries: int) -> None:
        component, kind = culprit(error)
        self._metrics.retried(kind)
        self._health.progress()  # waiting for a broker or a database is no reason to be restarted
        if kind in MET and tries <= _QUIET_TRIES:
            return
        self.waits_for = component
        self._health.down(component, f"{type(error).__name__}: {error}")
        _log.warning("trying again", component=component.value, kind=kind.value, tries=tries, error=repr(error))
