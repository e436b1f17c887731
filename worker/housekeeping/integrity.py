"""Looking for signals of manipulation in what was rated lately. It flags, once a case and day, and never punishes.

It follows the ledger in the order of recording, off the hot path: for whoever played since, the latest games are read,
a bounded number, so that the cost does not grow with a player's history.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.rounds import Done
from worker.rating.errors import UnknownPoolError
from worker.rating.signals import PlayedGame, boosting, farming, flagged, sandbagging, win_trading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from worker.ledger.rounds import Round
    from worker.rating.model import Notice
    from worker.rating.policy import Policy
    from worker.rating.policy_set import PolicySet
    from worker.rating.signals import Evidence

_SQL = sql.load("housekeeping.sql")
_STRETCH = 1_000  # ledger entries followed in one piece
_LATEST = 64  # ledger entries of a player that are looked at
_SETTLED = timedelta(minutes=2)  # longer than any transaction lives: older entries have nothing older on its way


class Integrity:
    """Flags what looks like farming, win trading, boosting or sandbagging."""

    name = "integrity"

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Follow the next stretch of the ledger."""
        after: int = (await round_.position(self.name) or {"entry": 0})["entry"]
        settled = now - _SETTLED
        last = await round_.connection.fetchval(_SQL["settled_entry"], after, after + _STRETCH, settled)
        if last is None:
            if not await round_.connection.fetchval(_SQL["later_entry"], after + _STRETCH, settled):
                return None
            last = after + _STRETCH  # numbers of transactions that were rolled back
        rows = await round_.connection.fetch(_SQL["games_of_stretch"], after, last, _LATEST)
        notices = [
            notice
            for (pool, player_id), games in groupby(rows, key=lambda row: (row["pool"], row["player_id"]))
            for notice in self._flags(pool, player_id, list(_played(games)), now)
        ]
        return Done([], notices, {}, {"entry": last}, now)

    def _flags(self, pool: str, player_id: str, games: Sequence[PlayedGame], now: datetime) -> Iterator[Notice]:
        try:
            policy = self._policies.at(pool, now)
        except UnknownPoolError:
            return  # an operator took the pool away
        for evidence in _evidence(player_id, games, policy):
            yield flagged(pool, player_id, evidence, policy)


def _evidence(player_id: str, games: Sequence[PlayedGame], policy: Policy) -> Iterator[Evidence]:
    """Ask each signal that the policy asks for."""
    rules = policy.signals
    if rules is None:
        return
    found: list[Evidence | None] = []
    if rules.farming is not None:
        found.append(farming(games, rules.farming))
    if rules.boosting is not None:
        found.append(boosting(games, rules.boosting, policy))
    if rules.sandbagging is not None:
        found.append(sandbagging(games, rules.sandbagging))
    if rules.win_trading is not None:
        by_opponent: defaultdict[str, list[PlayedGame]] = defaultdict(list)
        for game in games:
            by_opponent[game.opponent_id].append(game)
        # From the side of the lower id only: the pair is one case.
        found += [win_trading(pair, rules.win_trading) for other, pair in by_opponent.items() if player_id < other]
    yield from (evidence for evidence in found if evidence is not None)


def _played(rows: Iterable[Any]) -> Iterator[PlayedGame]:
    """Give the games of one player that were not voided."""
    entries = list(rows)
    voided = {row["match_id"] for row in entries if row["reason"] == "void"}
    for row in entries:
        if row["reason"] == "match" and row["match_id"] not in voided:
            yield PlayedGame(
                row["opponent_id"],
                float(row["score"]),
                row["delta"],
                row["before"],
                row["opponent_before"],
                row["occurred_at"],
                row["games"],
            )
