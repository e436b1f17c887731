"""What can be wrong: policies that cannot be used, events that contradict what is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from worker.rating.model import Match, Void


class PolicyError(ValueError):
    """Policies that cannot be used.

    Attributes:
        faults: All that was found, one sentence each.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class UnknownPoolError(LookupError):
    """A match in a pool that no pattern names a policy for.

    Attributes:
        pool: The pool of the match.
    """

    def __init__(self, pool: str, patterns: Iterable[str]) -> None:
        self.pool = pool
        super().__init__(f"no policy for pool {pool!r}; pools with a policy: {', '.join(patterns) or 'none'}")


class VoidMismatchError(ValueError):
    """A void that names another pool or other players than the match that it voids."""

    def __init__(self, void: Void, match: Match) -> None:
        played = f"{match.pool!r} by {' and '.join(repr(side.id) for side in match.sides)}"
        named = f"{void.pool!r} by {' and '.join(repr(player) for player in void.players)}"
        super().__init__(f"match {match.match_id!r} was played in {played}; the void names {named}")


class LiftMismatchError(ValueError):
    """A lift that names another player than the sanction that it lifts."""

    def __init__(self, sanction_id: str, player_id: str) -> None:
        super().__init__(f"sanction {sanction_id!r} is not one of player {player_id!r}, whom its lift names")


class TournamentMismatchError(ValueError):
    """A tournament's event that names another pool than the one before."""

    def __init__(self, tournament_id: str, pool: str, named: str) -> None:
        super().__init__(f"tournament {tournament_id!r} is played in {pool!r}; its event names {named!r}")
