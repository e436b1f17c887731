"""The parts of the page that need no worker: who is let in, what is left out of a plot, what the figures say."""

from __future__ import annotations

import asyncio
import io
import random
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from worker.ledger.reads.trace import Point, thinned
from worker.ops.health import Component, Health
from worker.ops.logging import configure_logging
from worker.ops.metrics import Metrics
from worker.ops.page.admission import Admission
from worker.ops.page.sampling import quantile
from worker.ops.page.status import Status
from worker.ops.recent import RECENT, Recent
from worker.rating.model import Reason
from worker.settings import LogFormat, LogLevel

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


@given(
    seed=st.integers(),
    count=st.integers(1, 600),
    marked=st.floats(0, 1),
    most=st.integers(8, 100),
)
def test_thinning_keeps_the_shape(seed: int, count: int, marked: float, most: int) -> None:
    """Never more than asked for, in order, with the first, the last, the highest, the lowest and the latest marks."""
    chance = random.Random(seed)
    ratings = [chance.uniform(0, 3000) for _ in range(count)]
    reasons = [Reason.VOID if chance.random() < marked else Reason.MATCH for _ in range(count)]
    points = [
        Point(place + 1, BEGUN + timedelta(hours=place), rating, reason, None)
        for place, (rating, reason) in enumerate(zip(ratings, reasons, strict=True))
    ]
    kept = thinned(points, most)
    assert len(kept) <= most
    assert [point for point in points if point in kept] == kept
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert (min(point.rating for point in kept), max(point.rating for point in kept)) == (min(ratings), max(ratings))
    marks = [point for point in points if point.reason is Reason.VOID]
    assert set(marks[-(most // 4) :]) <= set(kept)


async def test_few_are_let_in() -> None:
    """A burst goes through, some wait for their turn, the rest is refused."""
    admission = Admission()
    let_in = await asyncio.gather(*(admission.admit() for _ in range(90)))
    assert 70 <= sum(let_in) <= 75, "sixty at once, two seconds' worth that wait, and what time lets in meanwhile"
    assert all(let_in[:70])


@pytest.mark.parametrize(
    ("share", "age"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (0.75, 1.5), (0.9, 1.8), (0.99, 2.0), (1.0, 2.0)]
)
def test_quantiles(share: float, age: float) -> None:
    """Between bounds they are interpolated; beyond the last finite bound they are that bound."""
    ages = ((1.0, 50.0), (2.0, 100.0), (float("inf"), 100.0 if share < 0.99 else 110.0))
    assert quantile(ages, share) == pytest.approx(age, abs=0.2)
    assert quantile((), share) is None
    assert quantile(((1.0, 0.0), (float("inf"), 0.0)), share) is None


async def test_the_figures_are_those_of_the_metrics() -> None:
    """What was counted, in whatever order, is what the status says; a registry of another worker changes nothing."""
    metrics, health = Metrics(CollectorRegistry()), Health(120)
    other = Metrics(CollectorRegistry())
    other.rated(99)
    status = Status(metrics.registry, health)
    status.sampling.start()
    metrics.rated(7)
    metrics.unrated("casual", 2)
    metrics.dead_lettered("not-json", 3)
    metrics.published(14)
    metrics.lag("matches", 10, 5)
    metrics.lag("matches", 2, 4)
    metrics.acknowledged([BEGUN], [0], now_s=0.2)
    status.sampling._take()
    health.up(Component.KAFKA)
    document = status.document()
    status.sampling.stop()
    assert document["totals"] | {"published": 14} == document["totals"]
    assert (document["totals"]["rated"], document["totals"]["unrated"]) == (7, 2)
    assert document["dead_letters"] == {"not-json": 3}
    assert document["lag"]["records"] == 9
    assert [one["partition"] for one in document["lag"]["topics"][0]["partitions"]] == [2, 10]
    assert [one["up"] for one in document["components"]] == [True, False]
    assert document["components"][1]["why"] == "not connected yet"
    assert document["per_second"]["rated"] > 0
    assert 0.1 <= document["delay"]["p50_s"] <= 0.25


def test_what_went_wrong_is_remembered_without_secrets() -> None:
    """Warnings and errors are kept, the worker's own and the libraries'; information is not; passwords never are."""
    configure_logging(LogFormat.JSON, LogLevel.INFO, io.BytesIO(), cache=False)
    log = structlog.get_logger("test")
    log.info("only information")
    log.warning("away", url="postgresql://rating:hunter2@db/rating", database_url="x://y:hunter2@z", tries=3)
    try:
        raise ConnectionError('password=hunter2 at x://u:hunter2@h and "quoted" \\ \ud800')  # noqa: TRY301
    except ConnectionError:
        log.exception("broken", nested={"password": "hunter2"})
    newest, before = RECENT.lines()[:2]
    assert (before["level"], before["event"], before["details"]["tries"]) == ("warning", "away", "3")
    assert (newest["level"], newest["event"]) == ("error", "broken")
    assert "ConnectionError" in newest["details"]["exception"]
    assert "hunter2" not in repr(RECENT.lines())
    assert "only information" not in repr(RECENT.lines())


def test_the_ring_is_bounded() -> None:
    """Fifty lines, a dozen fields of each, a few hundred characters of those."""
    ring = Recent()
    for number in range(500):
        ring.add({"event": "e" * 10_000, "level": "error"} | {f"f{n}": "x" * 10_000 for n in range(number % 40)})
    assert len(ring.lines()) == 50
    assert sum(len(repr(line)) for line in ring.lines()) < 50 * 13 * 500
