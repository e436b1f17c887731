"""The values that the rating core takes and gives: matches, player states, changes.

Ratings are IEEE doubles in Elo points and never rounded here, unless a policy asks for whole points. Times are aware
datetimes in UTC and always come in from outside: nothing in this package reads a clock. States and changes are named
tuples, as each match makes two of both and a frozen dataclass takes more than twice as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class Reason(StrEnum):
    """Why a rating changed."""

    MATCH = "match"
    FLOOR = "floor"  # the match took the player below a floor that restarts: a second change of the same match


@dataclass(frozen=True, slots=True)
class Side:
    """One player's part in a match.

    Attributes:
        id: The player.
        score: 1.0 for a win, 0.5 for a draw, 0.0 for a loss.
        birth_year: Where the backend knows it; a junior K rule needs it.
    """

    id: str
    score: float
    birth_year: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A finished match between two players in one pool."""

    match_id: str
    pool: str
    finished_at: datetime
    sides: tuple[Side, Side]
    match_type: str = "ranked"
    tournament_id: str | None = None
    verified: bool = True


class PlayerState(NamedTuple):
    """Where a player stands in one pool.

    Attributes:
        rating: In Elo points.
        version: How many changes the player's chain has; 0 before the first.
        games: Rated games since the start or the last restart; decides what is provisional.
        wins: Rated wins, like `draws` and `losses` over the player's whole life in the pool.
        draws: Rated draws.
        losses: Rated losses.
        peak: The highest rating ever held after a rated game, or the start.
        last_played_at: The latest `finished_at` of the rated matches, None before the first.
    """

    rating: float
    version: int = 0
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    peak: float = float("-inf")
    last_played_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a match's weight that is not 1, with its reason in words.

    Attributes:
        name: `repeat-pair` or `match-type`.
        value: What it multiplies the weight by.
        why: For people, e.g. "game 4 of this pair in 24 h".
    """

    name: str
    value: float
    why: str


@dataclass(frozen=True, slots=True)
class PolicyRef:
    """The policy version that rated a match; `digest` is of its content, so a silent edit shows."""

    name: str
    version: int
    digest: str


class Change(NamedTuple):
    """One step of a player's rating chain, with every number that led to it.

    `after == before + delta` holds exactly, and so does `delta == k * weight * (score - expected)` unless the floor or
    whole-point rounding acted, which `adjusted` then names; a restart at the floor names `floor` too.

    Attributes:
        version: The player's chain version after this change; the first change is 1.
        expected: The expected score that counted (None for a change that is no game), `score`, `k` likewise.
        k_rule: The name of the policy's K rule that gave `k`.
        weight: The product of the factors; 1.0 when none applies.
        factors: Those factors that are not 1.
        games: The player's rated games after this change.
        provisional: Whether the player is provisional after this change.
        adjusted: What bent the formula: a tuple of `gap-cap`, `rounding`, `floor`, in the order in which they acted.
        occurred_at: The match's `finished_at`.
    """

    pool: str
    player_id: str
    opponent_id: str
    match_id: str
    reason: Reason
    version: int
    before: float
    after: float
    delta: float
    expected: float | None
    score: float | None
    k: float | None
    k_rule: str | None
    weight: float
    factors: tuple[Factor, ...]
    games: int
    provisional: bool
    adjusted: tuple[str, ...]
    title_before: str
    title_after: str
    policy: PolicyRef
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Rated:
    """A match that moved ratings.

    Attributes:
        changes: In order, those of the first side and then those of the second. A side has two if it fell below a floor
            that restarts.
        states: Where the first side and the second stand now.
    """

    changes: tuple[Change, ...]
    states: tuple[PlayerState, PlayerState]


@dataclass(frozen=True, slots=True)
class Unrated:
    """A match that is recorded and moves nothing, and why: `unverified`, `draw`, or the name of its match type."""

    reason: str


Outcome = Rated | Unrated
