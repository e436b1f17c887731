"""Traces: from the one that a match came with, through its batch, to its changes, as a collector gets them."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from deploy.local.ports import Port
from tests.support.collector import collector
from tests.support.kafka import produce, read_all, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.processes import WorkerProcess
from worker.ops import tracing

if TYPE_CHECKING:
    from pathlib import Path

    from worker.settings import Settings

_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def _traced(trace: str, flags: str) -> tuple[tuple[str, bytes], ...]:
    return (("traceparent", f"00-{trace}-{_SPAN}-{flags}".encode()),)


async def test_a_sampled_match_is_followed_to_its_changes(settings: Settings, tmp_path: Path) -> None:
    """Its span is a child of the backend's and linked with its batch; one more for each change, as it is published."""
    matches = stream(40, players=400, seed=61)
    records = [record_of(match) for match in matches]
    sampled, not_sampled = 7, 8
    records[sampled] = records[sampled]._replace(headers=_traced(_TRACE, "01"))
    records[not_sampled] = records[not_sampled]._replace(headers=_traced(_TRACE[::-1], "00"))
    await produce(settings, records)
    with collector() as found:
        async with WorkerProcess(settings, tmp_path / "worker.log", RATING_TRACING_URL=found.url) as worker:
            await until_all_committed(settings)
            worker.send(signal.SIGTERM)  # what is not sent yet is sent at the end
            assert await worker.until_ended() == 0, worker.tail()
    (rated,) = found.named("rate match")
    assert (rated.trace, rated.parent) == (_TRACE, _SPAN)
    assert rated.attributes["rating.event_id"] == matches[sampled].match_id
    (batch,) = found.named(f"process {settings.match_topic}")
    assert rated.links == (batch.span,)
    assert batch.trace != _TRACE
    changes = found.named("rating-changed")
    assert {(change.trace, change.parent) for change in changes} == {(_TRACE, rated.span)}
    published = await read_all(settings, settings.rating_topic)
    of_match = {raw.json()["event_id"] for raw in published if raw.json()["match_id"] == matches[sampled].match_id}
    assert {change.attributes["rating.event_id"] for change in changes} == of_match
    stages = [span for span in found.spans if span.parent == batch.span]
    assert {span.name for span in stages} >= {"write", "flush", "commit_database", "commit_kafka"}
    assert all(0 <= span.seconds <= batch.seconds for span in stages)


async def test_a_collector_that_is_away_holds_nothing_up(settings: Settings, tmp_path: Path) -> None:
    """Matches are rated, and the worker stops in order."""
    matches = stream(40, players=400, seed=62)
    await produce(settings, [record_of(match)._replace(headers=_traced(_TRACE, "01")) for match in matches])
    with_nobody = Port()
    try:
        url = f"http://{with_nobody.address}/v1/traces"
        async with WorkerProcess(settings, tmp_path / "worker.log", RATING_TRACING_URL=url) as worker:
            await until_all_committed(settings)
            worker.send(signal.SIGTERM)
            assert await worker.until_ended() == 0, worker.tail()
    finally:
        with_nobody.release()


def test_tracing_without_its_packages(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, and how to install it; without a collector nothing is asked for."""
    monkeypatch.setattr(tracing, "find_spec", lambda _name: None)
    assert tracing.spans_of(settings) is None
    with pytest.raises(tracing.TracingSetupError, match=r"rating-worker\[tracing\]"):
        tracing.spans_of(settings.model_copy(update={"tracing_url": "http://127.0.0.1:4318/v1/traces"}))
