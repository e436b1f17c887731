"""Verifying a database: every check in one pass over each table, all of them of one moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from worker.verify.chains import Chains
from worker.verify.events import Events
from worker.verify.pair_times import PairTimes
from worker.verify.pairings import Pairings
from worker.verify.piece import Piece
from worker.verify.rebuild import Rebuild
from worker.verify.rebuilt import Rebuilt
from worker.verify.recorded import Matches
from worker.verify.registered import Registered
from worker.verify.report import Checks, Name, Report
from worker.verify.snapshot import Snapshot
from worker.verify.sources import Places
from worker.verify.standings import Standings

if TYPE_CHECKING:
    from collections.abc import Collection

    from worker.ledger.reads.players import Connection


class Progress(Protocol):
    """Who is told how far verifying is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Take note: of a step (`events`, `ledger`, `matches`, `ratings`) so much is done of about so much."""


class NoSuchPoolError(Exception):
    """Nobody has played in a pool that was asked for.

    Attributes:
        pool: Its name.
        known: The pools that there are.
    """

    def __init__(self, pool: str, known: Collection[str]) -> None:
        super().__init__(pool)
        self.pool = pool
        self.known = known


def untold(step: str, done: int, total: int) -> None:
    """Tell nobody."""


async def verify(
    connection: Connection,
    *,
    pools: Collection[str] = (),
    rebuild: bool = True,
    examples: int = 5,
    progress: Progress = untold,
) -> Report:
    """Check a database, which may be written to meanwhile: all that is read is of one moment, and nothing is written.

    Args:
        connection: With jsonb decoded, as `ledger.open_pool` gives; its role need do no more than select.
        pools: Look only at the ratings of these; events and sanctions are looked at whole. Empty for all.
        rebuild: Whether to rate everything again as well.
        examples: How many findings of each check to keep.
        progress: Who is told how far it is.

    Raises:
        NoSuchPoolError: Nobody has played in one of the pools.
    """
    started = time.monotonic()
    async with Snapshot.of(connection) as snapshot:
        known = {row["name"]: row["pool_id"] for row in await snapshot.fetch("pools")}
        for pool in pools:
            if pool not in known:
                raise NoSuchPoolError(pool, known)
        if pools:
            snapshot.pool_ids = [known[pool] for pool in pools]
        checks = Checks(examples)
        registered = await Registered.read(connection, checks[Name.POLICIES])
        not_rebuilt = None if rebuild else "not asked for"
        if rebuild and registered.unreadable:
            not_rebuilt = f"this release can't read policy {', '.join(registered.unreadable.values())}"
        places = Places(row["source_id"] for row in await snapshot.fetch("sources"))
        return await _Run(snapshot, registered, checks, places, progress).report(started, not_rebuilt)


class _Run:
    """One run over a snapshot: each table is read once, in the order of the methods here."""

    def __init__(
        self, snapshot: Snapshot, registered: Registered, checks: Checks, places: Places, progress: Progress
    ) -> None:
        self._snapshot = snapshot
        self._registered = registered
        self._checks = checks
        self._progress = progress
        self._events = Events(snapshot, checks, places)
        self._chains = Chains(registered, checks)
        self._pairings = Pairings(checks)
        self._matches = Matches(snapshot, registered, checks, places)
        self._standings = Standings(self._chains, registered, checks)
        self._rebuild = Rebuild(registered, checks)

    async def report(self, started: float, not_rebuilt: str | None) -> Report:
        """Make every check.

        Args:
            started: When that was, on the monotonic clock.
            not_rebuilt: Why nothing is to be rated again; None if it is.
        """
        estimates = {row["relname"]: row["rows"] for row in await self._snapshot.fetch("estimates")}
        await self._read_events(estimates["events"])
        entries = await self._read_ledger(rebuild=not_rebuilt is None)
        await self._read_matches(estimates["matches"])
        await self._read_ratings(estimates["ratings"], rebuild=not_rebuilt is None)
        return Report(
            self._checks.done(rebuilt=not_rebuilt is None),
            entries,
            self._matches.count,
            self._events.count,
            self._standings.count,
            not_rebuilt,
            time.monotonic() - started,
        )

    async def _read_events(self, about: int) -> None:
        self._progress("events", 0, about)
        async for rows in self._snapshot.pieces("events"):
            await self._events.take(rows)
            self._progress("events", self._events.count, about)
        await self._events.check_waiting()
        await self._events.check_sanctions()

    async def _read_ledger(self, *, rebuild: bool) -> int:
        [(count, first, last)] = await self._snapshot.fetch("stretch_of_ledger")
        read = 0
        self._progress("ledger", 0, last - first + 1)
        async for entries in self._snapshot.entries(first, last):
            read += len(entries)
            piece = await Piece.load(self._snapshot, entries)
            self._take(piece)
            if rebuild:
                times = await PairTimes.load(self._snapshot, self._registered, piece, self._events.voided)
                for entry in entries:
                    self._rebuild.take(entry, piece, times)
            self._progress("ledger", entries[-1].entry_id - first + 1, last - first + 1)
        self._rebuild.finish()
        if read != count and self._snapshot.pool_ids is None:  # by an index that is broken, say
            self._checks[Name.CHAINS].find(f"the ledger has {count} entries; read in their order, it gives {read}")
        return read

    def _take(self, piece: Piece) -> None:
        for entry in piece.entries:
            policy_id = entry.row.policy_id
            if self._registered.knows(policy_id):
                self._registered.rated(entry.pool, policy_id)
            elif policy_id not in self._registered.unreadable:
                self._checks[Name.POLICIES].find(f"no policy has the key {policy_id}, which it names", **entry.ids)
            self._pairings.take(entry, self._chains.take(entry, piece), piece)

    async def _read_matches(self, about: int) -> None:
        self._progress("matches", 0, about)
        async for rows in self._snapshot.pieces("matches", self._snapshot.pool_ids):
            await self._matches.take(rows)
            self._progress("matches", self._matches.count, about)
        if self._pairings.whole != self._matches.rated:
            await self._matches.find_incomplete()

    async def _read_ratings(self, about: int, *, rebuild: bool) -> None:
        compare = Rebuilt(self._rebuild.states, self._chains, self._registered, self._checks)
        self._progress("ratings", 0, about)
        async for rows in self._snapshot.pieces("ratings", self._snapshot.pool_ids):
            self._standings.take(rows)
            if rebuild:
                compare.take(rows)
            self._progress("ratings", self._standings.count, about)
