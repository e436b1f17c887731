"""What housekeeping counts: its turns, the notices it published, what it found when it looked the ledger over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from worker.ops.labels import Invariant
from worker.ops.pools import Pools
from worker.rating.model import NoticeKind
from worker.rating.signals import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry


class HousekeepingMetrics:
    """The metrics of housekeeping; one worker at a time moves them.

    Attributes:
        pools: How the players of each pool stand.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._notices = Counter(
            "rating_published_notices",
            "Notices that housekeeping published: inactive players, changed policies, signals of manipulation.",
            ("kind", "signal"),
            registry=registry,
        )
        for signal in Signal:  # a rate over a counter sees its first step only if there was a nought before it
            self._notices.labels(NoticeKind.INTEGRITY_FLAGGED, signal)
        self._finished = Gauge(
            "rating_housekeeping_last_finished_timestamp_seconds",
            "When this worker last did all that there was to do in housekeeping, in seconds since 1970; 0 for never.",
            registry=registry,
        )
        self._audited = Counter(
            "rating_audited_entries", "Ledger entries that housekeeping looked over.", registry=registry
        )
        broken = Counter(
            "rating_broken_invariants",
            "Ledger entries that break what always holds: a chain, a sum, a standing. By a bug, or by hand.",
            ("invariant",),
            registry=registry,
        )
        self._broken = {invariant: broken.labels(invariant) for invariant in Invariant}
        self.pools = Pools(registry)

    def noticed(self, kind: str, signal: str) -> None:
        """Count a notice that was published."""
        self._notices.labels(kind, signal).inc()

    def finished(self) -> None:
        """Note that all was done that there was to do."""
        self._finished.set(time.time())

    def audited(self, entries: int, broken: Mapping[Invariant, int]) -> None:
        """Count ledger entries that were looked over, and those that break an invariant."""
        self._audited.inc(entries)
        for invariant, count in broken.items():
            self._broken[invariant].inc(count)
