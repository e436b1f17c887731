from __future__ import annotations

import platform
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from worker import __version__
from worker.events import Reject
from worker.ops.health import Component, Health
from worker.ops.labels import Invariant
from worker.ops.metrics import Dropped, Duplicate, Metrics, RecordOutcome, Retry, Stage
from worker.rating.model import Change, PolicyRef, Reason
from worker.rating.signals import Signal

if TYPE_CHECKING:
    from tests.unit.ops.conftest import Clock

UNITS = (
    "seconds",
    "records",
    "changes",
    "points",
    "ratio",
    "score",
    "sides",
    "partitions",
    "notices",
    "entries",
    "invariants",
    "players",
    "connections",
)
# Names without a unit: counts of happenings, whose unit is the happening, a flag, and an info.
UNITLESS = {
    "rating_retries",
    "rating_fences",
    "rating_rebalances",
    "rating_lost_claims",
    "rating_ready",
    "rating_build",
    "rating_worker",
    "rating_component_up",
}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def change(policy: str = "yiboard", k: float | None = 32.0, delta: float = -16.0) -> Change:
    return Change(
        pool="yi",
        player_id="secret-player",
        opponent_id="secret-opponent",
        match_id="secret-match",
        reason=Reason.MATCH,
        version=1,
        before=1200.0,
        after=1200.0 + delta,
        delta=delta,
        expected=0.5,
        score=0.0,
        k=k,
        k_rule="established",
        weight=0.5,
        factors=(),
        games=1,
        provisional=True,
        adjusted=(),
        title_before="Sixth Grade",
        title_after="Seventh Grade",
        policy=PolicyRef(policy, 1, "d"),
        occurred_at=NOW,
    )


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_every_name_has_prefix_help_and_unit(metrics: Metrics) -> None:
    """Each metric of ours starts with `rating_`, says what it is, and ends in its unit."""
    ours = [family for family in metrics.registry.collect() if not family.name.startswith(("python_", "process_"))]
    assert len(ours) >= 18
    for family in ours:
        assert family.name.startswith("rating_")
        assert family.documentation.endswith(".") or "," in family.documentation
        assert family.name.endswith(UNITS) or family.name in UNITLESS, family.name


def test_process_and_interpreter_are_on_the_same_registry(metrics: Metrics) -> None:
    """One scrape shows the process's memory and CPU, the interpreter and its garbage collector too."""
    names = {family.name for family in metrics.registry.collect()}
    assert {"process_resident_memory_bytes", "process_cpu_seconds", "python_info", "python_gc_collections"} <= names
    assert value(metrics, "rating_build_info", version=__version__, python=platform.python_version()) == 1


def test_two_workers_fit_in_one_process_each_with_its_registry(metrics: Metrics) -> None:
    """Nothing is global: a second worker counts by itself, and only sharing a registry is refused."""
    other = Metrics(CollectorRegistry())
    other.rated(3)
    assert value(metrics, "rating_records_total", outcome="rated", reason="") == 0
    with pytest.raises(ValueError, match="rating_records"):
        Metrics(other.registry)


def test_records_are_counted_by_outcome_and_reason(metrics: Metrics) -> None:
    """Each record lands under its outcome with its reason, and the sum over all is what was fetched."""
    metrics.rated(5)
    metrics.rated()
    metrics.unrated("casual", 2)
    metrics.recorded("void", 4)
    metrics.duplicates(Duplicate.REDELIVERED, 3)
    metrics.duplicates(Duplicate.RESENT)
    metrics.dead_lettered("schema")
    metrics.dropped(Dropped.STALE_EPOCH, 7)
    metrics.dropped(Dropped.BELOW_POSITION)
    metrics.published(12)
    counted = {
        (sample.labels["outcome"], sample.labels["reason"]): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "rating_records_total" and sample.value
    }
    assert counted == {
        ("rated", ""): 6,
        ("unrated", "casual"): 2,
        ("recorded", "void"): 4,
        ("duplicate", "redelivered"): 3,
        ("duplicate", "resent"): 1,
        ("dead-lettered", "schema"): 1,
        ("dropped", "stale-epoch"): 7,
        ("dropped", "below-position"): 1,
    }
    assert {outcome for outcome, _ in counted} == set(RecordOutcome)
    assert value(metrics, "rating_published_changes_total") == 12


