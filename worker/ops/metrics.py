"""What the worker counts and times, named `rating_*`, on a registry that is passed in.

Labels are few and bounded: outcomes, reasons, stages, policies, partitions. Never a player, a match or an event id.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from prometheus_client import Counter, Gauge

from worker.events.reject import Reject
from worker.ops.histogram import OTHER, BulkHistogram
from worker.ops.housekeeping import HousekeepingMetrics
from worker.ops.instance import InstanceMetrics
from worker.ops.labels import Dropped, Duplicate, RecordOutcome, Retry, Stage
from worker.ops.rating_health import RatingHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from types import TracebackType

    from prometheus_client import CollectorRegistry

    from worker.rating.model import Change

__all__ = ["Dropped", "Duplicate", "Metrics", "RecordOutcome", "Retry", "Stage", "Timer"]

_MOST_REASONS = 100
_STAGE_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_AGE_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400)
_BATCH_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)


class Timer:
    """Times a `with` block, whether it ends well or not, and tells how many seconds it took."""

    __slots__ = ("_started", "_tell")

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._started = 0.0

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._tell(time.perf_counter() - self._started)


class Metrics:
    """All metrics of one worker.

    Attributes:
        registry: What a scrape shows.
        listener: Is told each stage that ends, and how many seconds it took; for tracing.
        housekeeping: The part that housekeeping moves.
        instance: The part that says which worker this is and how it is.

    Args:
        registry: Where they are registered; a registry of its own for each worker, so that two fit in one process.

    Raises:
        ValueError: If the registry already holds a worker's metrics.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.listener: Callable[[Stage, float], None] | None = None
        self._records = Counter(
            "rating_records",
            "Records by what became of them, with the reason where there are several.",
            ("outcome", "reason"),
            registry=registry,
        )
        self._record_series: dict[tuple[RecordOutcome, str], Counter] = {}
        # A rate over a counter sees its first step only if there was a nought before it.
        self._count(RecordOutcome.RATED, "", 0)
        for outcome, reasons in (
            (RecordOutcome.DUPLICATE, Duplicate),
            (RecordOutcome.DEAD_LETTERED, Reject),
            (RecordOutcome.DROPPED, Dropped),
        ):
            for reason in reasons:
                self._count(outcome, reason, 0)
        self._published = Counter("rating_published_changes", "Rating changes that were published.", registry=registry)
        self._stages = BulkHistogram(
            "rating_stage_seconds",
            "Time that a batch spent in each stage; `transaction` contains lock to commit_database.",
            _STAGE_BOUNDS,
            label="stage",
            values=Stage,
            registry=registry,
        )
        self._batch_time = BulkHistogram(
            "rating_batch_seconds",
            "Time from a batch in hand to its offsets committed.",
            _STAGE_BOUNDS,
            registry=registry,
        ).series()
        self._batch_size = BulkHistogram(
            "rating_batch_records", "Records in a batch.", _BATCH_BOUNDS, registry=registry
        ).series()
        self._since_finished = BulkHistogram(
            "rating_finished_to_acknowledged_seconds",
            "Age of a match, from the end of play to its changes acknowledged by Kafka.",
            _AGE_BOUNDS,
            registry=registry,
        ).series()
        self._since_produced = BulkHistogram(
            "rating_produced_to_acknowledged_seconds",
            "Age of a record, from its Kafka timestamp to its changes acknowledged by Kafka.",
            _AGE_BOUNDS,
            registry=registry,
        ).series()
        self._rating_health = RatingHealth(registry)
        self.housekeeping = HousekeepingMetrics(registry)
        self.instance = InstanceMetrics(registry)
        self._lag = Gauge(
            "rating_consumer_lag_records",
            "Records behind the end of each partition that this worker holds.",
            ("topic", "partition"),
            registry=registry,
        )
        self._lag_series: dict[tuple[str, int], Gauge] = {}
        self._assigned = Gauge("rating_assigned_partitions", "Partitions that this worker holds.", registry=registry)
        retries = Counter("rating_retries", "Batches tried again, by what for.", ("kind",), registry=registry)
        self._retries = {kind: retries.labels(kind) for kind in Retry}
        self._fences = Counter("rating_fences", "Previous owners of a partition that were fenced.", registry=registry)
        self._rebalances = Counter("rating_rebalances", "Rebalances this worker took part in.", registry=registry)
        self._lost_claims = Counter(
            "rating_lost_claims", "Batches ended because another worker had claimed a partition.", registry=registry
        )

    # --- records

    def rated(self, records: int = 1) -> None:
        """Count records whose match moved ratings."""
        self._count(RecordOutcome.RATED, "", records)

    def unrated(self, reason: str, records: int = 1) -> None:
        """Count records whose match was recorded and moved nothing."""
        self._count(RecordOutcome.UNRATED, reason, records)

    def recorded(self, kind: str, records: int = 1) -> None:
        """Count records of events that are no match: `void`, `sanction`, `lift` and those of tournaments."""
        self._count(RecordOutcome.RECORDED, kind, records)

    def duplicates(self, kind: Duplicate, records: int = 1) -> None:
        """Count records whose match was there already."""
        self._count(RecordOutcome.DUPLICATE, kind, records)

    def dead_lettered(self, reason: str, records: int = 1) -> None:
        """Count records that went to the dead-letter topic; a reason is a short fixed name, never a record's text."""
        self._count(RecordOutcome.DEAD_LETTERED, reason, records)

    def dropped(self, kind: Dropped, records: int = 1) -> None:
        """Count records that were fetched and not looked at."""
        self._count(RecordOutcome.DROPPED, kind, records)

    def published(self, changes: int) -> None:
        """Count rating changes that Kafka acknowledged."""
        self._published.inc(changes)

    def noticed(self, kind: str, signal: str = "") -> None:
        """Count a notice that housekeeping published; `signal` names what an `integrity-flagged` is about."""
        self.housekeeping.noticed(kind, signal)

    def changes(self, changes: Iterable[Change]) -> None:
        """Note K, weight, size and calibration of a batch's changes; those without a K (a restart) don't count."""
        self._rating_health.note(changes)

    # --- time

    def stage(self, stage: Stage | str) -> Timer:
        """Time a `with` block as a stage.

        Raises:
            ValueError: If there is no such stage.
        """
        return Timer(partial(self.took, Stage(stage)))

    def took(self, stage: Stage, seconds: float) -> None:
        """Note how long a stage took that ends now."""
        self._stages.series(stage).observe(seconds)
        if self.listener is not None:
            self.listener(stage, seconds)

    def batch(self, records: int) -> Timer:
        """Time a `with` block as a whole batch, and note its size in records."""
        self._batch_size.observe(records)
        return Timer(self._batch_time.observe)

    def acknowledged(self, finished_at: Iterable[datetime], produced_ms: Iterable[int], *, now_s: float) -> None:
        """Note how old a batch's matches and records were when their changes were acknowledged.

        A negative age (clocks differ) counts as 0: a histogram's sum must not fall.

        Args:
            finished_at: When each match ended, aware.
            produced_ms: Each record's Kafka timestamp, in ms since 1970.
            now_s: The time of acknowledgement, in seconds since 1970.
        """
        now = datetime.fromtimestamp(now_s, UTC)  # a difference of datetimes is half the price of their timestamps
        self._since_finished.observe_many(_ages([(now - moment).total_seconds() for moment in finished_at]))
        self._since_produced.observe_many(_ages([now_s - moment / 1000 for moment in produced_ms]))

    # --- partitions

    def assigned(self, partitions: Collection[tuple[str, int]]) -> None:
        """Count a rebalance, and forget the lag of partitions that this worker does not hold any more.

        Args:
            partitions: All (topic, partition) that it holds now.
        """
        self._rebalances.inc()
        self.held(partitions)

    def held(self, partitions: Collection[tuple[str, int]]) -> None:
        """Say which (topic, partition) this worker holds now, outside a rebalance (on revocation, on stop)."""
        self._assigned.set(len(partitions))
        for gone in self._lag_series.keys() - set(partitions):
            topic, partition = gone
            self._lag.remove(topic, str(partition))
            del self._lag_series[gone]

    def lag(self, topic: str, partition: int, records: int) -> None:
        """Say how many records of a partition are still to be read."""
        series = self._lag_series.get((topic, partition))
        if series is None:
            series = self._lag_series[topic, partition] = self._lag.labels(topic, str(partition))
        series.set(records)

    # --- trouble

    def retried(self, kind: Retry) -> None:
        """Count a batch that is tried again."""
        self._retries[kind].inc()

    def fenced(self) -> None:
        """Count a previous owner that was fenced."""
        self._fences.inc()

    def lost_claim(self) -> None:
        """Count a batch that ended because a partition's claim was no longer ours."""
        self._lost_claims.inc()

    def _count(self, outcome: RecordOutcome, reason: str, records: int) -> None:
        series = self._record_series.get((outcome, reason))
        if series is None:
            if len(self._record_series) >= _MOST_REASONS:
                reason = OTHER
            series = self._record_series[outcome, reason] = self._records.labels(outcome, reason)
        series.inc(records)


def _ages(seconds: list[float]) -> list[float]:
    return seconds if min(seconds, default=0.0) >= 0 else [max(0.0, age) for age in seconds]
