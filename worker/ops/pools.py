"""How the players of each pool stand, as the worker that does the housekeeping last saw it in Postgres."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

MOST_POOLS = 100


class PoolFigures(NamedTuple):
    """The active players of one pool: those with a rating of their own who are not marked inactive.

    Attributes:
        pool: Its name.
        sampled: How many were looked at.
        players: How many there are; an estimate where not all were looked at.
        provisional: The share of them that is provisional, from 0 to 1.
        mean: The mean rating of those who are not provisional, in points; None without any.
        spread: The standard deviation of the same, in points; None below two.
    """

    pool: str
    sampled: int
    players: int
    provisional: float
    mean: float | None
    spread: float | None


_FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("rating_pool_players", "Active players of a pool, estimated from a sample where it is large.", "players"),
    ("rating_pool_sampled_players", "Players that the figures of a pool were taken from.", "sampled"),
    ("rating_pool_provisional_ratio", "Share of a pool's active players that is provisional.", "provisional"),
    ("rating_pool_mean_points", "Mean rating of a pool's active players who are not provisional.", "mean"),
    ("rating_pool_spread_points", "Standard deviation of the ratings that the mean is of.", "spread"),
)


class Pools(Collector):
    """Gauges by pool. They go when they grow old: another worker does the housekeeping by then, and shows its own.

    Args:
        registry: Where it registers itself.
        clock: Seconds that never go back; for tests.
    """

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._figures: Sequence[PoolFigures] = ()
        self._ends_at = 0.0
        registry.register(self)

    def show(self, figures: Iterable[PoolFigures], for_s: float) -> None:
        """Show these figures, and no others, for so many seconds; the 100 largest pools where there are more."""
        self._figures = sorted(figures, key=lambda one: -one.players)[:MOST_POOLS]
        self._ends_at = self._clock() + for_s

    def describe(self) -> Iterator[Metric]:
        """Name the metrics to the registry without collecting them."""
        for name, documentation, _ in _FAMILIES:
            yield GaugeMetricFamily(name, documentation, labels=("pool",))

    def collect(self) -> Iterator[Metric]:
        """Yield what is shown now."""
        shown = self._figures if self._clock() < self._ends_at else ()
        for name, documentation, attribute in _FAMILIES:
            family = GaugeMetricFamily(name, documentation, labels=("pool",))
            for figures in shown:
                if (value := getattr(figures, attribute)) is not None:
                    family.add_metric([figures.pool], value)
            yield family
