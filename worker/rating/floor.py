"""The floor: how low a rating may go, and what happens below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from worker.rating.entry import entry
from worker.rating.model import Reason
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from worker.rating.model import Change, PlayerState
    from worker.rating.policy import Policy

FLOOR = "floor"  # what a change says that the floor bent


class Floor(Rule):
    """A policy's floor.

    Attributes:
        at: The lowest rating, in whole points: whole, so that the change that ends on it is exact.
        action: `clamp` stops a fall at the floor. `restart` lets it happen and takes the player back to the start, with
            no games, by a second change of the same match.
    """

    at: int
    action: Literal["clamp", "restart"]

    def clamps(self, rating: float) -> bool:
        """Tell whether a rating would fall below the floor and is to stop there."""
        return self.action == "clamp" and rating < self.at

    def restarts(self, rating: float) -> bool:
        """Tell whether a rating has fallen below the floor and its player is to start again."""
        return self.action == "restart" and rating < self.at


def restart(fall: Change, fallen: PlayerState, policy: Policy) -> tuple[Change, PlayerState]:
    """Take a player who fell below the floor to the start, with no games; tally and peak are for life.

    The change is no game: it has no score, no K and no weight of its own.

    Args:
        fall: The change that took them below.
        fallen: Where that left them.
        policy: The policy of the match.
    """
    delta = policy.start - fallen.rating
    rating, version = fallen.rating + delta, fallen.version + 1
    state = fallen._replace(rating=rating, version=version, games=0, peak=max(fallen.peak, rating), restarted=version)
    change = entry(
        fall.pool,
        fall.player_id,
        Reason.FLOOR,
        (fallen, state),
        delta,
        policy,
        fall.occurred_at,
        match_id=fall.match_id,
        opponent_id=fall.opponent_id,
        adjusted=(FLOOR,),
    )
    return change, state
