"""Doing two things at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable


async def both(one: Awaitable[None], other: Awaitable[None]) -> None:
    """Run two things side by side until both have ended, then raise what went wrong with either."""
    for result in await asyncio.gather(one, other, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
