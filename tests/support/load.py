"""Load: matches sent bit by bit while things go wrong, all of them remembered for the checker."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from itertools import count, islice
from typing import TYPE_CHECKING

from tests.support.kafka import lag_of, produce, record_of, until_all_committed
from tests.support.matches import POOLS, stream
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from worker.rating.model import Match
    from worker.settings import Settings

_PART = 1_000


class Load:
    """Matches for one place, drawn from a seed.

    Attributes:
        sent: All that were sent.
    """

    def __init__(self, settings: Settings, *, seed: int, players: int = 120, pools: tuple[str, ...] = POOLS) -> None:
        self.sent: list[Match] = []
        self._settings = settings
        self._chance = random.Random(seed)
        self._stream = self._matches(seed, players, pools)

    async def send(self, how_many: int) -> None:
        """Send the next matches; back when the broker has them."""
        matches = list(islice(self._stream, how_many))
        self.sent += matches
        await produce(self._settings, map(record_of, matches))

    async def send_until_half_done(self, how_many: int) -> None:
        """Send the next matches and wait until a random part of them is committed: what follows meets work."""
        await self.send(how_many)
        await until_all_committed(self._settings, but=self._chance.randrange(1, how_many))

    async def until_done(self, how_many: int) -> None:
        """Wait until so many of all that were sent are committed."""
        left = 0
        async with lag_of(self._settings) as lag:

            async def done() -> bool:
                nonlocal left
                sent = len(self.sent)
                left = await lag()
                return sent - left >= how_many

            await until(done, 120, lambda: f"of {len(self.sent)} matches {left} are not committed")

    @asynccontextmanager
    async def flowing(self, at_a_time: int = 100, ahead: int = 600) -> AsyncIterator[None]:
        """Keep sending while the block runs, but never get far ahead of the workers."""
        ended = asyncio.Event()

        async def flow() -> None:
            async with lag_of(self._settings) as lag:
                while not ended.is_set():
                    if await lag() < ahead:
                        await self.send(at_a_time)

        flowing = asyncio.create_task(flow())
        try:
            yield
        finally:
            ended.set()
            await flowing

    @staticmethod
    def _matches(seed: int, players: int, pools: tuple[str, ...]) -> Iterator[Match]:
        for part in count():
            yield from stream(_PART, players=players, seed=seed + part, prefix=f"m{part}", pools=pools)
