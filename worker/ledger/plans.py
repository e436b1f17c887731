"""Plans of prepared statements that keep up with tables that grow.

Postgres keeps the plan of a prepared statement until somebody analyzes the tables, which autovacuum does once a minute
at most. A worker prepares its statements in its first batches; in a new database these find empty tables, and a plan
that reads all of a table is right there. A minute of load later it reads 100,000 rows for each batch. A plan that is
made anew counts the pages that the table has by then, analyzed or not.

And no statement compares a growing table with `= any($1)`: where such a plan has no index it looks through the list for
every row (only a list that is known to the planner is hashed). A list is joined as rows instead.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

PERIOD_S = 1.0  # planning a batch's statements takes about 2 ms: a five-hundredth of it


class PlanningConnection(asyncpg.Connection):
    """A connection that gives up its plans now and then; its statements stay prepared."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._planned_at = time.monotonic()

    async def plan_anew(self) -> None:
        """Give up plans that are older than the period; raises what asyncpg raises where Postgres is away."""
        now = time.monotonic()
        if now - self._planned_at >= PERIOD_S:
            self._planned_at = now
            await self.execute("discard plans")


async def plan_anew(connection: PoolConnectionProxy[Any]) -> None:
    """Let a connection that was just taken from the pool plan anew where that is due; raises as its method does."""
    await connection.plan_anew()  # type: ignore[attr-defined]  # a proxy that passes on what it has not itself
