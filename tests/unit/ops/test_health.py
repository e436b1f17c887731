from __future__ import annotations

from typing import TYPE_CHECKING

from worker.ops.health import Component, Health

if TYPE_CHECKING:
    from tests.unit.ops.conftest import Clock


def test_live_as_long_as_the_loop_moves(health: Health, clock: Clock) -> None:
    """The worker is live up to the timeout after the last progress, then not, and again after the next."""
    clock.now += 120
    assert health.live().ok
    clock.now += 1
    verdict = health.live()
    assert not verdict.ok
    assert verdict.reasons == ("no progress for 121 s, allowed are 120 s",)
    health.progress()
    assert health.live().ok
    assert health.idle_s() == 0


def test_ready_when_every_component_is_up(health: Health) -> None:
    """A worker that starts is not ready, says what it waits for, and is ready when all is there."""
    assert health.ready().reasons == ("kafka: not connected yet", "database: not connected yet")
    health.up(Component.KAFKA)
    assert health.ready().reasons == ("database: not connected yet",)
    health.up(Component.DATABASE)
    assert health.ready().ok


def test_a_component_away_takes_readiness_and_not_liveness(health: Health) -> None:
    """A broker or database away is no reason for a restart."""
    _all_up(health)
    health.down(Component.DATABASE, "connection refused")
    assert health.ready().reasons == ("database: connection refused",)
    assert health.live().ok


def test_news_is_told_once(health: Health) -> None:
    """`up` and `down` say whether the state changed, so that a retry loop logs once; the latest reason holds."""
    assert health.up(Component.KAFKA)
    assert not health.up(Component.KAFKA)
    assert health.down(Component.KAFKA, "timeout")
    assert not health.down(Component.KAFKA, "refused")
    assert "kafka: refused" in health.ready().reasons


def test_a_stopping_worker_is_live_and_not_ready(health: Health) -> None:
    """Readiness goes off first in a shutdown; being killed for it would lose the batch in flight."""
    _all_up(health)
    health.stopping()
    assert health.ready().reasons == ("stopping",)
    assert health.live().ok


def test_a_hung_worker_is_not_ready(health: Health, clock: Clock) -> None:
    """A loop that stands still takes no matches, whatever its connections say."""
    _all_up(health)
    clock.now += 1_000
    assert not health.ready().ok


def _all_up(health: Health) -> None:
    for component in Component:
        health.up(component)
