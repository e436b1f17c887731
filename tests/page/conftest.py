"""What the tests of the page share."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from tests.page.asking import visiting
from tests.page.happenings import happen
from tests.support.places import prepared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from deploy.local import Stack
    from tests.page.asking import Visitor
    from worker.settings import Settings


@pytest.fixture
async def empty(settings: Settings) -> AsyncIterator[Visitor]:
    """Give somebody who asks the page of a worker that has taken nothing yet."""
    async with visiting(settings) as visitor:
        yield visitor


@pytest.fixture(scope="module")
async def happened(stack: Stack) -> Settings:
    """Settings of a place where much has happened; for looking, not for changing."""
    name = f"page_{secrets.token_hex(4)}"
    settings = await prepared(stack.bootstrap, stack.create_database(name), name)
    await happen(settings)
    return settings
