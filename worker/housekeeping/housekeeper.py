"""Housekeeping on one worker at a time, exactly once by the means of the pipeline.

Postgres decides who leads: a claim on `(notices, 0)` in a group of its own, kept alive by a lease. Each piece of a task
is a numbered round in one Postgres transaction; what it did is one Kafka transaction, flushed before the Postgres
commit and committed after it, with the round's number as the group's offset. Whoever takes the lead fences the one
before, and publishes the round that Postgres has and the offset has not reached.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from worker.ledger.claims import Claims
from worker.ledger.errors import ClaimLostError, LedgerSetupError
from worker.ledger.rounds import Rounds
from worker.rating.model import Change, Notice
from worker.retrying import PASSING_FAULTS
from worker.stream import client
from worker.stream.errors import BatchLostError, RecordTooLargeError, StreamAwayError, StreamSetupError, stream_faults
from worker.stream.outbox import Limits
from worker.stream.positions import committed
from worker.stream.publisher import Publisher, publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from worker.housekeeping.tasks import Task
    from worker.ledger.ledger import Ledger
    from worker.ledger.values import Publication
    from worker.ops.metrics import Metrics
    from worker.records import Translator
    from worker.settings import Settings
    from worker.stream.outbox import Outgoing

_log = structlog.get_logger(__name__)
_PUT_OFF: tuple[type[Exception], ...] = (*PASSING_FAULTS, BatchLostError, ClaimLostError)
_ASK_AGAIN_S = 0.2
_MISSED_TURNS = 3  # after so many the lead is up for grabs
_TURNS = 10  # times the interval, after which a task that is far behind lets the others have their turn
# Rest after a piece, times what the piece took: a tenth of the process while matches wait, half of it otherwise.
_REST_IN_BACKLOG, _REST = 9.0, 1.0


class Housekeeper:
    """Does the tasks, when this worker leads.

    Args:
        settings: The worker's; housekeeping has a group and a transactional id of its own, made from these.
        ledger: Open.
        translator: Encodes what is published.
        tasks: What there is to do, in this order.
        metrics: Counts what is published.
        clock: The time as the tasks see it, aware; for tests.
        in_backlog: Tells whether matches wait to be rated by this worker.
    """

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        translator: Translator,
        tasks: Sequence[Task],
        metrics: Metrics,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        in_backlog: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings = settings.model_copy(
            update={
                "consumer_group": f"{settings.consumer_group}.housekeeping",
                "instance_id": f"{settings.instance_id}.housekeeping",
            }
        )
        group, owner = self._settings.consumer_group, self._settings.transactional_id
        self._at = TopicPartition(settings.notice_topic, 0)
        self._claims = Claims(ledger.connections, group=group, owner=owner)
        self._rounds = Rounds(ledger, group=group, owner=self._claims.owner, topic=settings.notice_topic)
        self._translator = translator
        self._tasks = tasks
        self._metrics = metrics
        self._clock = clock
        self._in_backlog = in_backlog
        self._limits = Limits()
        self._too_large = float("inf")  # bytes of a notice's value, learnt from refusals
        self._renewed: date | None = None
        self._consumer: AIOKafkaConsumer | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Do what there is to do every `housekeeping_interval_s`, until stopped; a fault puts it off to the next."""
        while not stop.is_set():
            try:
                await self.turn(stop)
            except RecordTooLargeError as error:
                self._make_smaller(error)
            except _PUT_OFF as error:
                _log.warning("housekeeping is put off", error=repr(error))
            except (LedgerSetupError, StreamSetupError) as error:
                _log.error("housekeeping can't work until somebody mends this", why=str(error))
            except Exception:  # noqa: BLE001 - a bug in a task must not end the rating of matches
                _log.exception("housekeeping failed and is put off: a bug, please report it with this line")
            try:
                async with asyncio.timeout(self._settings.housekeeping_interval_s):
                    await stop.wait()
            except TimeoutError:
                continue

    async def turn(self, stop: asyncio.Event) -> int:
        """Do all that there is to do now, if this worker leads; gives how many rounds were published."""
        if not await self._rounds.may_lead(_MISSED_TURNS * self._settings.housekeeping_interval_s):
            return 0
        rounds = 0
        self._consumer = client.bare_consumer(self._settings)
        out = publisher(self._settings, self._consumer, self._limits)
        try:
            with stream_faults():
                await self._consumer.start()
            self._consumer.assign([self._at])
            await out.start()
            await self._claims.take([(self._at.topic, self._at.partition)], out.fence)
            async with asyncio.timeout(self._settings.publish_timeout_s):
                published = await self._published(self._consumer)
            for number, publications in await self._rounds.unpublished(published or 0):
                await out.begin({self._at: number})
                await out.stage(await out.pack(self._outgoing(publications)))
                await out.commit()
                published = number
                rounds += 1
            await self._renew(out, published)
            all_done = True
            for task in self._tasks:
                started = time.monotonic()
                while not stop.is_set():
                    began = time.monotonic()
                    async with self._rounds.open() as round_:
                        done = await task.piece(round_, self._clock())
                        number, publications = (0, []) if done is None else await round_.record(task.name, done)
                        if number:
                            await out.begin({self._at: number})
                            await out.stage(await out.pack(self._outgoing(publications)))
                    if number:
                        await out.commit()
                        self._count(publications)
                        rounds += 1
                    if done is None:
                        break
                    if time.monotonic() - started > _TURNS * self._settings.housekeeping_interval_s:
                        all_done = False
                        break
                    await self._rest(time.monotonic() - began, stop)
            if all_done and not stop.is_set():
                self._metrics.housekeeping.finished()
        finally:
            await out.stop()
            await client.leave(self._consumer)
        return rounds

    async def _rest(self, took_s: float, stop: asyncio.Event) -> None:
        """Leave the process to the matches for a multiple of what a piece took."""
        with suppress(TimeoutError):
            async with asyncio.timeout(took_s * (_REST_IN_BACKLOG if self._in_backlog() else _REST)):
                await stop.wait()

    def _outgoing(self, publications: Sequence[Publication]) -> list[Outgoing]:
        """Encode what is to be published, but for notices that their topic does not take: they hold nobody up."""
        records = []
        for record in self._translator.outgoing(publications):
            size = len(record.value or b"")
            if record.topic != self._settings.notice_topic or size < self._too_large:
                records.append(record)
                continue
            _log.error(
                "left a notice out that its topic does not take: raise its max.message.bytes. The table notices has it",
                topic=record.topic,
                subject=(record.key or b"").decode(),
                bytes=size,
            )
        return records

    def _make_smaller(self, error: RecordTooLargeError) -> None:
        """Publish less at once; a single notice that is too large is left out from the next turn on."""
        if error.records > 1:
            self._limits.shrink(error)
            _log.warning("a topic does not take what housekeeping publishes; tried again in less", **error.facts())
        elif error.topic == self._settings.notice_topic:
            self._too_large = min(self._too_large, max(1, error.first_value))
        else:
            _log.error("the topic does not take a record of ours: raise its max.message.bytes", **error.facts())

    async def _published(self, consumer: AIOKafkaConsumer) -> int | None:
        """Give the number of the last round that is published; a new group has no coordinator for a moment."""
        while True:
            try:
                return (await committed(consumer, self._settings.consumer_group, [self._at]))[self._at]
            except StreamAwayError:
                await asyncio.sleep(_ASK_AGAIN_S)

    async def _renew(self, out: Publisher, published: int | None) -> None:
        """Commit the offset anew once a day.

        The group has no members, so Kafka forgets an offset that is not committed for `offsets.retention.minutes`: the
        last rounds would be published again.
        """
        today = self._clock().date()
        if published is not None and self._renewed != today:
            await out.begin({self._at: published})
            await out.stage(await out.pack([]))
            await out.commit()
        self._renewed = today

    def _count(self, publications: Sequence[Publication]) -> None:
        self._metrics.published(sum(isinstance(what, Change) for what, _ in publications))
        for what, _ in publications:
            if isinstance(what, Notice):
                self._metrics.noticed(what.kind, str(what.body.get("signal", "")))

    async def leave(self) -> None:
        """Give the lead up, so that another worker need not wait for the lease to end."""
        await self._claims.release()
