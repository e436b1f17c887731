"""What happens besides matches: voids, verdicts and the life of a tournament. Named tuples, like matches."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class Void(NamedTuple):
    """A match is nullified: what it gave is taken back and what it cost is given back.

    Attributes:
        players: The two of the match, in any order.
        voided_at: When its reversal holds from.
        why: For people; likewise `by`, who decided.
    """

    match_id: str
    pool: str
    players: tuple[str, str]
    voided_at: datetime
    why: str
    by: str


class SanctionKind(StrEnum):
    """What a verdict imposes."""

    RESET = "rating-reset"
    SUSPENSION = "suspension"
    TOURNAMENT_BAN = "tournament-ban"


class Sanction(NamedTuple):
    """A verdict on a player.

    Attributes:
        starts_at: From when on, inclusive; a reset holds from here and has no end.
        ends_at: Until when, exclusive; None for until it is lifted.
        pool: Where; None for every pool.
        why: For people; likewise `by`, who decided.
    """

    sanction_id: str
    player_id: str
    kind: SanctionKind
    starts_at: datetime
    ends_at: datetime | None
    pool: str | None
    why: str
    by: str


class Lift(NamedTuple):
    """A sanction is lifted: it is in force no more from `lifted_at` on, and was until then.

    Attributes:
        player_id: The player of the sanction.
        why: For people; likewise `by`, who decided.
    """

    sanction_id: str
    player_id: str
    lifted_at: datetime
    why: str
    by: str


class TournamentOpened(NamedTuple):
    """A tournament takes entries."""

    tournament_id: str
    pool: str
    opened_at: datetime
    by: str


class EntriesClosed(NamedTuple):
    """A tournament takes no more entries: its seeds are fixed from the ratings of this moment.

    Attributes:
        entrants: Who wants to play, in any order.
    """

    tournament_id: str
    pool: str
    closed_at: datetime
    entrants: tuple[str, ...]


class TournamentFinished(NamedTuple):
    """A tournament is over. Its standings never override a rating.

    Attributes:
        standings: The players from the first place down.
    """

    tournament_id: str
    pool: str
    finished_at: datetime
    standings: tuple[str, ...]
