from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from tests.unit.ops.test_metrics import change, value
from worker.ops.labels import Invariant
from worker.ops.pools import MOST_POOLS, PoolFigures, Pools

if TYPE_CHECKING:
    from tests.unit.ops.conftest import Clock
    from worker.ops.metrics import Metrics


def test_favourites_show_whether_they_score_what_they_should(metrics: Metrics) -> None:
    """Expected and actual score are summed for favourites alone, by how much they were expected to score."""
    favourite = change()._replace(expected=0.62, score=1.0)
    metrics.changes([favourite, favourite._replace(expected=0.38, score=0.0)])
    metrics.changes([favourite._replace(expected=0.64, score=0.5), change(), favourite._replace(expected=1.0)])
    at = {"policy": "yiboard", "expected": "0.60-0.65"}
    assert value(metrics, "rating_calibration_sides_total", **at) == 2
    assert value(metrics, "rating_calibration_expected_score_total", **at) == pytest.approx(1.26)
    assert value(metrics, "rating_calibration_actual_score_total", **at) == 1.5
    assert value(metrics, "rating_calibration_sides_total", policy="yiboard", expected="0.95-1.00") == 1
    assert value(metrics, "rating_calibration_sides_total", policy="yiboard", expected="0.50-0.55") == 0


def test_figures_of_pools_grow_old(clock: Clock) -> None:
    """What housekeeping saw is shown until it is too old: by then another worker does it, and shows its own."""
    registry = CollectorRegistry()
    pools = Pools(registry, clock)
    pools.show([PoolFigures("yi", 10, 10, 0.5, 1210.0, None)], for_s=60)
    assert registry.get_sample_value("rating_pool_mean_points", {"pool": "yi"}) == 1210
    assert registry.get_sample_value("rating_pool_spread_points", {"pool": "yi"}) is None
    pools.show([PoolFigures("shax", 2, 2, 0.5, 1010.0, 14.0)], for_s=60)
    assert registry.get_sample_value("rating_pool_mean_points", {"pool": "yi"}) is None
    clock.now += 60
    assert registry.get_sample_value("rating_pool_mean_points", {"pool": "shax"}) is None


def test_pools_are_bounded(clock: Clock) -> None:
    """However many pools misspelt names make, the hundred largest are shown."""
    registry = CollectorRegistry()
    pools = Pools(registry, clock)
    pools.show([PoolFigures(f"pool {n}", n, n, 0.0, 1.0, 1.0) for n in range(1_000)], for_s=60)
    shown = [sample.labels["pool"] for family in registry.collect() for sample in family.samples]
    assert len(shown) == 5 * MOST_POOLS
    assert set(shown) == {f"pool {n}" for n in range(900, 1_000)}


def test_housekeeping_shows_its_last_turn_and_what_it_found(metrics: Metrics) -> None:
    """When housekeeping was last done is shown, never being 0, and broken invariants are counted by name."""
    assert value(metrics, "rating_housekeeping_last_finished_timestamp_seconds") == 0
    metrics.housekeeping.finished()
    at = value(metrics, "rating_housekeeping_last_finished_timestamp_seconds")
    assert at == pytest.approx(time.time(), abs=5)
    metrics.housekeeping.audited(7, {Invariant.CHAIN: 0, Invariant.SUM: 2})
    assert value(metrics, "rating_audited_entries_total") == 7
    assert value(metrics, "rating_broken_invariants_total", invariant="chain") == 0
    assert value(metrics, "rating_broken_invariants_total", invariant="sum") == 2
