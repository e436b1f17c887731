"""A whole worker: everything that the pipeline needs, started in order, run until stopped, stopped in order."""

from __future__ import annotations

import asyncio
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import structlog
from prometheus_client import CollectorRegistry

from worker import __version__
from worker.housekeeping.housekeeper import Housekeeper
from worker.housekeeping.integrity import Integrity
from worker.housekeeping.sanity import Audit, Figures
from worker.housekeeping.tasks import Inactivity, TellPolicies
from worker.ledger.errors import LedgerSetupError
from worker.ledger.ledger import Ledger
from worker.ledger.reads.answers import Answers
from worker.ops.health import Component, Health
from worker.ops.http import HttpServer
from worker.ops.metrics import Metrics
from worker.ops.tracing import spans_of
from worker.pipeline import Pipeline
from worker.records import Translator
from worker.retrying import PASSING_FAULTS, retrying
from worker.stream import client, coordinator_log
from worker.stream.publisher import Publisher, publisher
from worker.stream.source import Source
from worker.stream.topics import check_topics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")
_FOR_THE_BATCH = 0.7  # of the shutdown timeout; the rest is for saying goodbye
_LEAST_S = 0.2  # for each step of closing, however late it is
_GOODBYE_S = 5.0  # for each step of closing, after the batch in hand is done
_WATCH_S = 5.0
_OVERDUE = (
    "what was in hand did not end in time after the stop signal: Kafka or Postgres does not answer, or "
    "RATING_SHUTDOWN_TIMEOUT_S is too short; it is given up, and whoever takes over does it"
)
# None of these keeps the next step of closing from being taken.
_AT_THE_END: tuple[type[Exception], ...] = (*PASSING_FAULTS, LedgerSetupError)
_WHERE = {Component.KAFKA: "RATING_KAFKA_BOOTSTRAP", Component.DATABASE: "RATING_DATABASE_URL"}


class StopOverdueError(Exception):
    """The worker was told to stop and had to give its batch up to do so; nothing is lost."""


