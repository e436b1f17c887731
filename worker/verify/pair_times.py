"""When the pairs of a piece's matches had met before, as it counted when each match was rated."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from worker.rating.model import Reason
from worker.verify.events import VoidedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from worker.verify.piece import Piece
    from worker.verify.registered import Registered
    from worker.verify.snapshot import RecordedMatch, Snapshot

_FIRST_TIME = datetime.min.replace(tzinfo=UTC)
_NOT_VOIDED = 1 << 31  # above every version

Pair = tuple[int, int]
"""The rating ids of two players, the first by player id first."""


class PairTimes:
    """The rated matches of the pairs of one piece, as far as windows reach.

    What counted when a match was rated is told by versions: it had been recorded, which gave its players lower
    versions, and had not been voided, which gives them higher ones.
    """

    def __init__(self, found: Mapping[Pair, Sequence[VoidedMatch]]) -> None:
        self._found = found

    @classmethod
    async def load(
        cls,
        snapshot: Snapshot,
        registered: Registered,
        piece: Piece,
        voided: Mapping[Pair, Sequence[VoidedMatch]],
    ) -> PairTimes:
        """Read them.

        Args:
            snapshot: Where.
            registered: Say how far a window reaches.
            piece: The entries to be rated again.
            voided: Every match that was voided, which the index of pairs does not have.
        """
        reaches: dict[Pair, tuple[datetime, datetime]] = {}
        for pair, since, until in _reaches(registered, piece):
            earliest, latest = reaches.get(pair, (since, until))
            reaches[pair] = min(earliest, since), max(latest, until)
        found: defaultdict[Pair, list[VoidedMatch]] = defaultdict(list)
        if reaches:
            pairs = list(reaches)
            bounds = reaches.values()
            rows = await snapshot.fetch(
                "pair_times",
                [lo for lo, _ in pairs],
                [hi for _, hi in pairs],
                [since for since, _ in bounds],
                [until for _, until in bounds],
            )
            for number, finished_at, version in rows:
                found[pairs[number - 1]].append(VoidedMatch(finished_at, version, _NOT_VOIDED))
            for pair in pairs:
                found[pair] += voided.get(pair, ())
        return cls(found)

    def of(self, match: RecordedMatch) -> list[datetime]:
        """Give when the pair's matches finished that counted when a match was rated."""
        version = match.lo_version or 0
        met = self._found.get((match.lo_rating_id, match.hi_rating_id), ())
        return [one.finished_at for one in met if one.version < version < one.voided]


def _reaches(registered: Registered, piece: Piece) -> Iterator[tuple[Pair, datetime, datetime]]:
    for entry in piece.entries:
        row = entry.row
        match = piece.matches.get(row.match_id or "")
        if row.reason != Reason.MATCH or match is None or not registered.knows(row.policy_id):
            continue
        window = registered.policy(row.policy_id).pair_window
        if window is not None:
            finished_at = match.finished_at
            since = finished_at - min(window, finished_at - _FIRST_TIME)  # year 1 has no day before it
            yield (match.lo_rating_id, match.hi_rating_id), since, finished_at
