"""Entries and their matches: each rated match has its two, and what one player won is what the other lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from worker.rating.floor import FLOOR
from worker.rating.model import Reason
from worker.rating.rate import GAP_CAP, ROUNDING
from worker.verify.digests import check_match
from worker.verify.piece import event_of
from worker.verify.report import Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.verify.chains import Chain
    from worker.verify.piece import Piece
    from worker.verify.report import Checks
    from worker.verify.snapshot import Entry, RecordedMatch

_BENT = {FLOOR, ROUNDING}


class _Half(NamedTuple):
    """The entry of one side of a match."""

    delta: float
    k: float | None
    adjusted: frozenset[str]


class _Side(NamedTuple):
    """What a match says of one of its players."""

    version: int | None
    steps: int
    score: float
    opponent: int


class Pairings:
    """The matches of which one entry was read, and how many have both.

    Attributes:
        whole: How many matches have both their entries.
    """

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._halves: dict[str, _Half] = {}
        self.whole = 0

    def take(self, entry: Entry, before: Chain, piece: Piece) -> None:
        """Look at an entry of a match, and at those that other events made.

        Args:
            entry: The entry.
            before: Where its player's chain stood before it.
            piece: What is recorded about it.
        """
        row = entry.row
        match row.reason:
            case Reason.MATCH | Reason.FLOOR:
                self._take_game(entry, before, piece.matches.get(row.match_id or ""))
            case Reason.VOID | Reason.RESET | Reason.LIFT:
                check = self._checks[Name.EVENTS]
                check.looked_at += 1
                event_id = event_of(entry) or ""
                event = piece.events.get(event_id)
                if event is None:
                    check.find("the event that made it is not recorded", event_id=event_id, **entry.ids)
                elif (row.rating_id, row.version) not in event.changes:
                    check.find("its event does not name it", event_id=event_id, **entry.ids)
            case Reason.INACTIVITY:
                pass  # of an event or of housekeeping: what it is, rebuilding tells
            case reason:
                self._checks[Name.EVENTS].find(f"an entry of the unknown reason {reason!r}", **entry.ids)

    def _take_game(self, entry: Entry, before: Chain, match: RecordedMatch | None) -> None:
        row, check = entry.row, self._checks[Name.MATCHES]
        check.looked_at += 1
        if match is not None and row.reason == Reason.MATCH and row.rating_id == match.lo_rating_id:  # once a match
            check_match(match, self._checks[Name.DIGESTS])
        if faults := [*self._faults(entry, before, match)]:
            check.find("; ".join(faults), **entry.ids)
        elif row.reason == Reason.MATCH:
            self._pair(entry)

    @staticmethod
    def _faults(entry: Entry, before: Chain, match: RecordedMatch | None) -> Iterator[str]:
        row = entry.row
        if match is None:
            yield "its match is not recorded"
            return
        if match.lo_version is None:
            yield f"its match is not rated: {match.unrated_reason}"
            return
        side = _side(match, row.rating_id)
        if side is None:
            yield f"its match is of {match.lo_player} and {match.hi_player}"
            return
        version = row.version if row.reason == Reason.MATCH else row.version - 1
        if side.version != version:
            yield f"its match names version {side.version} as this player's"
        if row.opponent_rating_id != side.opponent:
            yield f"the opponent is rating_id {row.opponent_rating_id}; the match has {side.opponent}"
        if row.occurred_at != match.finished_at:
            yield f"it occurred at {row.occurred_at}; the match finished at {match.finished_at}"
        if row.reason == Reason.MATCH and row.score != side.score:
            yield f"the score is {row.score}; the match has {side.score}"
        if row.reason == Reason.MATCH and side.steps > before.idle:
            yield f"its match took {side.steps} steps of inactivity; {before.idle} come before it"

    def _pair(self, entry: Entry) -> None:
        row = entry.row
        adjusted = row.adjusted if isinstance(row.adjusted, list) else ()
        half = _Half(row.delta, row.k, frozenset(map(str, adjusted)))
        other = self._halves.pop(row.match_id or "", None)
        if other is None:
            self._halves[row.match_id or ""] = half
            return
        self.whole += 1
        bent = _BENT & (half.adjusted | other.adjusted) or GAP_CAP in half.adjusted ^ other.adjusted
        if half.k != other.k or bent:
            return
        check = self._checks[Name.ZERO_SUMS]
        check.looked_at += 1
        if half.delta + other.delta != 0:
            check.find(f"{other.delta!r} and {half.delta!r} add up to {half.delta + other.delta!r}", **entry.ids)


def _side(match: RecordedMatch, rating_id: int) -> _Side | None:
    if rating_id == match.lo_rating_id:
        return _Side(match.lo_version, match.lo_steps, match.lo_score, match.hi_rating_id)
    if rating_id == match.hi_rating_id:
        return _Side(match.hi_version, match.hi_steps, 1.0 - match.lo_score, match.lo_rating_id)
    return None
