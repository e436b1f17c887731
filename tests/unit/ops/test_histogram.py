from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from pytest import approx  # noqa: PT013 - reads as a word

from worker.ops.histogram import BulkHistogram, Series

BOUNDS = (0.005, 0.1, 1.0, 2.5, 10.0)
FINITE = st.floats(min_value=0, max_value=1e9) | st.sampled_from(BOUNDS)
BATCHES = st.lists(st.lists(FINITE, max_size=50), max_size=5)


@given(BATCHES)
@example([[0.005, 0.1, 0.1, 10.0, 10.000001]])
def test_observe_many_equals_repeated_observe(batches: list[list[float]]) -> None:
    """Counting a batch at once gives the same buckets, count and sum as counting its values one by one."""
    at_once, one_by_one = Series(BOUNDS), Series(BOUNDS)
    for batch in batches:
        at_once.observe_many(batch)
        for value in batch:
            one_by_one.observe(value)
    assert at_once.cumulative() == one_by_one.cumulative()
    assert at_once.count == one_by_one.count == sum(map(len, batches))
    assert at_once.sum == approx(one_by_one.sum)


@given(BATCHES)
def test_exposes_what_the_librarys_histogram_exposes(batches: list[list[float]]) -> None:
    """A scrape reads the same from this histogram as from prometheus-client's own."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    series = BulkHistogram("rating_x_seconds", "X.", BOUNDS, registry=ours).series()
    reference = Histogram("rating_x_seconds", "X.", buckets=BOUNDS, registry=theirs)
    for batch in batches:
        series.observe_many(batch)
        for value in batch:
            reference.observe(value)
    for bound in (*map(str, BOUNDS), "+Inf"):
        labels = {"le": bound}
        assert ours.get_sample_value("rating_x_seconds_bucket", labels) == theirs.get_sample_value(
            "rating_x_seconds_bucket", labels
        )
    assert ours.get_sample_value("rating_x_seconds_count") == theirs.get_sample_value("rating_x_seconds_count")
    assert ours.get_sample_value("rating_x_seconds_sum") == approx(theirs.get_sample_value("rating_x_seconds_sum"))


def test_the_text_form_is_the_librarys() -> None:
    """Apart from the time of creation, the text that Prometheus reads is the library's, byte for byte."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    BulkHistogram("rating_x_seconds", "X.", BOUNDS, label="stage", registry=ours).series("lock").observe(0.1)
    Histogram("rating_x_seconds", "X.", ["stage"], buckets=BOUNDS, registry=theirs).labels("lock").observe(0.1)
    expected = [line for line in generate_latest(theirs).splitlines() if b"_created" not in line]
    assert generate_latest(ours).splitlines() == expected


def test_a_batch_may_be_any_iterable_and_empty() -> None:
    """An iterator counts like a list, and an empty batch changes nothing."""
    series = Series(BOUNDS)
    series.observe_many(iter((0.05, 0.05, 99.0)))
    series.observe_many([])
    assert series.cumulative() == [0, 2, 2, 2, 2, 3]
    assert math.isclose(series.sum, 99.1)


def test_label_values_are_bounded() -> None:
    """However many label values turn up, a histogram keeps at most 100 of them and one for all others."""
    registry = CollectorRegistry()
    histogram = BulkHistogram("rating_x_points", "X.", BOUNDS, label="policy", registry=registry)
    for number in range(500):
        histogram.series(f"policy-{number}").observe(1)
    counts = [s for m in registry.collect() for s in m.samples if s.name == "rating_x_points_count"]
    assert len(counts) == 101
    assert sum(sample.value for sample in counts) == 500
    assert registry.get_sample_value("rating_x_points_count", {"policy": "other"}) == 400
