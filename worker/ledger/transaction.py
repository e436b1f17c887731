"""The batch transaction: what a batch of matches does to the ledger, in bulk statements and one order of locks.

The order, the same in every worker: claims, then ratings by rating_id, then new players by pool and player, then
matches by match_id; nobody waits for a player whom another recorded meanwhile. So workers that share players wait for
each other and never deadlock. The order in which ratings were locked is the order of `ledger.entry_id`, which a rebuild
follows.
"""

from __future__ import annotations

import time
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from worker.events import Reject
from worker.ledger.errors import ROW_REFUSED
from worker.ledger.known import sort_out_known
from worker.ledger.loading import load
from worker.ledger.recording import Recorder
from worker.ledger.values import Applied, Arrival, Refusal
from worker.ledger.writing import Rows, add_notices, write
from worker.rating.model import EntriesClosed, Lift, Match, Sanction, TournamentFinished, TournamentOpened, Void

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.references import References
    from worker.rating.policy_set import PolicySet


# When an event holds from: what partitions are merged by.
_TIMES: dict[type, Callable[[Any], datetime]] = {
    Match: attrgetter("finished_at"),
    Void: attrgetter("voided_at"),
    Sanction: attrgetter("starts_at"),
    Lift: attrgetter("lifted_at"),
    TournamentOpened: attrgetter("opened_at"),
    EntriesClosed: attrgetter("closed_at"),
    TournamentFinished: attrgetter("finished_at"),
}


class BatchTransaction:
    """One open Postgres transaction that a batch is applied in; see `Ledger.transaction`.

    `rate` then `write`, so that what `rate` gave can be on its way to Kafka while Postgres takes the rows; or `apply`,
    which is both, and finds a row that Postgres refuses.
    """

    def __init__(self, connection: PoolConnectionProxy[Any], policies: PolicySet, references: References) -> None:
        self._connection = connection
        self._policies = policies
        self._references = references
        self._rows = Rows()

    async def rate(self, arrivals: Sequence[Arrival]) -> Applied:
        """Lock the batch's players and rate what is new in it; nothing is written yet.

        Events of one partition are taken in the order of their offsets, so where a partition is cut into batches
        changes nothing; partitions are merged by the time that their events hold from.
        """
        return await self._rate(_in_rating_order(arrivals))

    async def write(self) -> float:
        """Write what the last `rate` found; gives how long it took, in seconds.

        Raises:
            RaceLostError: Another worker recorded a match or a player of the batch first.
            asyncpg.PostgresError: Anything else that Postgres says; one of `ROW_REFUSED` asks for `apply` in a new
                transaction.
        """
        started = time.perf_counter()
        rows, self._rows = self._rows, Rows()
        await write(self._connection, rows)
        return time.perf_counter() - started

    async def apply(self, arrivals: Sequence[Arrival]) -> Applied:
        """Rate and write a batch; a row that Postgres refuses is found by halving and comes back as a refusal.

        The others are rated as if the refused one had never come.

        Raises:
            RaceLostError: Another worker recorded a match or a player of the batch first.
            asyncpg.PostgresError: Anything else that Postgres says.
        """
        ordered = _in_rating_order(arrivals)
        # Every player is locked before the first half: locks that came with the halves would come out of order.
        events = [arrival.event.event for arrival in ordered]
        await load(self._connection, self._policies, self._references, events)
        return await self._apply_or_halve(ordered)

    async def _apply_or_halve(self, arrivals: list[Arrival]) -> Applied:
        try:
            async with self._connection.transaction():  # a savepoint: what a refused row takes with it
                applied = await self._rate(arrivals)
                applied.seconds["write"] = await self.write()
                return applied
        except ROW_REFUSED as error:
            if len(arrivals) == 1:
                detail = f"Postgres refuses this record: {error}"
                return Applied(refusals=[Refusal(arrivals[0].origin, Reject.REFUSED_BY_DATABASE, detail)])
        middle = len(arrivals) // 2
        return Applied.merged(
            [await self._apply_or_halve(arrivals[:middle]), await self._apply_or_halve(arrivals[middle:])]
        )

    async def _rate(self, arrivals: list[Arrival]) -> Applied:
        applied = Applied()
        started = time.perf_counter()
        fresh = await sort_out_known(self._connection, self._references, arrivals, applied)
        if fresh:
            events = [arrival.event.event for arrival in fresh]
            loaded = await load(self._connection, self._policies, self._references, events)
            source_ids = await self._references.source_ids({arrival.origin.topic for arrival in fresh})
            locked = time.perf_counter()
            recorder = Recorder(loaded, self._policies, self._references, source_ids, applied)
            for arrival in fresh:
                recorder.record(arrival)
            self._rows = recorder.rows()
            applied.publications += await add_notices(self._connection, recorder.notices)
            applied.seconds.update(lock=locked - started, rate=time.perf_counter() - locked)
        return applied


def _in_rating_order(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Merge the partitions by time and id, each partition in the order of its offsets."""
    partitions: dict[tuple[str, int], list[Arrival]] = {}
    for arrival in arrivals:
        partitions.setdefault(arrival.origin[:2], []).append(arrival)
    if len(partitions) == 1:
        return list(arrivals)
    return list(merge(*partitions.values(), key=_finished))


def _finished(arrival: Arrival) -> tuple[datetime, str]:
    return _TIMES[type(arrival.event.event)](arrival.event.event), arrival.event.id
