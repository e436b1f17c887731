"""The batch transaction: what a batch of matches does to the ledger, in bulk statements and one order of locks.

The order, the same in every worker: claims, then ratings by rating_id, then new players by pool and player, then
matches by match_id. So workers that share players wait for each other and never deadlock. The order in which ratings
were locked is the order of `ledger.entry_id`, which a rebuild follows.

No table of pairs: both players' ratings are locked, and with them the pair; how often it played is read from the
matches themselves.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from heapq import merge
from typing import TYPE_CHECKING, Any

import asyncpg

from worker.events import Reject
from worker.ledger import sql
from worker.ledger.errors import ROW_REFUSED, ClaimLostError, RaceLostError
from worker.ledger.rows import LedgerRow, MatchRow, RatingRow, columns, publication_of
from worker.ledger.values import Applied, Arrival, Origin, Publication, Refusal
from worker.rating.book import Book
from worker.rating.model import PlayerState, Unrated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.references import References
    from worker.rating.model import Match
    from worker.rating.policy import Policy
    from worker.rating.policy_set import PolicySet

_SQL = sql.load("batch.sql")

_FIRST_TIME = datetime.min.replace(tzinfo=UTC)

Player = tuple[str, str]
"""A pool and a player in it."""


class BatchTransaction:
    """One open Postgres transaction that a batch is applied in; see `Ledger.transaction`."""

    def __init__(self, connection: PoolConnectionProxy[Any], policies: PolicySet, references: References) -> None:
        self._connection = connection
        self._policies = policies
        self._references = references

    async def hold_claims(self, group: str, owner: str, partitions: Iterable[tuple[str, int]]) -> None:
        """Lock this worker's claims on the batch's partitions until the transaction ends.

        Raises:
            ClaimLostError: Another worker has one of them.
        """
        wanted = sorted(set(partitions))
        topics, numbers = [topic for topic, _ in wanted], [number for _, number in wanted]
        held = await self._connection.fetch(_SQL["hold_claims"], group, owner, topics, numbers)
        lost = set(wanted) - {(row["topic"], row["partition"]) for row in held}
        if lost:
            raise ClaimLostError(f"{len(lost)} of {len(wanted)} partitions of this batch have been taken over")

    async def apply(self, arrivals: Sequence[Arrival]) -> Applied:
        """Record a batch and rate what is new in it.

        Matches of one partition are taken in the order of their offsets, and partitions are merged by
        (finished_at, match_id): so a result does not depend on where the stream was cut into batches. A row that
        Postgres refuses is found by halving and comes back as a refusal; the others stay.

        Raises:
            RaceLostError: Another worker recorded a match or a player of the batch first; nothing is kept.
            asyncpg.PostgresError: Anything else that Postgres says; nothing is kept.
        """
        return await self._apply_or_halve(_in_rating_order(arrivals))

    async def _apply_or_halve(self, arrivals: list[Arrival]) -> Applied:
        try:
            async with self._connection.transaction():  # a savepoint: what a refused row takes with it
                return await self._apply(arrivals)
        except ROW_REFUSED as error:
            if len(arrivals) == 1:
                detail = f"Postgres refuses this match: {error}"
                return Applied(refusals=[Refusal(arrivals[0].origin, Reject.REFUSED_BY_DATABASE, detail)])
        middle = len(arrivals) // 2
        return Applied.merged(
            [await self._apply_or_halve(arrivals[:middle]), await self._apply_or_halve(arrivals[middle:])]
        )

    async def _apply(self, arrivals: list[Arrival]) -> Applied:
        applied = Applied()
        fresh = await self._sort_out_known(arrivals, applied)
        if not fresh:
            return applied
        started = time.perf_counter()
        pool_ids = await self._references.pool_ids({arrival.event.match.pool for arrival in fresh})
        source_ids = await self._references.source_ids({arrival.origin.topic for arrival in fresh})

        book, rating_ids, new = await self._lock_players(fresh, pool_ids)
        await self._load_pair_times(fresh, book, rating_ids, new)
        locked = time.perf_counter()

        rated_by: dict[Player, Policy] = {}
        match_rows: list[MatchRow] = []
        ledger_rows: list[LedgerRow] = []
        for origin, event in fresh:
            match = event.match
            outcome = book.rate(match)
            lo, hi = sorted(match.sides, key=_player_id)
            versions: dict[str, int] = {}
            reason = None
            policy = self._policies.at(match.pool, match.finished_at)
            if isinstance(outcome, Unrated):
                reason = outcome.reason
                applied.unrated[reason] += 1
                for side in match.sides:
                    if (match.pool, side.id) not in book.states:  # recorded, so they need a row to stand in
                        book.put_state(match.pool, side.id, policy.start_state())
                        rated_by.setdefault((match.pool, side.id), policy)
            else:
                applied.rated += 1
                rated_by[match.pool, lo.id] = rated_by[match.pool, hi.id] = policy
                for change in outcome.changes:
                    versions.setdefault(change.player_id, change.version)
                    applied.publications.append(Publication(change, event.traceparent))
                    ledger_rows.append(
                        LedgerRow.of(
                            change,
                            rating_ids[change.pool, change.player_id],
                            rating_ids[change.pool, change.opponent_id],
                            self._references.policy_id(change.policy),
                        )
                    )
            match_rows.append(
                MatchRow(
                    match.match_id,
                    source_ids[origin.topic],
                    origin.partition,
                    origin.offset,
                    event.digest,
                    rating_ids[match.pool, lo.id],
                    rating_ids[match.pool, hi.id],
                    versions.get(lo.id),
                    versions.get(hi.id),
                    lo.score,
                    match.finished_at,
                    match.match_type,
                    match.tournament_id,
                    match.verified,
                    _attributes(lo.birth_year, hi.birth_year),
                    reason,
                )
            )
        rated = time.perf_counter()

        await self._write_ratings(book, rating_ids, new, rated_by, pool_ids)
        await self._copy("matches", sorted(match_rows))  # by id: two workers that meet here wait in one order
        await self._copy("ledger", ledger_rows)  # entry_id is given row by row: this is the recorded order
        written = time.perf_counter()
        applied.seconds.update(lock=locked - started, rate=rated - locked, write=written - rated)
        return applied

    async def _sort_out_known(self, arrivals: list[Arrival], applied: Applied) -> list[Arrival]:
        """Tell the matches that are new from those that are recorded, in Postgres or earlier in this batch."""
        rows = await self._connection.fetch(_SQL["known_matches"], [a.event.match.match_id for a in arrivals])
        known = {row["match_id"]: (Origin(*row[1:4]), row["digest"]) for row in rows}
        fresh: list[Arrival] = []
        redelivered: dict[str, str | None] = {}
        for arrival in arrivals:
            origin, event = arrival
            match_id = event.match.match_id
            first = known.get(match_id)
            if first is None:
                known[match_id] = (origin, event.digest)
                fresh.append(arrival)
            elif first[1] != event.digest:
                applied.refusals.append(Refusal(origin, Reject.CONFLICT, _conflict(match_id, first[0])))
            elif first[0] == origin:
                applied.redelivered += 1
                redelivered[match_id] = event.traceparent
            else:
                applied.resent += 1
        if redelivered:
            rows = await self._connection.fetch(_SQL["changes_of_matches"], list(redelivered))
            for row in rows:
                applied.publications.append(publication_of(row, self._references, redelivered[row["match_id"]]))
        return fresh

    async def _lock_players(
        self, fresh: list[Arrival], pool_ids: dict[str, int]
    ) -> tuple[Book, dict[Player, int], set[Player]]:
        """Lock the batch's players and put them into a book.

        Returns:
            The book, the rating_id of every player, and which players are new to their pool.
        """
        players = {(m.pool, side.id) for m in (a.event.match for a in fresh) for side in m.sides}
        pool_names = {pool_ids[pool]: pool for pool, _ in players}
        rows = await self._connection.fetch(
            _SQL["lock_ratings"], [pool_ids[pool] for pool, _ in players], [player for _, player in players]
        )
        book = Book(self._policies)
        rating_ids: dict[Player, int] = {}
        for rating_id, pool_id, player_id, rating, version, games, wins, draws, losses, peak, last in rows:
            player = (pool_names[pool_id], player_id)
            rating_ids[player] = rating_id
            book.put_state(*player, PlayerState(rating, version, games, wins, draws, losses, peak, last))
        new = players - rating_ids.keys()
        if new:
            ids = await self._connection.fetch(_SQL["new_rating_ids"], len(new))
            rating_ids.update(zip(sorted(new), (row[0] for row in ids), strict=True))
        return book, rating_ids, new

    async def _load_pair_times(
        self, fresh: list[Arrival], book: Book, rating_ids: dict[Player, int], new: set[Player]
    ) -> None:
        """Tell the book when the batch's pairs played rated matches, as far as their windows reach."""
        windows: dict[tuple[str, str, str], tuple[Any, Any]] = {}
        for _, event in fresh:
            match = event.match
            lo, hi = sorted(side.id for side in match.sides)
            if (match.pool, lo) in new or (match.pool, hi) in new:
                continue  # they have never met
            window = self._policies.at(match.pool, match.finished_at).pair_window
            if window is None:
                continue
            since = match.finished_at - min(window, match.finished_at - _FIRST_TIME)
            pair = (match.pool, lo, hi)
            known = windows.get(pair)
            windows[pair] = (
                (since, match.finished_at)
                if known is None
                else (min(known[0], since), max(known[1], match.finished_at))
            )
        if not windows:
            return
        pairs = list(windows)
        rows = await self._connection.fetch(
            _SQL["pair_times"],
            [rating_ids[pool, lo] for pool, lo, _ in pairs],
            [rating_ids[pool, hi] for pool, _, hi in pairs],
            [since for since, _ in windows.values()],
            [until for _, until in windows.values()],
        )
        times: dict[int, list[Any]] = {}
        for number, finished_at in rows:
            times.setdefault(number, []).append(finished_at)
        for number, finished in times.items():
            book.put_pair_times(*pairs[number - 1], finished)

    async def _write_ratings(
        self,
        book: Book,
        rating_ids: dict[Player, int],
        new: set[Player],
        rated_by: dict[Player, Policy],
        pool_ids: dict[str, int],
    ) -> None:
        """Write where the batch's players stand now: those who are new, and those whose rating a match moved."""
        inserts = [
            RatingRow.of(rating_ids[player], pool_ids[player[0]], player[1], book.states[player], rated_by[player])
            for player in sorted(new)
        ]
        updates = [
            RatingRow.of(rating_ids[player], pool_ids[player[0]], player[1], book.states[player], policy)
            for player, policy in rated_by.items()
            if player not in new
        ]
        await self._write("insert_ratings", inserts, RaceLostError("a player was recorded meanwhile"))
        await self._write("update_ratings", [row.without_key() for row in updates])

    async def _copy(self, table: str, rows: Sequence[MatchRow] | Sequence[LedgerRow]) -> None:
        """Append rows to a table.

        Raises:
            RaceLostError: Another worker recorded one of them meanwhile (the same match under two keys).
        """
        if not rows:
            return
        try:
            await self._connection.copy_records_to_table(table, records=rows, columns=rows[0]._fields)
        except asyncpg.UniqueViolationError as error:
            raise RaceLostError(f"recorded meanwhile: {error.detail}") from error

    async def _write(self, statement: str, rows: Sequence[tuple[Any, ...]], race: RaceLostError | None = None) -> None:
        """Run one bulk statement; where `race` is given and fewer rows were written than sent, raise it."""
        if not rows:
            return
        status = await self._connection.execute(_SQL[statement], *columns(rows))
        if race is not None and int(status.rsplit(" ", 1)[-1]) != len(rows):
            raise race


def _in_rating_order(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Merge the partitions by (finished_at, match_id), each partition in the order of its offsets."""
    partitions: dict[tuple[str, int], list[Arrival]] = {}
    for arrival in arrivals:
        partitions.setdefault(arrival.origin[:2], []).append(arrival)
    if len(partitions) == 1:
        return list(arrivals)
    return list(merge(*partitions.values(), key=_finished))


def _finished(arrival: Arrival) -> tuple[Any, str]:
    match: Match = arrival.event.match
    return match.finished_at, match.match_id


def _player_id(side: Any) -> str:
    return side.id  # type: ignore[no-any-return]


def _attributes(lo_birth_year: int | None, hi_birth_year: int | None) -> dict[str, int] | None:
    given = {"lo_birth_year": lo_birth_year, "hi_birth_year": hi_birth_year}
    return {name: year for name, year in given.items() if year is not None} or None


def _conflict(match_id: str, first: Origin) -> str:
    return (
        f"match {match_id!r} is recorded already with other content (it came from topic {first.topic}, partition "
        f"{first.partition}, offset {first.offset}). A match is rated once: to correct it, void it and send the "
        f"corrected match under a new match_id."
    )
