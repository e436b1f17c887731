"""What a batch takes in: all that the broker has when it is begun, not only what aiokafka had fetched by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka import TopicPartition

from tests.support.kafka import Raw, produce
from tests.support.sources import unclaimed
from tests.support.waiting import until
from worker.stream import source as module

if TYPE_CHECKING:
    import pytest

    from worker.settings import Settings
    from worker.stream.batch import Batch

_LONG_MS = 60_000


def _values(batch: Batch | None) -> list[bytes | None]:
    return [] if batch is None else sorted(record.value or b"" for record in batch.records)


async def test_what_came_while_a_batch_was_worked_on_is_all_in_the_next(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what came after aiokafka had fetched the first of it, and fetched no more until that is taken."""
    monkeypatch.setattr(module, "_SINCE_MS", _LONG_MS)  # however slow the machine is
    settings = settings.model_copy(update={"batch_max_wait_ms": _LONG_MS})
    source = unclaimed(settings)
    await source.start()
    try:
        await until(lambda: len(source.consumer.assignment()) > 0, 60)
        await produce(settings, [Raw(None, b"in hand", partition=0)])
        assert _values(await source.next_batch()) == [b"in hand"]
        fetched = source.consumer._fetcher._records
        await produce(settings, [Raw(None, b"fetched meanwhile", partition=1)])
        await until(lambda: TopicPartition(settings.match_topic, 1) in fetched, 60)
        await produce(settings, [Raw(None, b"came after it", partition=2)])
        assert _values(await source.next_batch()) == [b"came after it", b"fetched meanwhile"]
    finally:
        await source.stop()
