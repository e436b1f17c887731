"""Entries of a player's chain that are no game: restarts, voids, resets, steps of inactivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.rating.model import Change

if TYPE_CHECKING:
    from datetime import datetime

    from worker.rating.model import PlayerState, Reason
    from worker.rating.policy import Policy


def entry(
    pool: str,
    player_id: str,
    reason: Reason,
    states: tuple[PlayerState, PlayerState],
    delta: float,
    policy: Policy,
    occurred_at: datetime,
    *,
    match_id: str | None = None,
    opponent_id: str | None = None,
    cause: str | None = None,
    adjusted: tuple[str, ...] = (),
) -> Change:
    """Make the change that led from one state to the next, without a score, a K or a weight of its own.

    Args:
        pool: The pool.
        player_id: The player.
        reason: Why.
        states: Before and after, of consecutive versions.
        delta: What was added to the rating before to give the rating after.
        policy: The version in force at `occurred_at`.
        occurred_at: When the change holds from.
        match_id: The match that it belongs to.
        opponent_id: The opponent in that match.
        cause: The event that caused it, where that is no match.
        adjusted: What bent it.
    """
    before, after = states
    return Change(
        pool=pool,
        player_id=player_id,
        opponent_id=opponent_id,
        match_id=match_id,
        reason=reason,
        version=after.version,
        before=before.rating,
        after=after.rating,
        delta=delta,
        expected=None,
        score=None,
        k=None,
        k_rule=None,
        weight=1.0,
        factors=(),
        games=after.games,
        provisional=policy.provisional(after.games),
        adjusted=adjusted,
        title_before=policy.title(before.rating),
        title_after=policy.title(after.rating),
        policy=policy.ref,
        occurred_at=occurred_at,
        cause=cause,
    )
