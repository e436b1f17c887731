"""Claims: Postgres records which worker holds each partition, so that a zombie can't commit what another took over.

aiokafka sends offsets into a transaction without the consumer group's generation, so a worker that was paused between
its two commits could wake and commit what another has published since. Whoever takes a partition therefore first locks
its claim, ends the transaction of the id that holds it (fencing), and writes its own id; every batch transaction holds
its claims until it commits (design, decision 4).
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.acquiring import transaction
from worker.ledger.errors import ClaimLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.acquiring import Connections

_SQL = sql.load("claims.sql")


class Claims:
    """The claims of one worker in one consumer group."""

    def __init__(self, connections: Connections, *, group: str, owner: str) -> None:
        self._connections = connections
        self.group = group
        # Two processes under one id, by mistake or because one was replaced, are two owners.
        self.owner = f"{owner}#{secrets.token_hex(4)}"

    async def take(self, partitions: Iterable[tuple[str, int]], fence: Callable[[str], Awaitable[None]]) -> list[str]:
        """Claim partitions, fencing whoever holds them; to be called before any record of them is taken.

        A claim's owner is a transactional id and a mark of the process, `id#mark`.

        Args:
            partitions: Topic and partition number of each.
            fence: Ends the open transaction of a transactional id for good; called while the claims are locked, so
                that no two workers fence each other over one partition.

        Returns:
            The ids that were fenced.
        """
        topics, numbers = _columns(partitions)
        async with self._connections.one() as connection:
            await connection.execute(_SQL["add_claims"], self.group, topics, numbers)
            async with transaction(connection):
                rows = await connection.fetch(_SQL["lock_claims"], self.group, topics, numbers)
                others = sorted({row["owner"] for row in rows} - {None, self.owner})
                # No id has a # in it; what somebody wrote there by hand may have no mark, or nothing before it.
                for other in filter(None, dict.fromkeys(other.partition("#")[0] for other in others)):
                    await fence(other)
                await connection.execute(_SQL["take_claims"], self.group, topics, numbers, self.owner)
        return others

    async def release(self) -> None:
        """Give up every claim of ours, after the batch in flight is done: then nothing alive is fenced."""
        async with self._connections.one() as connection:
            await connection.execute(_SQL["release_claims"], self.group, self.owner)


async def hold(
    connection: PoolConnectionProxy[Any], group: str, owner: str, partitions: Iterable[tuple[str, int]]
) -> None:
    """Lock an owner's claims on the partitions of a batch until the transaction ends.

    Raises:
        ClaimLostError: Another worker has one of them.
    """
    wanted = set(partitions)
    rows = await connection.fetch(_SQL["hold_claims"], group, owner, *_columns(wanted))
    lost = wanted - {(row["topic"], row["partition"]) for row in rows}
    if lost:
        raise ClaimLostError(f"{len(lost)} of {len(wanted)} partitions of this batch have been taken over")


def _columns(partitions: Iterable[tuple[str, int]]) -> tuple[list[str], list[int]]:
    ordered = sorted(set(partitions))
    return [topic for topic, _ in ordered], [number for _, number in ordered]
