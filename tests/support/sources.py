"""A source whose partitions nobody claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from worker.ops.metrics import Metrics
from worker.stream.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from worker.settings import Settings


def unclaimed(settings: Settings) -> Source:
    """Make a source that takes partitions without a ledger; it is not started."""
    return Source(settings, Metrics(CollectorRegistry()), take=_take, release=_release)


async def _take(_partitions: Iterable[tuple[str, int]]) -> None:
    pass


async def _release() -> None:
    pass
