"""A fault that the group's coordinator tells between two assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, UnknownError

from tests.support.sources import unclaimed
from tests.support.waiting import until
from worker.stream.errors import StreamAwayError, StreamSetupError

if TYPE_CHECKING:
    from tests.support.places import ProxiedServers


@pytest.mark.parametrize(
    ("fault", "told"),
    [(GroupAuthorizationFailedError("group"), StreamSetupError), (UnknownError("odd"), StreamAwayError)],
    ids=["not-allowed", "unknown"],
)
async def test_a_fault_while_the_group_is_joined_again(
    servers: ProxiedServers, fault: Exception, told: type[Exception]
) -> None:
    """aiokafka joins no more until somebody asks what went wrong; so it is asked also where no partition is held."""
    settings = await servers.prepare(f"rejoining_{told.__name__.lower()}")
    source = unclaimed(settings)
    await source.start()
    try:
        await until(lambda: len(source.consumer.assignment()) > 0, 60)
        assert await source.next_batch() is None
        await source.on_partitions_revoked(source.consumer.assignment())
        source.consumer._coordinator._pending_exception = fault  # as after a refused JoinGroup
        with pytest.raises(told):
            await source.next_batch()
        assert await source.next_batch() is None  # told once; then it is joined again
    finally:
        await source.stop()
