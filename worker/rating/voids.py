"""Voids: a nullified match is reversed by new entries; what is recorded is never edited.

rules.md, policy `biciid`: "a match found suspicious is voided: both players get back what it cost them, lose what it
gave them, and their games, wins and losses no longer count it". The compensation is exact for that match: later matches
stay as they were, though they were rated from ratings that the match had moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from worker.rating.entry import entry
from worker.rating.errors import VoidMismatchError
from worker.rating.model import Change, Match, Notice, PlayerState, Reason

if TYPE_CHECKING:
    from worker.rating.model import Void
    from worker.rating.policy import Policy

VOIDED = "voided"  # why a match is not rated whose void came first

GIVEN = frozenset({Reason.MATCH, Reason.FLOOR})  # the reasons of the changes that a match itself gives


class Recorded(NamedTuple):
    """A match that came before.

    Attributes:
        match: The match.
        changes: What it gave, in order (reasons `match` and `floor`; others are passed over); none if it is unrated.
        voided: Whether a void has come for it.
        unrated: Why it is not rated, None if it is.
    """

    match: Match
    changes: tuple[Change, ...] = ()
    voided: bool = False
    unrated: str | None = None


@dataclass(frozen=True, slots=True)
class Voided:
    """A match that is reversed.

    Attributes:
        changes: In order: the steps of inactivity that the first side and then the second owed, the reversal of the
            first side and then of the second.
        states: Where the first side and the second of the match stand now.
        notices: That a side had become inactive before the void, where nobody had noticed.
    """

    changes: tuple[Change, ...]
    states: tuple[PlayerState, PlayerState]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A void whose match has not come: kept; the match will be recorded and not rated."""


@dataclass(frozen=True, slots=True)
class NothingToReverse:
    """A void of a match that is recorded and not rated, and why it was not."""

    reason: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """An event that came before, under whatever id: it changes nothing."""


VoidOutcome = Voided | Waiting | NothingToReverse | Repeated


class Matches:
    """The matches that came before, and the voids that wait for theirs.

    Attributes:
        recorded: By match id.
        waiting: By match id.
    """

    __slots__ = ("recorded", "waiting")

    def __init__(self) -> None:
        self.recorded: dict[str, Recorded] = {}
        self.waiting: dict[str, Void] = {}

    def meet(self, match: Match) -> bool:
        """Record a match as voided if a void waits for it; one that names other players or another pool is not its own.

        As if that void had come after the match: there it would be refused.
        """
        void = self.waiting.get(match.match_id)
        if void is None or not _is_of(void, match):
            return False
        del self.waiting[match.match_id]
        self.recorded[match.match_id] = Recorded(match, voided=True, unrated=VOIDED)
        return True

    def void(self, void: Void) -> Recorded | Waiting | NothingToReverse | Repeated:
        """Mark a match as voided, or let the void wait for it. What is given as recorded is to be reversed.

        Raises:
            VoidMismatchError: The void names another pool or other players than the match has.
        """
        recorded = self.recorded.get(void.match_id)
        if recorded is None:
            if void.match_id in self.waiting:
                return Repeated()
            self.waiting[void.match_id] = void
            return Waiting()
        if not _is_of(void, recorded.match):
            raise VoidMismatchError(void, recorded.match)
        if recorded.voided:
            return Repeated()
        self.recorded[void.match_id] = recorded._replace(voided=True)
        return recorded if recorded.unrated is None else NothingToReverse(recorded.unrated)


def reverse(
    void: Void, recorded: Recorded, place: int, before: PlayerState, policy: Policy
) -> tuple[Change, PlayerState]:
    """Take back what a match gave one side, a restart at the floor that it caused included.

    No floor and no rounding acts on it. What no state and no change keeps cannot be taken back: the peak stays, and so
    do the time of the last match and the games of requalification that it counted for. Where something took the player
    to the start since, the match's effect went with it: then the entry moves no points and only the tally changes.

    Args:
        void: The void.
        recorded: Its match, rated.
        place: The first (0) or the second (1) side.
        before: Where that side stands now.
        policy: The version in force when the void holds from.
    """
    side, opponent = recorded.match.sides[place], recorded.match.sides[1 - place]
    given = [change for change in recorded.changes if change.player_id == side.id and change.reason in GIVEN]
    first, last = given[0], given[-1]
    if last.version < before.restarted:
        delta, games, restarted = 0.0, before.games, before.restarted
    else:
        delta = 0.0 - sum(change.delta for change in given)  # and not -sum: no change is -0.0
        games = max(0, before.games + first.games - 1 - last.games)
        restarted = before.restarted if len(given) == 1 else 0  # a restart of this match is undone
    after = before._replace(
        rating=before.rating + delta,
        version=before.version + 1,
        games=games,
        wins=max(0, before.wins - (side.score == 1)),
        draws=max(0, before.draws - (side.score == 0.5)),  # noqa: PLR2004 - a draw
        losses=max(0, before.losses - (side.score == 0)),
        restarted=restarted,
    )
    change = entry(
        recorded.match.pool,
        side.id,
        Reason.VOID,
        (before, after),
        delta,
        policy,
        void.voided_at,
        match_id=void.match_id,
        opponent_id=opponent.id,
    )
    return change, after


def _is_of(void: Void, match: Match) -> bool:
    one, other = match.sides
    return void.pool == match.pool and {*void.players} == {one.id, other.id}
