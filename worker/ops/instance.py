"""Which worker this is, whether it is well, and the limits that it works within; and what the process itself uses."""

from __future__ import annotations

import platform
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import Gauge, GCCollector, Info, PlatformCollector, ProcessCollector

from worker import __version__
from worker.ops.health import Component

if TYPE_CHECKING:
    from asyncpg import Pool
    from prometheus_client import CollectorRegistry

    from worker.ops.health import Health
    from worker.settings import Settings


class InstanceMetrics:
    """The metrics of one worker as a process. What changes by itself is read at each scrape."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ready = Gauge("rating_ready", "1 when the worker can take matches, 0 when not.", registry=registry)
        self._progress = Gauge(
            "rating_last_progress_timestamp_seconds",
            "When the loop last moved, in seconds since 1970.",
            registry=registry,
        )
        self._component_up = Gauge(
            "rating_component_up", "1 when Kafka or Postgres is there, 0 when not.", ("component",), registry=registry
        )
        self._batch_limit = Gauge("rating_batch_max_records", "The most records in one batch.", registry=registry)
        self._connections = Gauge(
            "rating_database_connections",
            "Connections to Postgres that are open, at work or idle.",
            ("state",),
            registry=registry,
        )
        self._connection_limit = Gauge(
            "rating_database_max_connections", "The most connections that this worker may open.", registry=registry
        )
        self._housekeeping_interval = Gauge(
            "rating_housekeeping_interval_seconds", "How often housekeeping looks for work.", registry=registry
        )
        Info("rating_build", "Version of the worker.", registry=registry).info(
            {"version": __version__, "python": platform.python_version()}
        )
        self._worker = Info("rating_worker", "Which worker this is, and how it delivers.", registry=registry)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def watch(self, health: Health) -> None:
        """Let readiness and last progress be read off the worker's health at each scrape."""
        self._ready.set_function(lambda: float(health.ready().ok))
        self._progress.set_function(lambda: time.time() - health.idle_s())
        for component in Component:
            self._component_up.labels(component).set_function(partial(health.is_up, component))

    def watch_connections(self, pool: Pool[Any]) -> None:
        """Let the connections to Postgres be counted at each scrape."""
        self._connections.labels("idle").set_function(pool.get_idle_size)
        self._connections.labels("busy").set_function(lambda: pool.get_size() - pool.get_idle_size())

    def describe(self, settings: Settings) -> None:
        """Show which worker this is, and the limits that it works within."""
        self._worker.info(
            {
                "consumer_group": settings.consumer_group,
                "instance_id": settings.instance_id,
                "delivery": settings.delivery.value,
            }
        )
        self._batch_limit.set(settings.batch_max_records)
        self._connection_limit.set(settings.database_pool_size)
        self._housekeeping_interval.set(settings.housekeeping_interval_s)
