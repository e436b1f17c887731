"""The book: the ratings of the players at hand, in memory, moved by one match after another.

The batch transaction, the `rate` command, rebuild and verify all go through it, so they agree to the last bit.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from types import MappingProxyType
from typing import TYPE_CHECKING

from worker.rating.model import Rated
from worker.rating.rate import rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta

    from worker.rating.model import Match, Outcome, PlayerState
    from worker.rating.policy_set import PolicySet


class Book:
    """Ratings by pool and player, and the times of each pair's rated matches.

    Matches are rated in the order in which they are given. A match that is late counts the pair's games in the window
    before its own time.
    """

    __slots__ = ("_pair_times", "_policies", "_states")

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self._states: dict[tuple[str, str], PlayerState] = {}
        self._pair_times: dict[tuple[str, str, str], list[datetime]] = {}

    @property
    def states(self) -> Mapping[tuple[str, str], PlayerState]:
        """Every state in the book, by pool and player; a live view."""
        return MappingProxyType(self._states)

    def state(self, pool: str, player: str) -> PlayerState | None:
        """Give where a player stands, None for one that the book does not know: they start at their first match."""
        return self._states.get((pool, player))

    def put_state(self, pool: str, player: str, state: PlayerState) -> None:
        """Enter where a player stands."""
        self._states[pool, player] = state

    def put_pair_times(self, pool: str, a: str, b: str, times: Iterable[datetime]) -> None:
        """Enter when the pair's earlier rated matches in a pool finished, in place of what the book had; any order."""
        self._pair_times[_pair(pool, a, b)] = sorted(times)

    def rate(self, match: Match) -> Outcome:
        """Rate a match by the policy that holds for it and enter where it leaves both players.

        Raises:
            UnknownPoolError: No policy for the pool.
            ValueError: The match is none (see `rate.rate`).
        """
        pool, finished_at = match.pool, match.finished_at
        policy = self._policies.at(pool, finished_at)
        one, other = match.sides
        pair = _pair(pool, one.id, other.id)
        times = self._pair_times.get(pair)
        window = policy.pair_window
        outcome = rate(
            match,
            self._states.get((pool, one.id)) or policy.start_state(),
            self._states.get((pool, other.id)) or policy.start_state(),
            _count(times, finished_at, window) if times and window else 0,
            policy,
        )
        if isinstance(outcome, Rated):
            self._states[pool, one.id], self._states[pool, other.id] = outcome.states
            if times is None:
                self._pair_times[pair] = [finished_at]
            else:
                insort(times, finished_at)
        return outcome


def _pair(pool: str, a: str, b: str) -> tuple[str, str, str]:
    return (pool, a, b) if a < b else (pool, b, a)


def _count(times: list[datetime], finished_at: datetime, window: timedelta) -> int:
    """Count the times f with f <= finished_at and finished_at - f < window."""
    until = bisect_right(times, finished_at)
    # Differences, not finished_at - window, which does not exist for the first hours of year 1.
    return until - bisect_right(times, -window, hi=until, key=lambda time: time - finished_at)
