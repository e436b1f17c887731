"""Taking batches in: fetched, decoded, and under a backlog one ahead of the one in hand.

While Postgres and Kafka take what a batch changed, the event loop has time on its hands: that of the next batch's
decoding. Without a backlog nothing is read ahead: what comes meanwhile is taken together, and at once, when the batch
in hand is done.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from worker.ops.labels import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.ledger.values import Arrival, Refusal
    from worker.ops.health import Health
    from worker.ops.metrics import Metrics
    from worker.records import Translator
    from worker.stream.batch import Batch
    from worker.stream.source import Source

_SLICE = 50  # records decoded before the loop may turn


class Taken(NamedTuple):
    """A batch, and what its records mean."""

    batch: Batch
    arrivals: list[Arrival]
    refusals: list[Refusal]

    def pieces(self, size: int) -> Iterator[Taken]:
        """Cut it into pieces of at most `size` records, to be committed in this order."""
        for piece in self.batch.pieces(size):
            origins = {(record.topic, record.partition, record.offset) for record in piece.records}
            yield Taken(
                piece,
                [arrival for arrival in self.arrivals if arrival.origin in origins],
                [refusal for refusal in self.refusals if refusal.origin in origins],
            )


class Intake:
    """Where the loop gets its batches from."""

    def __init__(self, source: Source, translator: Translator, metrics: Metrics, health: Health) -> None:
        self._source = source
        self._translator = translator
        self._metrics = metrics
        self._health = health
        self._ahead: asyncio.Task[Taken | None] | None = None

    async def next(self) -> Taken | None:
        """Give the next batch, or None where no record came within the poll's wait. The one before counts as done.

        Raises:
            StreamAwayError, asyncpg.PostgresError, OSError: Claims, positions or records can't be had now.
        """
        taken = await self._read_ahead()
        if taken is None:
            with self._metrics.stage(Stage.FETCH):
                batch = await self._source.next_batch()
            taken = None if batch is None else await self._decode(batch)
        if taken is not None and taken.batch.full:
            self._ahead = asyncio.create_task(self._read())
        return taken

    async def close(self) -> None:
        """Forget what was read ahead; its offsets are not committed, so it comes again."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.cancel()
            with suppress(asyncio.CancelledError, Exception):  # whatever it met, nobody wants it any more
                await ahead

    async def _read_ahead(self) -> Taken | None:
        """Give what was read ahead, if that still holds."""
        ahead, self._ahead = self._ahead, None
        taken = None if ahead is None else await ahead
        return taken if taken is not None and self._source.take_up(taken.batch) else None

    async def _read(self) -> Taken | None:
        with self._metrics.stage(Stage.FETCH):
            batch = await self._source.batch_ahead()
        return None if batch is None else await self._decode(batch)

    async def _decode(self, batch: Batch) -> Taken:
        """Decode in slices, so that heartbeats go out while records that are slow to refuse are refused."""
        taken = Taken(batch, [], [])
        with self._metrics.stage(Stage.DECODE):
            for at in range(0, len(batch.records), _SLICE):
                arrivals, refusals = self._translator.arrivals(batch.records[at : at + _SLICE])
                taken.arrivals.extend(arrivals)
                taken.refusals.extend(refusals)
                self._health.progress()
                await asyncio.sleep(0)
        return taken
