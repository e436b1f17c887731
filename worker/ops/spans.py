"""Spans for OpenTelemetry: from the trace that a match came with, through its batch, to its changes.

They are made after a batch is committed, from times that were noted: a match that nobody traces costs nothing, and a
collector that is away or slow holds nothing up; what does not fit the queue is dropped. `ops.tracing` imports this at
need: the packages are an extra.

    trace of a match:   (backend's span) ── rate match ── rating-changed, one a change
    trace of a batch:   process batch ── write, flush, commit_database, …     linked with each `rate match` in it
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from worker import __version__
from worker.events.outgoing import event_id
from worker.ops.labels import Stage
from worker.rating.model import Change, Match

if TYPE_CHECKING:
    from worker.intake import Taken
    from worker.ledger.values import Applied, Arrival
    from worker.settings import Settings

_log = structlog.get_logger(__name__)
_SAMPLED = 1
_NS = 1_000_000_000
_EXPORT_TIMEOUT_S = 3.0
# Those of a batch in hand; the next one may be read and decoded meanwhile.
_OF_A_BATCH = frozenset(
    {Stage.TRANSACTION, Stage.WRITE, Stage.ENCODE, Stage.FLUSH, Stage.COMMIT_DATABASE, Stage.COMMIT_KAFKA}
)
_MOST_MATCHES = 200  # of a batch: 0.25 ms of the loop each, and the queue holds 2,048 spans
_MOST_STAGES = 100  # of a batch that is tried again and again


class Spans:
    """Makes the spans of each batch and sends them away.

    Args:
        settings: The worker's, with a `tracing_url`.
    """

    def __init__(self, settings: Settings) -> None:
        about = {
            "service.name": "rating-worker",
            "service.version": __version__,
            "service.instance.id": settings.instance_id,
        }
        self._settings = settings
        self._provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=settings.tracing_url, timeout=_EXPORT_TIMEOUT_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("rating-worker", __version__)
        self._stages: deque[tuple[Stage, int, int]] = deque(maxlen=_MOST_STAGES)

    def took(self, stage: Stage, seconds: float) -> None:
        """Note that a stage ended now that took so long."""
        if stage in _OF_A_BATCH:
            now = time.time_ns()
            self._stages.append((stage, now - int(seconds * _NS), now))

    def batch(self, taken: Taken, applied: Applied) -> None:
        """Make the spans of a batch that was committed now, if a sampled trace is in it; of 200 of its matches at most.

        A fault is logged: no batch must fail for its spans.
        """
        try:
            self._make(taken, applied)
        except Exception:  # noqa: BLE001
            _log.warning("no spans of this batch", exc_info=True)
        self._stages.clear()

    def _make(self, taken: Taken, applied: Applied) -> None:
        stages = list(self._stages)
        sampled = (arrival for arrival in taken.arrivals if _sampled(arrival.event.traceparent))
        traced = list(islice(sampled, _MOST_MATCHES))
        if not traced or not stages:
            return
        began, ended = min(start for _, start, _ in stages), stages[-1][2]
        batch = self._tracer.start_span(
            f"process {self._settings.match_topic}",
            kind=SpanKind.CONSUMER,
            start_time=began,
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.type": "process",
                "messaging.consumer.group.name": self._settings.consumer_group,
                "messaging.batch.message_count": len(taken.batch.records),
                "rating.rated": applied.rated,
                "rating.published": len(applied.publications),
            },
        )
        self._stage_spans(batch, stages)
        link = Link(batch.get_span_context())
        changes = _changes_by_trace(applied)
        for arrival in traced:
            self._match_span(arrival, changes, link, (began, ended))
        batch.end(ended)

    async def close(self, timeout_s: float) -> None:
        """Send what is left, within the timeout, which OpenTelemetry's own flush does not heed."""
        flushing = Thread(target=self._provider.force_flush, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, timeout_s)

    def _stage_spans(self, batch: Span, stages: list[tuple[Stage, int, int]]) -> None:
        inside = set_span_in_context(batch)
        for stage, start, end in stages:
            self._tracer.start_span(stage.value, context=inside, start_time=start).end(end)

    def _match_span(
        self,
        arrival: Arrival,
        changes: dict[tuple[str | None, str | None], list[Change]],
        link: Link,
        times: tuple[int, int],
    ) -> None:
        (topic, partition, offset), decoded = arrival
        began, ended = times
        is_match = isinstance(decoded.event, Match)
        gave = changes.get((decoded.traceparent, decoded.id if is_match else None), [])
        span = self._tracer.start_span(
            "rate match" if is_match else f"apply {type(decoded.event).__name__.lower()}",
            context=TraceContextTextMapPropagator().extract({"traceparent": str(decoded.traceparent)}),
            kind=SpanKind.CONSUMER,
            links=[link],
            start_time=began,
            attributes={
                "messaging.system": "kafka",
                "messaging.destination.name": topic,
                "messaging.destination.partition.id": str(partition),
                "messaging.kafka.offset": offset,
                "rating.event_id": decoded.id,
                "rating.changes": len(gave),
            },
        )
        inside = set_span_in_context(span)
        for change in gave:
            self._tracer.start_span(
                "rating-changed",
                context=inside,
                kind=SpanKind.PRODUCER,
                start_time=began,
                attributes={
                    "messaging.destination.name": self._settings.rating_topic,
                    "rating.event_id": event_id(change.pool, change.player_id, change.version),
                    "rating.pool": change.pool,
                    "rating.version": change.version,
                    "rating.reason": change.reason.value,
                    "rating.delta": change.delta,
                },
            ).end(ended)
        span.end(ended)


def _sampled(traceparent: str | None) -> bool:
    """Tell whether whoever sent an event records its trace; `decode` has checked the form."""
    return traceparent is not None and bool(int(traceparent[53:55], 16) & _SAMPLED)


def _changes_by_trace(applied: Applied) -> dict[tuple[str | None, str | None], list[Change]]:
    """Give the changes by the trace and the match that they came with; those of other events by the trace alone."""
    found: dict[tuple[str | None, str | None], list[Change]] = {}
    for what, traceparent in applied.publications:
        if isinstance(what, Change) and traceparent is not None:
            key = traceparent, what.match_id if what.reason in {"match", "floor"} else None
            found.setdefault(key, []).append(what)
    return found
