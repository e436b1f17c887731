"""The tasks of housekeeping. Each does one bounded piece at a time, says how far it has come, and can be done again.

Time comes in as an argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from worker.ledger import sql
from worker.ledger.rounds import Done
from worker.rating.book import Book
from worker.rating.errors import UnknownPoolError
from worker.rating.model import NoticeKind, PlayerState
from worker.rating.notices import policy_changed

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from worker.ledger.rounds import Round
    from worker.rating.model import Change, Notice
    from worker.rating.policy_set import PolicySet

_SQL = sql.load("housekeeping.sql")
_STRETCH = 20_000  # players looked at in one piece, in Postgres
_ABSENT = 300  # and of them aged here: they stay locked meanwhile, and no match is rated


class Task(Protocol):
    """One thing that housekeeping does."""

    name: str

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Do the next piece, as of `now`; None when there is nothing to do."""


class TellPolicies:
    """Publishes `policy-changed` once for each new version of a policy."""

    name = "policies"

    def __init__(self, policies: PolicySet) -> None:
        self._notices = [notice for policy in policies.policies if (notice := policy_changed(policy)) is not None]

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Tell of the versions that were not told of before."""
        keys = [notice.key for notice in self._notices]
        rows = await round_.connection.fetch(_SQL["known_notices"], NoticeKind.POLICY_CHANGED, keys)
        known = {row["key"] for row in rows}
        fresh = [notice for notice in self._notices if notice.key not in known]
        return Done([], fresh, {}, {}, now) if fresh else None


class Inactivity:
    """Marks players who have not played for long, and takes the steps of decay that they owe, once a day."""

    name = "inactivity"

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Look at the next stretch of players, by rating_id."""
        position = await round_.position(self.name) or {"day": "", "after": 0, "done": False}
        today = now.date().isoformat()
        if position["day"] != today:
            position = {"day": today, "after": 0, "done": False}
        elif position["done"]:
            return None
        pools = await self._pools(round_)
        after, last = position["after"], await round_.connection.fetchval(_SQL["last_rating"])
        until = min(after + _STRETCH, last)
        if not pools:
            return Done([], [], {}, position | {"after": until, "done": True}, now)
        cutoff = now - min(pools.values())
        book = Book(self._policies)
        changes: list[Change] = []
        notices: list[Notice] = []
        moved: dict[int, tuple[str, str, PlayerState]] = {}
        rows = await round_.connection.fetch(_SQL["lock_absent"], after, until, cutoff, list(pools), _ABSENT)
        if len(rows) == _ABSENT:
            until = rows[-1]["rating_id"]
        for rating_id, pool, player_id, *fields in rows:
            state = PlayerState(*fields)
            book.put_state(pool, player_id, state)
            its_changes, its_notices = book.age(pool, player_id, now)
            changes += its_changes
            notices += its_notices
            if book.states[pool, player_id] != state:
                moved[rating_id] = (pool, player_id, book.states[pool, player_id])
        return Done(changes, notices, moved, position | {"after": until, "done": until >= last}, now)

    async def _pools(self, round_: Round) -> dict[str, timedelta]:
        """Give the pools whose policy knows inactivity, and the shortest absence that counts."""
        found: dict[str, timedelta] = {}
        for row in await round_.connection.fetch(_SQL["pool_names"]):
            try:
                idle_after = self._policies.versions(row["name"]).idle_after
            except UnknownPoolError:
                continue  # an operator took the pool away; its players stay as they are
            if idle_after is not None:
                found[row["name"]] = idle_after
        return found
