"""What the tests of `worker.ops` share: metrics on a registry of their own, and a clock that moves when told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry

from worker.ops.health import Health
from worker.ops.metrics import Metrics


@dataclass
class Clock:
    """Seconds that stand still until a test moves them."""

    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(progress_timeout_s=120.0, clock=clock)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry())