def test_reasons_are_bounded(metrics: Metrics) -> None:
    """A reason that is made up per record, against the rule, ends under `other` and fills no memory."""
    named = len(metrics._record_series)
    for number in range(1_000):
        metrics.dead_lettered(f"reason {number}")
    text = generate_latest(metrics.registry).decode()
    assert text.count("rating_records_total{") == 101
    assert value(metrics, "rating_records_total", outcome="dead-lettered", reason="other") == 900 + named
    assert len(metrics._record_series) <= 101


def test_what_may_come_is_there_before_it_comes(metrics: Metrics) -> None:
    """Each dead-letter reason, broken invariant and signal is at 0 from the start, so that a rate sees the first."""
    for reason in Reject:
        assert value(metrics, "rating_records_total", outcome="dead-lettered", reason=reason) == 0
    for invariant in Invariant:
        assert value(metrics, "rating_broken_invariants_total", invariant=invariant) == 0
    for signal in Signal:
        assert value(metrics, "rating_published_notices_total", kind="integrity-flagged", signal=signal) == 0


def test_stages_are_timed_also_when_they_fail(metrics: Metrics) -> None:
    """A stage counts once however it ends, by enum or by name, and an unknown stage is refused."""
    with metrics.stage(Stage.LOCK):
        pass
    with pytest.raises(OSError, match="gone"), metrics.stage("lock"):
        raise OSError("gone")
    assert value(metrics, "rating_stage_seconds_count", stage="lock") == 2
    with pytest.raises(ValueError, match="lunch"):
        metrics.stage("lunch")


def test_a_stage_may_be_timed_elsewhere(metrics: Metrics) -> None:
    """A stage whose time was taken elsewhere, as in the database, counts like any other."""
    metrics.took(Stage.WRITE, 0.25)
    assert value(metrics, "rating_stage_seconds_sum", stage="write") == 0.25


def test_every_stage_is_there_before_it_first_happens(metrics: Metrics) -> None:
    """Dashboards find all stages at 0 from the start."""
    for stage in Stage:
        assert value(metrics, "rating_stage_seconds_count", stage=stage.value) == 0


def test_stages_may_overlap(metrics: Metrics) -> None:
    """Two timers of one stage that overlap each measure their own time."""
    first, second = metrics.stage(Stage.FLUSH), metrics.stage(Stage.FLUSH)
    with first:
        with second:
            pass
        time.sleep(0.002)
    total = value(metrics, "rating_stage_seconds_sum", stage="flush")
    assert total is not None
    assert 0.002 <= total < 2


def test_a_batch_has_a_time_and_a_size(metrics: Metrics) -> None:
    """A batch is timed as a whole and its size noted."""
    with metrics.batch(1_500):
        pass
    assert value(metrics, "rating_batch_seconds_count") == 1
    assert value(metrics, "rating_batch_records_sum") == 1_500


def test_ages_are_measured_to_the_acknowledgement(metrics: Metrics) -> None:
    """Match and record ages count from their own times, and one from the future counts as 0, never below."""
    finished = [NOW - timedelta(seconds=3), NOW + timedelta(hours=1)]
    produced = [int((NOW.timestamp() - 0.25) * 1000)]
    metrics.acknowledged(finished, produced, now_s=NOW.timestamp())
    assert value(metrics, "rating_finished_to_acknowledged_seconds_count") == 2
    assert value(metrics, "rating_finished_to_acknowledged_seconds_sum") == pytest.approx(3)
    assert value(metrics, "rating_finished_to_acknowledged_seconds_bucket", le="0.005") == 1
    assert value(metrics, "rating_produced_to_acknowledged_seconds_sum") == pytest.approx(0.25)


