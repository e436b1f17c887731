"""One local stack for the whole run, and for each test a database and topics of its own on it."""

from __future__ import annotations

import itertools
import os
import secrets
from typing import TYPE_CHECKING

import hypothesis
import pytest

from deploy.local import Stack
from worker.ledger.migrate import migrate
from worker.settings import Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = itertools.count()

# No test is timed: a slow or busy machine must not fail it.
hypothesis.settings.register_profile(
    "steady", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("steady")

# Settings of whoever runs the tests must not change what they test.
for _name in [name for name in os.environ if name.startswith("RATING_") and name != "RATING_LOCAL_CACHE"]:
    del os.environ[_name]


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Real PostgreSQL and real Kafka, started once and shared."""
    with Stack() as running:
        yield running


@pytest.fixture
def blank_settings(stack: Stack) -> Settings:
    """Settings of a fresh database that is not migrated, and of topics that don't exist yet."""
    name = f"t{next(_numbers)}_{secrets.token_hex(3)}"
    return Settings(
        kafka_bootstrap=stack.bootstrap,
        database_url=stack.create_database(name),
        consumer_group=f"{name}.group",
        match_topic=f"{name}.matches",
        verdict_topic=f"{name}.verdicts",
        tournament_topic=f"{name}.tournaments",
        rating_topic=f"{name}.ratings",
        notice_topic=f"{name}.notices",
        dead_letter_topic=f"{name}.dlq",
        http_port=0,
        session_timeout_ms=6_000,
        retry_max_wait_s=1.0,
        batch_max_wait_ms=50,
    )


@pytest.fixture
async def settings(blank_settings: Settings) -> Settings:
    """Settings of a fresh database, migrated, and of fresh topics with 12 partitions."""
    await migrate(blank_settings.database_url.get_secret_value())
    await create_topics(blank_settings, partitions=12)
    return blank_settings
