"""The values that the rating core takes and gives: matches, player states, changes.

Ratings are IEEE doubles in Elo points and never rounded here, unless a policy asks for whole points. Times are aware
datetimes in UTC and always come in from outside: nothing in this package reads a clock. What a match is made of and
makes are named tuples, as a frozen dataclass takes more than twice as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.rating.event import (
    EntriesClosed,
    Lift,
    Sanction,
    SanctionKind,
    TournamentFinished,
    TournamentOpened,
    Void,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = [
    "Change",
    "EntriesClosed",
    "Event",
    "Factor",
    "Lift",
    "Match",
    "Notice",
    "NoticeKind",
    "Outcome",
    "PlayerState",
    "PolicyRef",
    "Rated",
    "Reason",
    "Sanction",
    "SanctionKind",
    "Side",
    "TournamentFinished",
    "TournamentOpened",
    "Unrated",
    "Void",
]


class Reason(StrEnum):
    """Why a rating changed."""

    MATCH = "match"
    FLOOR = "floor"  # the match took the player below a floor that restarts: a second change of the same match
    VOID = "void"  # the opposite of what a nullified match gave
    RESET = "reset"  # a verdict took the player to the start
    LIFT = "lift"  # that verdict was lifted and gave back what it took
    INACTIVITY = "inactivity"  # a step of decay


class Side(NamedTuple):
    """One player's part in a match.

    Attributes:
        id: The player.
        score: 1.0 for a win, 0.5 for a draw, 0.0 for a loss.
        birth_year: Where the backend knows it; a junior K rule needs it.
    """

    id: str
    score: float
    birth_year: int | None = None


class Match(NamedTuple):
    """A finished match between two players in one pool."""

    match_id: str
    pool: str
    finished_at: datetime
    sides: tuple[Side, Side]
    match_type: str = "ranked"
    tournament_id: str | None = None
    verified: bool = True


Event = Match | Void | Sanction | Lift | TournamentOpened | EntriesClosed | TournamentFinished


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
        idle_steps: How many steps of inactivity since `last_played_at` are done, those that cost nothing included.
        inactive: Whether the player is marked inactive: no rated match for so long as the policy says.
        requalify: Rated games still to play before leaderboard and tournaments open again.
        boost: Rated games still to come that count with the multiplier for activity.
        restarted: The version of the last change that took the player to the start again (a restart at the floor, a
            reset); 0 for never. What came before it counts no more.
    """

    rating: float
    version: int = 0
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    peak: float = float("-inf")
    last_played_at: datetime | None = None
    idle_steps: int = 0
    inactive: bool = False
    requalify: int = 0
    boost: int = 0
    restarted: int = 0


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


class PolicyRef(NamedTuple):
    """The policy version that rated a match; `digest` is of its content, so a silent edit shows."""

    name: str
    version: int
    digest: str


class Change(NamedTuple):
    """One step of a player's rating chain, with every number that led to it.

    `after == before + delta` holds exactly, and so does `delta == k * weight * (score - expected)` for a game, unless
    the floor or whole-point rounding acted, which `adjusted` then names; a restart at the floor names `floor` too.

    Attributes:
        opponent_id: None for a change that no match gave or took, `match_id` likewise.
        version: The player's chain version after this change; the first change is 1.
        expected: The expected score that counted (None for a change that is no game), `score`, `k` likewise.
        k: The K that counted, the multiplier for activity included.
        k_rule: The name of the policy's K rule that gave `k`.
        weight: The product of the factors; 1.0 when none applies.
        factors: Those factors that are not 1.
        games: The player's rated games after this change.
        provisional: Whether the player is provisional after this change.
        adjusted: What bent the formula: a tuple of `activity-boost`, `gap-cap`, `rounding`, `floor`, in the order in
            which they acted.
        policy: The version in force at `occurred_at`.
        occurred_at: The match's `finished_at`; of other changes, when what caused them holds from.
        cause: The id of the event that caused the change where that is no match: a reset's sanction.
        opponent_before: The opponent's rating that counted, None for a change that is no game.
    """

    pool: str
    player_id: str
    opponent_id: str | None
    match_id: str | None
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
    cause: str | None = None
    opponent_before: float | None = None


class NoticeKind(StrEnum):
    """What a notice tells."""

    PLAYER_INACTIVE = "player-inactive"
    TOURNAMENT_SEEDED = "tournament-seeded"
    INTEGRITY_FLAGGED = "integrity-flagged"
    POLICY_CHANGED = "policy-changed"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the world that is no rating change.

    Attributes:
        key: Tells the notice from every other of its kind, and is the same whenever it is made again: its parts are
            joined by the unit separator (U+001F), which no id may contain.
        subject: Whom or what it is about.
        occurred_at: When it holds from, never when it was noticed.
        body: The fields of its event: text, numbers, truth values, aware datetimes in UTC, and lists and mappings of
            them.
    """

    kind: NoticeKind
    key: str
    subject: str
    occurred_at: datetime
    body: Mapping[str, Any]


class Rated(NamedTuple):
    """A match that moved ratings.

    Attributes:
        changes: In order: the steps of inactivity that the first side and then the second owed, the match's changes of
            the first side and then of the second. A side has two of those if it fell below a floor that restarts.
        states: Where the first side and the second stand now.
        notices: That a side had become inactive before this match, where nobody had noticed.
    """

    changes: tuple[Change, ...]
    states: tuple[PlayerState, PlayerState]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Unrated:
    """A match that is recorded and moves nothing, and why.

    Attributes:
        reason: `voided`, `unverified`, `suspended`, `tournament-banned`, `tournament-refused`,
            `tournament-provisional`, `tournament-inactive`, `draw`, or the name of its match type.
        player_id: Whom the reason is about, None for the match as a whole.
    """

    reason: str
    player_id: str | None = None


Outcome = Rated | Unrated
