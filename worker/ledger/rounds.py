"""Rounds of housekeeping in Postgres: numbered, each with what it changed, so that one can be published again.

A round is to housekeeping what a record is to the pipeline: its number is committed as a Kafka offset in the
transaction that publishes what it did. A round that Postgres has and that offset has not reached is published again.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.rows import LedgerRow, NoticeRow, RatingRow
from worker.ledger.stored import change_of, notice_of
from worker.ledger.values import Publication
from worker.ledger.writing import Rows, add_notices, write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.ledger import Ledger
    from worker.rating.model import Change, Notice, PlayerState

_SQL = sql.load("housekeeping.sql")
_RULEBOOK = sql.load("rulebook.sql")


@dataclass(frozen=True, slots=True)
class Done:
    """What one piece of a task did.

    Attributes:
        changes: Rating changes, in the order of recording.
        notices: Those that are new are recorded and published.
        moved: The players whose state is to be written, by rating_id.
        position: How far the task has come.
        at: When: the policies in force then give titles and who is provisional.
    """

    changes: Sequence[Change]
    notices: Sequence[Notice]
    moved: Mapping[int, tuple[str, str, PlayerState]]
    position: Any
    at: datetime


class Round:
    """One open Postgres transaction that a piece of a task is done in."""

    def __init__(self, connection: PoolConnectionProxy[Any], ledger: Ledger, group: str) -> None:
        self.connection = connection
        self._ledger = ledger
        self._group = group

    async def position(self, task: str) -> Any:
        """Give how far a task has come, None for one that never ran."""
        return await self.connection.fetchval(_SQL["position"], self._group, task)

    async def record(self, task: str, done: Done) -> tuple[int, list[Publication]]:
        """Write what a piece of a task did.

        Returns:
            The number of the round, and what to publish; 0 where there is nothing.
        """
        references, policies = self._ledger.references, self._ledger.policies
        ids = {(pool, player): rating_id for rating_id, (pool, player, _) in done.moved.items()}
        pool_ids = await references.pool_ids({pool for pool, _, _ in done.moved.values()})
        rows = Rows()
        for rating_id, (pool, player, state) in done.moved.items():
            policy = policies.at(pool, done.at)
            rows.moved_ratings.append(RatingRow.of(rating_id, pool_ids[pool], player, state, policy))
        for change in done.changes:
            policy_id, _ = references.registered(change.policy)
            rows.ledger.append(LedgerRow.of(change, ids[change.pool, change.player_id], None, policy_id))
        await write(self.connection, rows)
        told = await add_notices(self.connection, [NoticeRow.of(notice, None, None) for notice in done.notices])
        await self.connection.execute(_SQL["set_position"], self._group, task, done.position)
        if not done.changes and not told:
            return 0, []
        number = 1 + await self.connection.fetchval(_SQL["last_round"], self._group)
        keys = [[ids[change.pool, change.player_id], change.version] for change in done.changes]
        names = [[publication.what.kind, publication.what.key] for publication in told]  # type: ignore[union-attr]
        await self.connection.execute(_SQL["add_round"], self._group, number, task, keys or None, names or None)
        await self.connection.execute(_SQL["forget_rounds"], self._group, number - 1)
        return number, [*(Publication(change, None) for change in done.changes), *told]


class Rounds:
    """The rounds of one consumer group's housekeeping."""

    def __init__(self, ledger: Ledger, *, group: str, owner: str, topic: str) -> None:
        self._ledger = ledger
        self._group = group
        self._owner = owner
        self._topic = topic

    async def may_lead(self, lease_s: float) -> bool:
        """Tell whether this worker may do the housekeeping: nobody else has been heard of doing it for a lease."""
        async with self._ledger.connection() as connection:
            ours = await connection.fetchval(_SQL["lead"], self._group, self._topic, self._owner, lease_s)
        return ours is None or bool(ours)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Round]:
        """Open the transaction of a round, holding the lead and renewing it.

        Raises:
            ClaimLostError: Another worker leads.
        """
        partitions = [(self._topic, 0)]
        async with self._ledger.claimed_transaction(self._group, self._owner, partitions) as connection:
            yield Round(connection, self._ledger, self._group)
        async with self._ledger.connection() as connection:
            await connection.execute(_SQL["renew"], self._group, self._owner)

    async def unpublished(self, published: int) -> list[tuple[int, list[Publication]]]:
        """Give the rounds beyond the one that Kafka's offset names, each with what it did."""
        async with self._ledger.connection() as connection:
            found = []
            for number, _task, keys, names in await connection.fetch(_SQL["rounds_after"], self._group, published):
                found.append((number, await self._publications(connection, keys or [], names or [])))
            return found

    async def _publications(
        self, connection: PoolConnectionProxy[Any], keys: list[list[int]], names: list[list[str]]
    ) -> list[Publication]:
        references = self._ledger.references
        rows = await connection.fetch(_RULEBOOK["entries"], [key[0] for key in keys], [key[1] for key in keys])
        await references.know_policies(row["policy_id"] for row in rows)
        notices = await connection.fetch(
            _SQL["notices_by_key"], [name[0] for name in names], [name[1] for name in names]
        )
        return [Publication(change_of(row, references), None) for row in rows] + [
            Publication(notice_of(row), None) for row in notices
        ]
