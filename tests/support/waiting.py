"""Waiting for a condition that can be looked at, never for time to pass."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def until(
    condition: Callable[[], bool | Awaitable[bool]], timeout_s: float, otherwise: Callable[[], str] = lambda: ""
) -> None:
    """Look at a condition until it holds.

    Raises:
        AssertionError: It did not hold in time; says what `otherwise` gives.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        held = condition()
        if await held if inspect.isawaitable(held) else held:
            return
        assert asyncio.get_running_loop().time() < deadline, f"not within {timeout_s} s: {otherwise()}"
        await asyncio.sleep(0.05)
