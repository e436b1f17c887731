"""Looking for signals of manipulation in what was rated lately. It flags, once a case and day, and never punishes.

It follows the ledger in the order of recording, off the hot path: for whoever played in a stretch of it, the latest
games are read, a bounded number, so that the cost does not grow with a player's history. The further it is behind, the
longer the stretch, and so the fewer times the same player is looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.reads import LATEST, played
from worker.ledger.rounds import Done
from worker.rating.errors import UnknownPoolError
from worker.rating.signals import Signal, flagged, signals_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from worker.ledger.rounds import Round
    from worker.rating.model import Notice
    from worker.rating.policy_set import PolicySet
    from worker.rating.signals import PlayedGame

_SQL = sql.load("housekeeping.sql")
_STRETCH = 200_000  # ledger entries followed at most before their players are looked at
_PLAYERS = 50  # looked at in one piece: a few thousand games, while no match is rated
# An entry is settled, with nothing older on its way, after twice the time that a transaction may live.
_LONGEST = timedelta(minutes=1)


class Integrity:
    """Flags what looks like farming, win trading, boosting or sandbagging."""

    name = "integrity"

    def __init__(self, policies: PolicySet, longest: timedelta = _LONGEST) -> None:
        """Make the task; `longest` is how long a batch may hold its partitions, a minute at least."""
        self._policies = policies
        self._settled_after = 2 * max(longest, _LONGEST)
        self._stretch = (0, 0)
        self._players: list[int] = []  # of that stretch

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Look at the next players of a stretch of the ledger, or of the stretch after it."""
        position = await round_.position(self.name) or {"entry": 0}
        after: int = position["entry"]
        until: int | None = position.get("until") or await self._end_of_stretch(round_, after, now)
        if until is None:
            return None
        players = await self._next_players(round_, (after, until), position.get("player", 0))
        position = {"entry": after, "until": until, "player": players[-1]} if players else {"entry": until}
        rows = await round_.connection.fetch(_SQL["latest_games"], players, LATEST) if players else []
        notices = [
            notice
            for (pool, player_id), games in groupby(rows, key=lambda row: (row["pool"], row["player_id"]))
            for notice in self._flags(pool, player_id, list(_games(games)), now)
        ]
        return Done([], notices, {}, position, now)

    async def _end_of_stretch(self, round_: Round, after: int, now: datetime) -> int | None:
        settled = now - self._settled_after
        last: int | None = await round_.connection.fetchval(_SQL["settled_entry"], after, after + _STRETCH, settled)
        if last is None and await round_.connection.fetchval(_SQL["later_entry"], after + _STRETCH, settled):
            last = after + _STRETCH  # numbers of transactions that were rolled back
        return last

    async def _next_players(self, round_: Round, stretch: tuple[int, int], after: int) -> list[int]:
        """Give the next players of a stretch by rating_id; they are looked up once, and again by another leader."""
        if self._stretch != stretch:
            rows = await round_.connection.fetch(_SQL["players_of_stretch"], *stretch)
            self._stretch, self._players = stretch, [row["rating_id"] for row in rows]
        start = bisect_right(self._players, after)
        return self._players[start : start + _PLAYERS]

    def _flags(self, pool: str, player_id: str, games: Sequence[PlayedGame], now: datetime) -> Iterator[Notice]:
        try:
            policy = self._policies.at(pool, now)
        except UnknownPoolError:
            return  # an operator took the pool away
        for evidence in signals_in(games, policy):
            # A pair that trades wins is one case: it is told from the side of the lower id.
            if evidence.signal is not Signal.WIN_TRADING or player_id < (evidence.opponent_id or ""):
                yield flagged(pool, player_id, evidence, policy)


def _games(rows: Iterable[Any]) -> Iterator[PlayedGame]:
    """Give the games of one player that were not voided."""
    entries = list(rows)
    voided = {row["match_id"] for row in entries if row["reason"] == "void"}
    for row in entries:
        if row["reason"] == "match" and row["match_id"] not in voided:
            yield played(row)