def test_changes_show_k_weight_and_size_by_policy(metrics: Metrics) -> None:
    """K, weight and the size of a change are noted under its policy; a restart, which has no K, is not."""
    metrics.changes([change(), change(k=None, delta=300.0), change("fide", k=20.0), change()])
    assert value(metrics, "rating_k_points_sum", policy="yiboard") == 64
    assert value(metrics, "rating_k_points_sum", policy="fide") == 20
    assert value(metrics, "rating_weight_ratio_sum", policy="yiboard") == 1
    assert value(metrics, "rating_delta_points_sum", policy="yiboard") == 32
    assert value(metrics, "rating_delta_points_count", policy="yiboard") == 2


def test_no_label_names_a_player_or_a_match(metrics: Metrics) -> None:
    """Ids that grow with the game never become labels."""
    metrics.changes([change()])
    assert b"secret-" not in generate_latest(metrics.registry)


def test_lag_is_forgotten_with_its_partition(metrics: Metrics) -> None:
    """After a rebalance a scrape shows lag for the partitions held, and for no other."""
    metrics.assigned([("match-events", 0), ("match-events", 1)])
    metrics.lag("match-events", 0, 10)
    metrics.lag("match-events", 1, 20)
    metrics.lag("match-events", 1, 25)
    metrics.assigned([("match-events", 1), ("match-events", 2)])
    assert value(metrics, "rating_consumer_lag_records", topic="match-events", partition="0") is None
    assert value(metrics, "rating_consumer_lag_records", topic="match-events", partition="1") == 25
    assert value(metrics, "rating_assigned_partitions") == 2
    assert value(metrics, "rating_rebalances_total") == 2
    metrics.held([])
    assert value(metrics, "rating_consumer_lag_records", topic="match-events", partition="1") is None
    assert value(metrics, "rating_assigned_partitions") == 0
    assert value(metrics, "rating_rebalances_total") == 2


def test_lag_comes_back_with_its_partition(metrics: Metrics) -> None:
    """A partition that comes back after it was lost shows its lag again."""
    for lag in (1, 2):
        metrics.assigned([("match-events", 0)])
        metrics.lag("match-events", 0, lag)
        assert value(metrics, "rating_consumer_lag_records", topic="match-events", partition="0") == lag
        metrics.held([])


def test_trouble_is_counted(metrics: Metrics) -> None:
    """Retries by kind, fences and lost claims each have a counter, at 0 before the first."""
    for kind in Retry:
        assert value(metrics, "rating_retries_total", kind=kind.value) == 0
        metrics.retried(kind)
        assert value(metrics, "rating_retries_total", kind=kind.value) == 1
    metrics.fenced()
    metrics.lost_claim()
    assert value(metrics, "rating_fences_total") == value(metrics, "rating_lost_claims_total") == 1


def test_readiness_and_progress_are_read_at_each_scrape(metrics: Metrics, health: Health, clock: Clock) -> None:
    """The two gauges follow the health they watch without being told."""
    metrics.instance.watch(health)
    assert value(metrics, "rating_ready") == 0
    for component in Component:
        assert value(metrics, "rating_component_up", component=component) == 0
        health.up(component)
    assert value(metrics, "rating_ready") == 1
    for component in Component:
        assert value(metrics, "rating_component_up", component=component) == 1
    health.down(Component.KAFKA, "gone")
    assert value(metrics, "rating_component_up", component="kafka") == 0
    assert value(metrics, "rating_component_up", component="database") == 1
    health.up(Component.KAFKA)
    clock.now += 50
    assert value(metrics, "rating_last_progress_timestamp_seconds") == pytest.approx(time.time() - 50, abs=5)
    health.progress()
    assert value(metrics, "rating_last_progress_timestamp_seconds") == pytest.approx(time.time(), abs=5)


def test_a_batch_of_2000_costs_little(metrics: Metrics) -> None:
    """Noting all ages and changes of a full batch takes a few ms of the loop (bound generous for slow machines)."""
    finished, produced = [NOW] * 2_000, [1_000] * 2_000
    changes = [change()] * 4_000
    started = time.perf_counter()
    metrics.acknowledged(finished, produced, now_s=NOW.timestamp())
    metrics.changes(changes)
    assert time.perf_counter() - started < 0.1
