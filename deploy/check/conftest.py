"""What the checks share: a real stack, and no settings of whoever runs them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from deploy.local import Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

for _name in [name for name in os.environ if name.startswith("RATING_") and name != "RATING_LOCAL_CACHE"]:
    del os.environ[_name]


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Real PostgreSQL and real Kafka."""
    with Stack() as running:
        yield running
