"""Who may not play a match, and who may not enter a tournament, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.rating.inactivity import age, is_inactive
from worker.rating.model import SanctionKind, Unrated
from worker.rating.tournaments import BANNED, INACTIVE, PROVISIONAL, REFUSED, SUSPENDED, TOURNAMENT, Entrant

if TYPE_CHECKING:
    from datetime import datetime

    from worker.rating.model import EntriesClosed, Match, PlayerState
    from worker.rating.policy_set import Versions
    from worker.rating.sanctions import Sanctions
    from worker.rating.tournaments import Tournaments

ORDER = (BANNED, REFUSED, PROVISIONAL, INACTIVE)  # in which the reasons of a tournament's match are looked for


def barred(
    match: Match,
    states: tuple[PlayerState, PlayerState],
    versions: Versions,
    sanctions: Sanctions,
    tournaments: Tournaments,
) -> Unrated | None:
    """Give why a match is not rated because of one of its players: `suspended`, or `tournament-` and why.

    If the same is true of both, the one who comes first by id is named.

    Args:
        match: The match; what counts is when it finished.
        states: Where its first and its second side stand before it, as entered.
        versions: Those of the pool's policy.
        sanctions: All sanctions of both.
        tournaments: The tournament of the match, if it is one's.
    """
    pool, at = match.pool, match.finished_at
    players = sorted(zip((side.id for side in match.sides), states, strict=True))
    if sanctions:
        for player_id, _ in players:
            if sanctions.in_force(SanctionKind.SUSPENSION, player_id, pool, at):
                return Unrated(SUSPENDED, player_id)
    if match.match_type != TOURNAMENT:
        return None
    found: dict[str, str] = {}
    for player_id, state in players:
        reasons = set(why_not(player_id, state, pool, at, versions, sanctions))
        if tournaments.has_refused(match.tournament_id, pool, player_id):
            reasons.add(REFUSED)
        for reason in reasons:
            found.setdefault(reason, player_id)
    for reason in ORDER:
        if reason in found:
            return Unrated(f"{TOURNAMENT}-{reason}", found[reason])
    return None


def entrant(
    player_id: str,
    state: PlayerState,
    best: float | None,
    event: EntriesClosed,
    versions: Versions,
    sanctions: Sanctions,
) -> Entrant:
    """Look at someone who wants to play a tournament, as of the moment at which entries close.

    What they owe for an absence counts, and stays owed.

    Args:
        player_id: Who.
        state: Where they stand in the tournament's pool, as entered.
        best: The best rating of the time that the policy protects.
        event: The closing of the entries.
        versions: Those of the pool's policy.
        sanctions: All sanctions of theirs.
    """
    pool, at = event.pool, event.closed_at
    reasons = why_not(player_id, state, pool, at, versions, sanctions)
    rating = age(pool, player_id, state, versions, at).state.rating
    return Entrant(player_id, rating, best, reasons[0] if reasons else None)


def why_not(
    player_id: str, state: PlayerState, pool: str, at: datetime, versions: Versions, sanctions: Sanctions
) -> list[str]:
    """Give why a player may not enter a tournament, or play in it: the first of these reasons first, none if they may.

    Suspended or banned by a verdict; by the policy in force, provisional, or inactive and not requalified since.
    """
    rule = versions.at(at).tournaments
    reasons = []
    if sanctions.in_force(SanctionKind.SUSPENSION, player_id, pool, at):
        reasons.append(SUSPENDED)
    if sanctions.in_force(SanctionKind.TOURNAMENT_BAN, player_id, pool, at):
        reasons.append(BANNED)
    if rule is not None and rule.refuse_provisional and versions.at(at).provisional(state.games):
        reasons.append(PROVISIONAL)
    if rule is not None and rule.refuse_inactive and is_inactive(state, versions, at):
        reasons.append(INACTIVE)
    return reasons
