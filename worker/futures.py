"""Futures that nobody waits for any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def retrieve(future: asyncio.Future[Any]) -> None:
    """Look at an outcome, so that a fault beside one that is told already is not reported later; a done-callback."""
    if not future.cancelled():
        future.exception()