class Worker:
    """One worker process: `run` returns after `stop`, or after SIGTERM or SIGINT where `install_signals` was called.

    Stopping order: readiness off, the batch in hand finished, published and committed; claims released, the group left;
    then producer, Postgres and HTTP. A second signal ends the process at once: nothing is lost, Kafka and Postgres roll
    back what was open.
    """

    def __init__(self, settings: Settings, policies: PolicySet) -> None:
        self._settings = settings
        self._policies = policies
        self.metrics = Metrics(CollectorRegistry())
        self.health = Health(settings.progress_timeout_s)
        self.metrics.instance.describe(settings)
        self.metrics.instance.watch(self.health)
        self._spans = spans_of(settings)
        if self._spans is not None:
            self.metrics.listener = self._spans.took
        answers = Answers(settings, policies)
        self.http = HttpServer(settings.http_host, settings.http_port, self.metrics, self.health, answers)
        self.pipeline: Pipeline | None = None
        self.running = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._ledger: Ledger | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._ends_at = float("inf")
        self._overdue = False

    def install_signals(self) -> None:
        """Stop in order at the first SIGTERM or SIGINT; from then on the signals have their default effect again."""
        loop = asyncio.get_running_loop()
        handled = (signal.SIGTERM, signal.SIGINT)

        def first() -> None:
            for number in handled:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)
            _log.info("stopping: the batch in hand is finished first; a second signal ends the worker at once")
            self.stop()

        for number in handled:
            loop.add_signal_handler(number, first)

    def stop(self) -> None:
        """Ask the worker to stop."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self.health.stopping()
        if self.pipeline is not None:
            self.pipeline.stop()
        if self._task is not None:
            loop, timeout_s = asyncio.get_running_loop(), self._settings.shutdown_timeout_s
            self._ends_at = loop.time() + timeout_s
            self._deadline = loop.call_later(_FOR_THE_BATCH * timeout_s, self._out_of_time, self._task)

    async def run(self) -> None:
        """Start everything, work until stopped, stop everything.

        Raises:
            LedgerSetupError, StreamSetupError, HttpServerError: Something that somebody has to mend.
            StopOverdueError: The batch in hand did not end within the shutdown timeout.
        """
        settings = self._settings
        self._task = asyncio.current_task()
        client.overlook_told_faults(asyncio.get_running_loop())
        coordinator_log.install()
        _log.info("starting", version=__version__, instance=settings.instance_id, delivery=settings.delivery.value)
        try:
            async with self.http:
                _log.info("serving metrics and health", url=self.http.url)
                ledger = await self._until_there(Component.DATABASE, lambda: Ledger.open(settings, self._policies))
                if ledger is not None:
                    self._ledger = ledger
                    self.metrics.instance.watch_connections(ledger.pool)
                    self.health.up(Component.DATABASE)
                    try:
                        await self._with_kafka(ledger)
                    finally:
                        await ledger.close(self._left_s())
        except asyncio.CancelledError:
            if not self._overdue:
                raise
            raise StopOverdueError(_OVERDUE) from None
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            if self._spans is not None:
                await self._spans.close(self._left_s())
        _log.info("stopped", **(self.pipeline.totals if self.pipeline else {}))

    async def _with_kafka(self, ledger: Ledger) -> None:
        settings = self._settings

        async def take(partitions: Iterable[tuple[str, int]]) -> None:
            await out.start()  # ends what an earlier producer of ours left open, before positions are read
            for owner in await ledger.claims.take(partitions, out.fence):
                self.metrics.fenced()
                _log.warning("fenced the worker that held partitions of ours", owner=owner)
                if owner.partition("#")[0] == settings.transactional_id and self.pipeline is not None:
                    self.pipeline.look_for_a_twin()

        async def release() -> None:
            # Not while a commit of ours may still arrive: whoever takes the partitions has to fence us then.
            if out.settled:
                await ledger.claims.release()

        source = Source(settings, self.metrics, take=take, release=release)
        out: Publisher = publisher(settings, source.consumer)
        self.pipeline = Pipeline(settings, source, ledger, out, self.metrics, self.health, self._spans)

        async def connect() -> bool:
            await check_topics(settings)
            await out.start()
            await source.start()
            return True

        try:
            if await self._until_there(Component.KAFKA, connect):
                self.health.up(Component.KAFKA)
                self.running.set()
                if not self._stopping.is_set():
                    await self._work(self.pipeline, ledger, source)
        finally:
            await self._stop_in_order(source, out)

    async def _work(self, pipeline: Pipeline, ledger: Ledger, source: Source) -> None:
        """Run the loop, and beside it the watch on both sides and the housekeeping."""
        policies = ledger.policies
        housekeeper = Housekeeper(
            self._settings,
            ledger,
            Translator(self._settings, policies),
            [
                TellPolicies(policies),
                Inactivity(policies),
                Integrity(policies, timedelta(milliseconds=self._settings.rebalance_timeout_ms)),
                Audit(self.metrics.housekeeping),
                Figures(self.metrics.housekeeping, self._settings.housekeeping_interval_s),
            ],
            self.metrics,
            in_backlog=lambda: source.in_backlog,
        )
        watch = asyncio.create_task(
            self._watch(pipeline, {Component.DATABASE: ledger.probe, Component.KAFKA: source.probe})
        )
        housekeeping = asyncio.create_task(housekeeper.run(self._stopping))
        try:
            await pipeline.run()
        finally:
            self._stopping.set()  # also where the loop ended by a fault: housekeeping gives the lead up
            watch.cancel()
            try:
                async with asyncio.timeout(self._left_s()):
                    await housekeeping
                    await housekeeper.leave()
            except _AT_THE_END as error:
                _log.warning("housekeeping did not end in order; another worker takes it over", error=repr(error))

    def _left_s(self) -> float:
        """Give how long a step of closing may take, in seconds: what is left of the shutdown timeout, but a moment."""
        left_s = self._ends_at - asyncio.get_running_loop().time()
        return max(_LEAST_S, min(_GOODBYE_S, left_s))

    def _out_of_time(self, task: asyncio.Task[object]) -> None:
        """Give up what doesn't end; Postgres first: a rollback that it does not answer would hold up all the rest."""
        _log.error(_OVERDUE)
        self._overdue = True
        if self._ledger is not None:
            self._ledger.terminate()
        task.cancel()

    async def _stop_in_order(self, source: Source, out: Publisher) -> None:
        for step in (out.abort, source.stop, out.stop):
            try:
                async with asyncio.timeout(self._left_s()):
                    await step()
            except _AT_THE_END as error:
                _log.warning("no proper goodbye; whoever takes over fences this worker", error=repr(error))

    async def _watch(self, pipeline: Pipeline, probes: Mapping[Component, Callable[[], Awaitable[None]]]) -> None:
        """Ask both sides for a sign of life every few seconds, so that readiness is true of an idle worker too."""
        while True:
            for component, probe in probes.items():
                try:
                    await probe()
                except PASSING_FAULTS as error:
                    if self.health.down(component, f"{type(error).__name__}: {error}"):
                        _log.warning("does not answer", component=component.value, error=repr(error))
                else:
                    if pipeline.waits_for is not component and self.health.up(component):
                        _log.info("connected", component=component.value)
            await asyncio.sleep(_WATCH_S)

    async def _until_there(self, component: Component, connect: Callable[[], Awaitable[_T]]) -> _T | None:
        """Connect, trying again while the other side is away; None if the worker is to stop meanwhile."""

        def report(error: BaseException, tries: int) -> None:
            self.health.progress()
            self.health.down(component, f"{type(error).__name__}: {error}")
            _log.error(
                f"{component.value} can't be reached, trying again; if this goes on, check {_WHERE[component]}",
                tries=tries,
                error=repr(error),
            )

        async for attempt in retrying(
            max_wait_s=self._settings.retry_max_wait_s,
            stopping=self._stopping,
            before_retry=report,
            give_up=lambda _error: None,
        ):
            with attempt:
                return await connect()
        return None
