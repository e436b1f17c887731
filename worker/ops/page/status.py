"""How the worker is now, as JSON: from its metrics, its health and its last log lines, all of them in memory."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from worker.ops.health import Component
from worker.ops.labels import RecordOutcome
from worker.ops.page.replies import to_json
from worker.ops.page.sampling import Sampling, quantile
from worker.ops.recent import RECENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from worker.ops.health import Health, Verdict
    from worker.ops.page.sampling import Sample

_FRESH_S = 0.5
_RATE_S = 10
_WINDOW_S = 60
_MOST_PARTITIONS = 100
_NAMES = (
    "rating_records_total",
    "rating_published_changes_total",
    "rating_consumer_lag_records",
    "rating_assigned_partitions",
    "rating_retries_total",
    "rating_fences_total",
    "rating_lost_claims_total",
    "rating_rebalances_total",
    "rating_database_connections",
    "rating_database_max_connections",
    "rating_worker_info",
    "rating_build_info",
)
_COUNTED = {
    "fences": "rating_fences_total",
    "lost_claims": "rating_lost_claims_total",
    "rebalances": "rating_rebalances_total",
}


class Status:
    """What `/api/status` says.

    Args:
        registry: That of the worker's metrics.
        health: The worker's.
    """

    def __init__(self, registry: CollectorRegistry, health: Health) -> None:
        self.sampling = Sampling(registry)
        self._registry = registry.restricted_registry(_NAMES)
        self._health = health
        self._started = time.monotonic()
        self._body = b""
        self._stale_at = self._started

    def body(self) -> bytes:
        """Give the document as JSON, the same one for half a second: to make it takes the loop for a millisecond."""
        now = time.monotonic()
        if now >= self._stale_at:
            self._body = to_json(self.document())
            self._stale_at = now + _FRESH_S
        return self._body

    def document(self) -> dict[str, Any]:
        """Put it together."""
        figures = _Figures(self._registry.collect())
        now, then, earlier = self.sampling.last, self.sampling.before(_RATE_S), self.sampling.before(_WINDOW_S)
        return {
            "at": datetime.now(UTC),
            "worker": {**figures.labels("rating_worker_info"), **figures.labels("rating_build_info")}
            | {"up_s": round(time.monotonic() - self._started)},
            "live": _verdict(self._health.live()),
            "ready": _verdict(self._health.ready()),
            "components": list(self._components()),
            "per_second": _per_second(then, now),
            "totals": figures.totals(),
            "delay": _delay(earlier, now),
            "stages": _stages(earlier, now),
            "lag": _lag(figures),
            "dead_letters": figures.by("rating_records_total", "reason", outcome=RecordOutcome.DEAD_LETTERED),
            "retries": figures.by("rating_retries_total", "kind"),
            **{name: figures.value(metric) for name, metric in _COUNTED.items()},
            "connections": {
                **figures.by("rating_database_connections", "state", nought=True),
                "most": figures.value("rating_database_max_connections"),
            },
            "history": {
                "seconds": round(now.at - self.sampling.before(float("inf")).at),
                "rated_per_second": [round(rate, 1) for rate in self.sampling.rated_a_second()],
                "lag": list(self.sampling.lags()),
            },
            "log": RECENT.lines(),
        }

    def _components(self) -> Iterable[dict[str, Any]]:
        reasons = dict(reason.split(": ", 1) for reason in self._health.ready().reasons if ": " in reason)
        for component in Component:
            yield {"name": component, "up": self._health.is_up(component), "why": reasons.get(component)}


class _Figures:
    """Samples of metrics, by name."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._samples: defaultdict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
        for metric in metrics:
            for sample in metric.samples:
                self._samples[sample.name].append((sample.labels, sample.value))

    def labels(self, name: str) -> dict[str, str]:
        return self._samples[name][0][0] if self._samples[name] else {}

    def value(self, name: str) -> float:
        return sum(value for _, value in self._samples[name])

    def totals(self) -> dict[str, float]:
        """Give records by outcome since the start, those of nought too, and the published changes beside them."""
        found = dict.fromkeys(map(str, RecordOutcome), 0.0) | {
            "published": self.value("rating_published_changes_total")
        }
        for labels, value in self._samples["rating_records_total"]:
            found[labels["outcome"]] += value
        return found

    def by(self, name: str, label: str, *, nought: bool = False, **having: str) -> dict[str, float]:
        """Give values by a label, those of nought only where they are wanted."""
        return {
            labels[label]: value
            for labels, value in self._samples[name]
            if (value or nought) and having.items() <= labels.items()
        }

    def rows(self, name: str) -> list[tuple[dict[str, str], float]]:
        return self._samples[name]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"ok": verdict.ok, "reasons": verdict.reasons}


def _per_second(then: Sample, now: Sample) -> dict[str, Any]:
    seconds = now.at - then.at
    if seconds <= 0:
        return {"window_s": 0, "rated": None, "records": None, "published": None}
    # What was fetched and not looked at comes again.
    looked_at = [outcome for outcome in RecordOutcome if outcome is not RecordOutcome.DROPPED]
    return {
        "window_s": round(seconds, 1),
        "rated": (now.records[RecordOutcome.RATED] - then.records[RecordOutcome.RATED]) / seconds,
        "records": sum(now.records[one] - then.records[one] for one in looked_at) / seconds,
        "published": (now.published - then.published) / seconds,
    }


def _delay(then: Sample, now: Sample) -> dict[str, Any]:
    """Give the age of records when their changes were acknowledged, over the last minute."""
    before = dict(then.ages)
    ages = [(bound, upto - before.get(bound, 0.0)) for bound, upto in now.ages]
    return {
        "window_s": round(now.at - then.at),
        "records": ages[-1][1] if ages else 0,
        "p50_s": quantile(ages, 0.5),
        "p99_s": quantile(ages, 0.99),
    }


def _stages(then: Sample, now: Sample) -> list[dict[str, Any]]:
    """Give how long a batch spent in each stage on average, over the last minute."""
    found = []
    for stage, (seconds, batches) in now.stages.items():
        seconds_then, batches_then = then.stages.get(stage, (0.0, 0.0))
        count = batches - batches_then
        found.append({"stage": stage, "batches": count, "mean_s": (seconds - seconds_then) / count if count else None})
    return found


def _lag(figures: _Figures) -> dict[str, Any]:
    topics: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for labels, records in figures.rows("rating_consumer_lag_records"):
        topics[labels["topic"]].append((int(labels["partition"]), records))
    return {
        "records": sum(records for its in topics.values() for _, records in its),
        "partitions": figures.value("rating_assigned_partitions"),
        "topics": [_topic(topic, sorted(its)) for topic, its in sorted(topics.items())],
    }


def _topic(topic: str, lags: list[tuple[int, float]]) -> dict[str, Any]:
    return {
        "topic": topic,
        "records": sum(records for _, records in lags),
        "partitions": [{"partition": number, "records": records} for number, records in lags[:_MOST_PARTITIONS]],
        "more_partitions": max(0, len(lags) - _MOST_PARTITIONS),
    }
