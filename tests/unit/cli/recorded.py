"""Matches as the ledger would give them, made by the core."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from worker.ledger.reads import MatchRecord, SideRecord
from worker.policies import load_policies
from worker.rating import Match, PlayerState, Rated, Side
from worker.rating.rate import rate

if TYPE_CHECKING:
    from worker.rating import Policy

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICIES = load_policies()
YIBOARD, BICIID, FIDE = (POLICIES.at(pool, AT) for pool in ("yi", "shax", "chess/blitz"))


def a_match(
    score: float = 1.0,
    *,
    pool: str = "yi",
    match_type: str = "ranked",
    birth_year: int | None = None,
    verified: bool = True,
) -> Match:
    """Make a match of ann and bob, by ann's score and birth year."""
    sides = (Side("ann", score, birth_year), Side("bob", 1.0 - score))
    return Match("m1", pool, AT, sides, match_type, verified=verified)


def standing(rating: float, games: int = 50, peak: float | None = None) -> PlayerState:
    """Make where a player stands before a match."""
    return PlayerState(rating, games, games, peak=rating if peak is None else peak)


def recorded(match: Match, ann: PlayerState, bob: PlayerState, policy: Policy, earlier: int = 0) -> MatchRecord:
    """Make the record of a match between the two, rated by a policy."""
    outcome = rate(match, ann, bob, earlier, policy)
    rated = outcome if isinstance(outcome, Rated) else None
    changes = rated.changes if rated else ()
    one, other = (
        SideRecord(side, tuple(c for c in changes if c.player_id == side.id), before if rated else None)
        for side, before in zip(match.sides, (ann, bob), strict=True)
    )
    return MatchRecord(
        match=match,
        topic="match-events",
        partition=3,
        offset=17,
        recorded_at=AT,
        unrated_reason=None if isinstance(outcome, Rated) else outcome.reason,
        sides=(one, other),
        policy=policy if rated else None,
        policy_ref=policy.ref if rated else None,
        earlier_pair_games=earlier,
    )
