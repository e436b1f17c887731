"""A piece of the ledger with all that is recorded about its entries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.ledger import sql
from worker.rating.model import Reason, Sanction, SanctionKind
from worker.rating.sanctions import Taken
from worker.rating.voids import GIVEN
from worker.verify.snapshot import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from worker.ledger.rows import LedgerRow
    from worker.verify.snapshot import Entry, RecordedEvent, RecordedMatch, Snapshot

_RULEBOOK = sql.load("rulebook.sql")

_KINDS = {kind.value: kind for kind in SanctionKind}
_EVENTS: dict[str, str] = {Reason.VOID: "void", Reason.RESET: "sanction", Reason.LIFT: "lift"}


class RecordedSanction(NamedTuple):
    """A row of `sanctions`."""

    sanction: Sanction
    lifted_at: datetime | None
    lifted_why: str | None
    lifted_by: str | None
    taken: tuple[Taken, ...]

    @classmethod
    def of(cls, row: Sequence[Any]) -> RecordedSanction:
        """Make it of what the statements `sanctions` and `sanctions_of` give."""
        sanction_id, player_id, kind, *rest, lifted_at, lifted_why, lifted_by, taken = row
        sanction = Sanction(sanction_id, player_id, _KINDS.get(kind, kind), *rest)
        return cls(sanction, lifted_at, lifted_why, lifted_by, tuple(map(Taken._make, rows_of(taken, Taken._fields))))

    def taken_in(self, pool: str | None) -> Taken | None:
        """Give what it took in a pool."""
        return next((one for one in self.taken if one.pool == pool), None)


@dataclass(slots=True)
class Piece:
    """Entries in recorded order, and what is recorded about them.

    Attributes:
        rows: The entries' rows by rating_id and version.
        matches: Those of the entries, by id.
        given: Of each match that an entry voids, the entries that it gave, by match id; each as `change_of` takes it.
        events: Those behind entries that no match gave, by id.
        sanctions: Those behind resets and lifts, by id.
    """

    entries: list[Entry]
    rows: Mapping[tuple[int, int | None], LedgerRow] = field(default_factory=dict)
    matches: Mapping[str, RecordedMatch] = field(default_factory=dict)
    given: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    events: Mapping[str, RecordedEvent] = field(default_factory=dict)
    sanctions: Mapping[str, RecordedSanction] = field(default_factory=dict)

    @classmethod
    async def load(cls, snapshot: Snapshot, entries: list[Entry]) -> Piece:
        """Read what is recorded about entries."""
        matches = await snapshot.matches_of(list({entry.row.match_id for entry in entries if entry.row.match_id}))
        event_ids = {event_id for entry in entries if (event_id := event_of(entry))}
        causes = {entry.row.cause for entry in entries if entry.row.cause}
        voided = {entry.row.match_id for entry in entries if entry.row.reason == Reason.VOID}
        rows = await snapshot.fetch("sanctions_of", list(causes)) if causes else []
        return cls(
            entries,
            {(entry.row.rating_id, entry.row.version): entry.row for entry in entries},
            matches,
            await _given(snapshot, [matches[one] for one in voided if one in matches]),
            await snapshot.events_of(list(event_ids)),
            {row["sanction_id"]: RecordedSanction.of(row) for row in rows},
        )

    def given_to(self, match_id: str | None, rating_id: int) -> list[Any]:
        """Give the entries that a match which an entry voids gave a player, in order."""
        return [row for row in self.given.get(match_id or "", ()) if row["rating_id"] == rating_id]


def event_of(entry: Entry) -> str | None:
    """Name the event that made an entry, None for one that a match or an absence made."""
    row = entry.row
    prefix = _EVENTS.get(row.reason)
    return None if prefix is None else f"{prefix}:{row.match_id if row.reason == Reason.VOID else row.cause}"


async def _given(snapshot: Snapshot, matches: Sequence[RecordedMatch]) -> dict[str, list[Any]]:
    """Give what matches gave both players: a change each, and a second where a floor restarted one."""
    keys: set[tuple[int, int]] = set()
    for match in matches:
        for rating_id, version in ((match.lo_rating_id, match.lo_version), (match.hi_rating_id, match.hi_version)):
            if version is not None:
                keys |= {(rating_id, version), (rating_id, version + 1)}
    given: defaultdict[str, list[Any]] = defaultdict(list)
    if keys:
        ids, versions = [key[0] for key in keys], [key[1] for key in keys]
        voided = {match.match_id for match in matches}
        for row in await snapshot.run(_RULEBOOK["entries"], ids, versions):
            if row["match_id"] in voided and row["reason"] in GIVEN:
                given[row["match_id"]].append(row)
    return given
