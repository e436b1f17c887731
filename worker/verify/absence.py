"""What housekeeping does to a player without an entry: it marks them inactive, and counts steps that cost nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from worker.rating.inactivity import age, marked_at

if TYPE_CHECKING:
    from worker.rating.model import PlayerState
    from worker.rating.policy_set import Versions

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


def nothing_to_lose(low: float, versions: Versions) -> bool:
    """Tell whether decay passed over a player at some time since their last match, when they stood at `low`."""
    rules = [span.policy.inactivity for span in versions.spans]
    return any(rule is not None and rule.lowest is not None and low <= rule.lowest for rule in rules)


def only_absent(rebuilt: PlayerState, stored: PlayerState, low: float, versions: Versions) -> bool:
    """Tell whether housekeeping alone may have led from one state to the other, and without an entry.

    Args:
        rebuilt: Where the entries leave the player.
        stored: Where the player stands.
        low: The lowest rating since the last match.
        versions: Those of the pool's policy.
    """
    last = rebuilt.last_played_at
    moved_on = stored._replace(idle_steps=rebuilt.idle_steps, inactive=rebuilt.inactive)
    if last is None or moved_on != rebuilt or stored.idle_steps < rebuilt.idle_steps:
        return False
    if stored.inactive != rebuilt.inactive and (rebuilt.inactive or marked_at(last, versions) is None):
        return False
    in_the_end = age("", "", rebuilt, versions, _END_OF_TIME)
    if stored.idle_steps > in_the_end.state.idle_steps:
        return False
    return nothing_to_lose(low, versions) or in_the_end.changes == age("", "", stored, versions, _END_OF_TIME).changes
