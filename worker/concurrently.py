"""Doing two things at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

_One = TypeVar("_One")
_Other = TypeVar("_Other")


async def both(one: Awaitable[_One], other: Awaitable[_Other]) -> tuple[_One, _Other]:
    """Run two things side by side until both have ended; give what they gave, or raise what went wrong with either."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second
