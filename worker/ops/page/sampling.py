"""What the metrics said each second of the last minutes, read from memory: the page's rates and curves."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from worker.ops.labels import RecordOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import CollectorRegistry

_EVERY_S = 1.0
_KEPT = 301  # five minutes
_RECORDS = "rating_records_total"
_PUBLISHED = "rating_published_changes_total"
_LAG = "rating_consumer_lag_records"
_AGE = "rating_produced_to_acknowledged_seconds_bucket"
_STAGE = ("rating_stage_seconds_sum", "rating_stage_seconds_count")
_NAMES = (_RECORDS, _PUBLISHED, _LAG, _AGE, *_STAGE)


class Sample(NamedTuple):
    """The counters at a moment.

    Attributes:
        at: Seconds of the loop's clock.
        records: Records by outcome, since the start, and `published` changes beside them.
        lag: Records behind, in all partitions that this worker holds.
        ages: Records by age when they were acknowledged: how many at or below each bound in seconds.
        stages: Seconds and batches by stage, since the start.
    """

    at: float
    records: dict[str, float]
    published: float
    lag: float
    ages: tuple[tuple[float, float], ...]
    stages: dict[str, tuple[float, float]]


class Sampling:
    """Samples, one a second.

    Args:
        registry: That of the worker's metrics.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._few = registry.restricted_registry(_NAMES)
        self._samples: deque[Sample] = deque(maxlen=_KEPT)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Take samples from now on."""
        self._take()
        self._task = asyncio.create_task(self._go_on())

    def stop(self) -> None:
        """Take no more."""
        if self._task is not None:
            self._task.cancel()

    @property
    def last(self) -> Sample:
        """The latest sample."""
        return self._samples[-1]

    def before(self, seconds: float) -> Sample:
        """Give the sample of so many seconds before the last, or the oldest that there is."""
        since = self.last.at - seconds - _EVERY_S / 2
        return next(sample for sample in self._samples if sample.at >= since)

    def rated_a_second(self) -> Iterator[float]:
        """Give how many matches were rated in each second, oldest first."""
        rated = RecordOutcome.RATED
        for one, other in pairwise(self._samples):
            yield max(0.0, other.records[rated] - one.records[rated]) / (other.at - one.at)

    def lags(self) -> Iterator[float]:
        """Give the lag of each second, oldest first, as many as `rated_a_second`."""
        for _, sample in pairwise(self._samples):
            yield sample.lag

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            self._take()

    def _take(self) -> None:
        records: defaultdict[str, float] = defaultdict(float)
        stages: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        ages: list[tuple[float, float]] = []
        published = lag = 0.0
        for metric in self._few.collect():
            for sample in metric.samples:
                if sample.name == _RECORDS:
                    records[sample.labels["outcome"]] += sample.value
                elif sample.name == _PUBLISHED:
                    published = sample.value
                elif sample.name == _LAG:
                    lag += sample.value
                elif sample.name == _AGE:
                    ages.append((float(sample.labels["le"]), sample.value))
                else:
                    stages[sample.labels["stage"]][_STAGE.index(sample.name)] = sample.value
        moment = asyncio.get_running_loop().time()
        timed = {stage: (seconds, batches) for stage, (seconds, batches) in stages.items()}
        self._samples.append(Sample(moment, records, published, lag, tuple(ages), timed))


def quantile(ages: Sequence[tuple[float, float]], share: float) -> float | None:
    """Give the age that this share of records stayed below, as Prometheus estimates it; None without records.

    Args:
        ages: How many at or below each bound, bounds ascending, the last of them infinite.
        share: From 0 to 1.
    """
    total = ages[-1][1] if ages else 0.0
    if total <= 0:
        return None
    rank = share * total
    lower = below = 0.0
    for bound, upto in ages:
        if upto >= rank:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * (rank - below) / (upto - below) if upto > below else bound
        lower, below = bound, upto
    return lower
