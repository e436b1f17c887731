"""The first worker of a broker that was never used: what an operator sees at the very first start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deploy.local import Stack
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.workers import working

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from worker.settings import Settings


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """Servers of this test alone: no group has ever asked this broker for anything."""
    with Stack() as running:
        yield running


async def test_a_first_start_alarms_nobody(settings: Settings, tmp_path: Path) -> None:
    """From its start to rated matches and an orderly end a worker logs no error and no warning."""
    async with working(settings, tmp_path, "first") as [worker]:
        await produce(settings, map(record_of, stream(20, players=5, seed=3)))
        await until_all_committed(settings)
    assert [line for line in worker.events() if line["level"] not in {"debug", "info"}] == []
