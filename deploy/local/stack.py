"""Both servers as one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from deploy.local.kafka import Kafka
from deploy.local.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Stack:
    """A real PostgreSQL and a real Kafka, for as long as the `with` block, or until `stop`.

    Args:
        postgres_settings: see `Postgres`.
        kafka_settings: see `Kafka`.
        kafka_listeners: see `Kafka`.
        data: a folder that stays, for both; without one, temporary folders that vanish with the servers.
        postgres_user: whom PostgreSQL runs as when we are root.
        jvm_options: see `Kafka`.
    """

    def __init__(
        self,
        postgres_settings: Mapping[str, str] | None = None,
        kafka_settings: Mapping[str, str] | None = None,
        kafka_listeners: Mapping[str, str] | None = None,
        data: Path | None = None,
        postgres_user: str | None = None,
        jvm_options: Sequence[str] = (),
    ) -> None:
        self.postgres = Postgres(postgres_settings, data and data / "postgres", postgres_user)
        self.kafka = Kafka(kafka_settings, kafka_listeners, data and data / "kafka", jvm_options)

    @classmethod
    def large(cls, data: Path | None = None) -> Self:
        """Give servers for a load, or for large tables; without it they are as small as tests need them.

        PostgreSQL has the quarter of the memory that its manual names for a start, and a write-ahead log that one
        checkpoint in 15 minutes is enough for: after each, the first change of a page logs the whole page. Kafka's JVM
        is as its own start script has it.
        """
        quarter_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // 4
        postgres = {"shared_buffers": f"{quarter_mb}MB", "max_wal_size": "8GB", "checkpoint_timeout": "15min"}
        return cls(postgres, data=data, jvm_options=("-Xms1g", "-Xmx1g", "-XX:MaxGCPauseMillis=20"))

    def start(self) -> Self:
        """Start both, side by side; if one fails, the other is stopped and the error is raised."""
        try:
            with ThreadPoolExecutor(2) as pool:
                for started in [pool.submit(server.start) for server in (self.postgres, self.kafka)]:
                    started.result()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop both for good; temporary folders are removed."""
        self.kafka.close()
        self.postgres.close()

    @property
    def bootstrap(self) -> str:
        """Kafka's `host:port`."""
        return self.kafka.address()

    @property
    def dsn(self) -> str:
        """The URL of the database `rating`."""
        return self.postgres.dsn()

    @property
    def environment(self) -> dict[str, str]:
        """What the worker reads its settings from."""
        return {"RATING_KAFKA_BOOTSTRAP": self.bootstrap, "RATING_DATABASE_URL": self.dsn}

    def create_database(self, name: str) -> str:
        """Make an empty database; its URL."""
        return self.postgres.create_database(name)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
