"""Rating one match: every rule of a policy, in the order in which they act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.rating.floor import FLOOR, restart
from worker.rating.inactivity import count_game
from worker.rating.k_factor import choose_k
from worker.rating.model import Change, PlayerState, Rated, Reason, Unrated
from worker.rating.named import new
from worker.rating.rounding import display
from worker.rating.weight import weigh

if TYPE_CHECKING:
    from datetime import datetime

    from worker.rating.model import Match, Outcome, Side
    from worker.rating.policy import Policy
    from worker.rating.weight import Weight

WIN, DRAW, LOSS = 1.0, 0.5, 0.0
OPPOSITE = {WIN: LOSS, DRAW: DRAW, LOSS: WIN}

UNVERIFIED = "unverified"
DRAWN = "draw"

ACTIVITY_BOOST = "activity-boost"
GAP_CAP = "gap-cap"
ROUNDING = "rounding"


def rate(
    match: Match,
    first: PlayerState,
    second: PlayerState,
    earlier_pair_games: int,
    policy: Policy,
    barred: Unrated | None = None,
) -> Outcome:
    """Rate a match. Both sides are computed from the ratings before it: new = old + K * weight * (score - expected).

    Args:
        match: Two different players, whose scores are 1 and 0, 0.5 and 0.5 or 0 and 1.
        first: Where the first side stands before the match, what an absence did to them included.
        second: Where the second side stands before the match.
        earlier_pair_games: How many rated matches of the pair precede this one in the policy's window.
        policy: The version that holds when the match finished.
        barred: That a player may not play this match, None if they may.

    Returns:
        The changes and the new states, or the first reason why the match is not rated: `unverified`, `barred`, `draw`,
        or its match type, if that weighs nothing.

    Raises:
        ValueError: A player meets themself, or the scores are no result.
    """
    one, other = match.sides
    if one.id == other.id:
        raise ValueError(f"match {match.match_id!r}: player {one.id!r} on both sides")
    if OPPOSITE.get(one.score) != other.score:
        raise ValueError(f"match {match.match_id!r}: scores {one.score} and {other.score} are no result")
    if policy.require_verified and not match.verified:
        return Unrated(UNVERIFIED)
    if barred is not None:
        return barred
    if one.score == DRAW and policy.draws == "unrated":
        return Unrated(DRAWN)
    weight = weigh(match.match_type, policy.match_types, earlier_pair_games, policy.repeat_pair)
    if weight.value == 0:
        return Unrated(match.match_type)
    one_changes, one_after = _rate_side(match, one, other.id, (first, second.rating), weight, policy)
    other_changes, other_after = _rate_side(match, other, one.id, (second, first.rating), weight, policy)
    return new(Rated, (one_changes + other_changes, (one_after, other_after), ()))


def _rate_side(
    match: Match, side: Side, opponent_id: str, standing: tuple[PlayerState, float], weight: Weight, policy: Policy
) -> tuple[tuple[Change, ...], PlayerState]:
    """Give a side's change, another if the floor restarts them, and where that leaves them.

    Args:
        match: The match.
        side: The side.
        opponent_id: The other one.
        standing: Where the side stands before the match, and the opponent's rating.
        weight: The weight of the match.
        policy: The version that holds.
    """
    before, opponent_rating = standing
    rating, score, finished_at = before.rating, side.score, match.finished_at
    rule = choose_k(policy.k_factor, before, side.birth_year, match.pool, finished_at)
    k = rule.k
    adjusted: tuple[str, ...] = ()
    if before.boost and policy.inactivity is not None:
        k, adjusted = k * policy.inactivity.boost, (ACTIVITY_BOOST,)
    expected, capped = policy.expected.score(rating, opponent_rating)
    if capped:
        adjusted = (*adjusted, GAP_CAP)
    delta, adjusted = _delta(rating, k * weight.value * (score - expected), policy, adjusted)
    state = _after_game(before, delta, finished_at, score, policy)
    change = new(
        Change,
        (
            match.pool,
            side.id,
            opponent_id,
            match.match_id,
            Reason.MATCH,
            state.version,
            rating,
            state.rating,
            delta,
            expected,
            score,
            k,
            rule.name,
            weight.value,
            weight.factors,
            state.games,
            policy.provisional(state.games),
            adjusted,
            policy.title(rating),
            policy.title(state.rating),
            policy.ref,
            finished_at,
            None,
            opponent_rating,
        ),
    )
    floor = policy.floor
    if floor is None or not floor.restarts(state.rating):
        return (change,), state
    second, state = restart(change, state, policy)
    return (change, second), state


def _delta(before: float, delta: float, policy: Policy, adjusted: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
    """Bend what the formula gives by rounding and by a floor that clamps, and add what acted to what did before."""
    if policy.rounding == "integer":
        whole = float(display(delta))
        if whole != delta:
            delta, adjusted = whole, (*adjusted, ROUNDING)
    floor = policy.floor
    if floor is not None and floor.clamps(before + delta):
        delta, adjusted = floor.at - before, (*adjusted, FLOOR)
    return delta, adjusted


def _after_game(before: PlayerState, delta: float, finished_at: datetime, score: float, policy: Policy) -> PlayerState:
    rating = before.rating + delta
    last = before.last_played_at
    latest = last is None or last < finished_at
    requalify, boost = before.requalify, before.boost
    if requalify or boost:
        requalify, boost = count_game(before, policy)
    return new(
        PlayerState,
        (
            rating,
            before.version + 1,
            before.games + 1,
            before.wins + (score == WIN),
            before.draws + (score == DRAW),
            before.losses + (score == LOSS),
            max(before.peak, before.rating, rating),
            finished_at if latest else last,
            0 if latest else before.idle_steps,
            before.inactive and not latest,
            requalify,
            boost,
            before.restarted,
        ),
    )
