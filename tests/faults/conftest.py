"""Servers for the tests of faults, which nobody else uses: they are cut off, filled up and taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from tests.support.places import ProxiedServers, proxied_servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def servers() -> AsyncIterator[ProxiedServers]:
    """Postgres and Kafka, each behind a proxy, started once."""
    async with proxied_servers() as running:
        yield running
