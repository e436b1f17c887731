"""How long is waited before something is tried again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import pytest

from worker.ledger.errors import RaceLostError
from worker.retrying import retrying

if TYPE_CHECKING:
    from collections.abc import Callable

_TRIES = 12  # by then the longest wait would be 200 s


def _nothing(*_: object) -> None:
    pass


async def _waits(fault: Callable[[], Exception], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the longest that might be waited after each of some tries that fail; nothing is waited in truth."""
    monkeypatch.setattr("random.uniform", lambda _least, most: most)
    stopping = asyncio.Event()
    attempts = retrying(max_wait_s=30.0, stopping=stopping, before_retry=_nothing, give_up=_nothing)
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == _TRIES:
            stopping.set()

    monkeypatch.setattr(attempts, "sleep", pause)
    async for attempt in attempts:
        with attempt:
            raise fault()
    return waits


@pytest.mark.parametrize("fault", [lambda: RaceLostError("met"), lambda: asyncpg.DeadlockDetectedError("met")])
async def test_two_workers_that_met_do_not_wait_for_long(
    fault: Callable[[], Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is away, and who waits for seconds meets the other at work again."""
    assert max(await _waits(fault, monkeypatch)) == pytest.approx(0.5)


async def test_what_is_away_is_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait may be twice as long as the one before, up to the setting."""
    waits = await _waits(lambda: ConnectionRefusedError("away"), monkeypatch)
    assert waits[:3] == pytest.approx([0.05, 0.1, 0.2])
    assert max(waits) == pytest.approx(30.0)
