"""Looking after the ratings as a whole: whether the newest entries of the ledger hold, and how the pools stand.

Both read samples of bounded size and show what they find as metrics; they record nothing. `rating-worker verify` looks
at everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from worker.housekeeping.integrity import Integrity
from worker.ledger import sql
from worker.ops.labels import Invariant
from worker.ops.pools import PoolFigures

if TYPE_CHECKING:
    from datetime import datetime

    from worker.ledger.rounds import Done, Round
    from worker.ops.housekeeping import HousekeepingMetrics

_SQL = sql.load("sanity.sql")
_log = structlog.get_logger(__name__)
_STRETCH = 2_000  # ledger entries looked over in a turn: the newest
_PAGES = 2_000  # of the table of players, read for its figures: 16 MB, and all of it where it is smaller
_EVERY = 10  # turns
_SHOWN_FOR = 2 * _EVERY  # turns that figures are shown for, unless there are newer ones


class Audit:
    """Looks over the newest entries of the ledger, as far as the signals' task has followed it: they are settled.

    Each turn looks at what came since the last, 2,000 entries at most.
    """

    name = "audit"

    def __init__(self, metrics: HousekeepingMetrics) -> None:
        self._metrics = metrics
        self._seen = 0

    async def piece(self, round_: Round, now: datetime) -> Done | None:  # noqa: ARG002 - a task is told the time
        """Look, and count what is broken."""
        newest: int = (await round_.position(Integrity.name) or {"entry": 0})["entry"]
        if newest <= self._seen:
            return None
        first = max(self._seen, newest - _STRETCH)
        [row] = await round_.connection.fetch(_SQL["broken"], first, newest)
        broken = {invariant: row[invariant] for invariant in Invariant}
        if any(broken.values()):
            players = await round_.connection.fetch(_SQL["players"], row["rating_ids"])
            _log.error(
                "the ledger breaks an invariant: run `rating-worker verify`",
                **{invariant.value: count for invariant, count in broken.items() if count},
                players=[f"{player['pool']}: {player['player_id']}" for player in players],
            )
        self._metrics.audited(row["entries"], broken)
        self._seen = newest
        return None


class Figures:
    """Shows how many players each pool has, how many are provisional, and mean and spread of the others.

    Every tenth turn reads whole pages of the table of players, drawn at random, 2,000 at most.

    Args:
        metrics: Where they are shown.
        interval_s: Time between two turns.
    """

    name = "figures"

    def __init__(self, metrics: HousekeepingMetrics, interval_s: float) -> None:
        self._metrics = metrics
        self._interval_s = interval_s
        self._turn = 0

    async def piece(self, round_: Round, now: datetime) -> Done | None:  # noqa: ARG002 - a task is told the time
        """Read and show them, now and then."""
        turn, self._turn = self._turn, self._turn + 1
        if turn % _EVERY == 0:
            pages = await round_.connection.fetchval(_SQL["pages_of_ratings"])
            share = min(1.0, _PAGES / max(1, pages))
            rows = await round_.connection.fetch(_SQL["pool_figures"], 100 * share)
            self._metrics.pools.show(
                [
                    PoolFigures(
                        row["pool"],
                        row["sampled"],
                        round(row["sampled"] / share),
                        row["provisional"] / row["sampled"],
                        row["mean"],
                        row["spread"],
                    )
                    for row in rows
                ],
                for_s=_SHOWN_FOR * self._interval_s,
            )
        return None
