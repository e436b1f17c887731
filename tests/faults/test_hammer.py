"""Workers that meet at the same players all the time wait for each other, and never deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.hammer import hammer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers


async def test_two_workers_at_the_same_ten_players(servers: ProxiedServers, tmp_path: Path) -> None:
    """For some seconds every batch meets the other worker's: no deadlock is logged or retried, all is in order."""
    done = await hammer(await servers.prepare("hammer"), tmp_path, seconds=5.0)
    assert done.matches > 0
    assert done.deadlocks == []
    assert done.retries["deadlock"] == done.retries["serialization"] == 0, done.retries
    assert done.findings.wrong() == {}
