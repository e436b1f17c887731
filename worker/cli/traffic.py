"""Steady made-up traffic: matches at a pace, now and then a repeat or a record that can't be taken."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from worker.generator import repeated, spoilt

if TYPE_CHECKING:
    from collections.abc import Callable

    from worker.cli.sending import Sender
    from worker.generator import World

_STEP_S = 0.1
_REPEATED_EVERY, _BAD_EVERY = 200, 250


async def send_traffic(
    world: World, sender: Sender, rate: float, stop: asyncio.Event, show: Callable[[], None], most: int | None = None
) -> None:
    """Send matches until asked to stop.

    Args:
        world: Makes them.
        sender: Sends them.
        rate: Matches a second.
        stop: Ends it.
        show: Called after each step.
        most: End after so many matches; the repeats and the bad records come on top.

    Raises:
        KafkaError: The broker refuses a record, or is away.
    """
    clock = asyncio.get_running_loop().time
    started, played = clock(), 0
    while not stop.is_set() and (most is None or played < most):
        due = int((clock() - started) * rate) - played
        if most is not None:
            due = min(due, most - played)
        records = [world.record(datetime.now(UTC)) for _ in range(due)]
        for number, record in enumerate(tuple(records), start=played):
            if number % _REPEATED_EVERY == 0:
                records.append(repeated(record))
            if number % _BAD_EVERY == 0:
                records += spoilt([record], world.run, first=number // _BAD_EVERY)
        await sender.send_made_up(records)
        played += due
        show()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STEP_S):
                await stop.wait()
