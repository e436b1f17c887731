"""The events that are no match: what they made, and what they say of matches and sanctions."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.ledger.stored import body_of
from worker.rating.model import Reason
from worker.rating.voids import VOIDED
from worker.verify.digests import check_event
from worker.verify.piece import RecordedSanction
from worker.verify.report import Name
from worker.verify.snapshot import fields_of, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from worker.verify.report import Checks
    from worker.verify.snapshot import Player, RecordedEvent, RecordedMatch, Snapshot
    from worker.verify.sources import Places

_MADE = {"void": Reason.VOID, "sanction": Reason.RESET, "lift": Reason.LIFT}

Key = tuple[int, int]
"""Of an entry: rating_id and version."""


class VoidedMatch(NamedTuple):
    """A rated match that was voided.

    Attributes:
        finished_at: When it finished.
        version: That it gave the first of its players by id.
        voided: The version with which its void took that back.
    """

    finished_at: datetime
    version: int
    voided: int


class Events:
    """The events that are no match.

    Attributes:
        count: How many were read.
        voided: The rated matches that were voided, by the rating ids of their pair.
    """

    def __init__(self, snapshot: Snapshot, checks: Checks, places: Places) -> None:
        self._snapshot = snapshot
        self._checks = checks
        self._places = places
        self.count = 0
        self.voided: defaultdict[Key, list[VoidedMatch]] = defaultdict(list)

    async def take(self, rows: Sequence[Any]) -> None:
        """Look at a piece of `events`."""
        self.count += len(rows)
        sources = self._checks[Name.SOURCES]
        for row in rows:
            sources.looked_at += 1
            if fault := self._places.fault(row["source_id"], row["source_partition"], row["source_offset"]):
                sources.find(fault, **_ids(row))
            check_event(row, fields_of(row["body"]), self._checks[Name.DIGESTS])
            if row["kind"] in _MADE and _about(row) not in fields_of(row["body"]).values():
                self._checks[Name.EVENTS].find("its body is about something else", **_ids(row))
        await self._check_changes(rows)
        await self._check_voids([row for row in rows if row["kind"] == "void"])
        imposed = [_about(row) for row in rows if row["kind"] == "sanction"]
        known = {row[0] for row in await self._snapshot.fetch("sanctions_of", imposed)} if imposed else set()
        for sanction_id in imposed:
            if sanction_id not in known:
                self._checks[Name.SANCTIONS].find("recorded, but not kept", event_id=f"sanction:{sanction_id}")

    async def check_waiting(self) -> None:
        """Look at the voids that wait for their match."""
        check = self._checks[Name.VOIDS]
        async for rows in self._snapshot.pieces("waiting_voids"):
            ids = [row["match_id"] for row in rows]
            events = await self._snapshot.events_of([f"void:{match_id}" for match_id in ids])
            for match_id in ids:
                check.looked_at += 1
                if f"void:{match_id}" not in events:
                    check.find("waits for a match, but no such event is recorded", match_id=match_id)

    async def check_sanctions(self) -> None:
        """Look at what was made of the events that impose sanctions and lift them."""
        check = self._checks[Name.SANCTIONS]
        async for rows in self._snapshot.pieces("sanctions"):
            sanctions = [RecordedSanction.of(row) for row in rows]
            ids = [one.sanction.sanction_id for one in sanctions]
            events = await self._snapshot.events_of([f"{kind}:{one}" for one in ids for kind in ("sanction", "lift")])
            resets = await self._resets([events[name] for one in ids if (name := f"sanction:{one}") in events])
            for one in sanctions:
                check.looked_at += 1
                sanction_id, player_id, *_ = one.sanction
                if faults := [*_sanction_faults(one, events, resets)]:
                    check.find("; ".join(faults), player_id=player_id, event_id=f"sanction:{sanction_id}")

    async def _resets(self, events: Sequence[RecordedEvent]) -> dict[Key, tuple[tuple[str, int], float]]:
        """Give what the entries of resets took, by their keys: pool and version, and how much."""
        keys = [key for event in events for key in event.changes]
        entries = await self._snapshot.entries_of(keys)
        players = await self._snapshot.players_of([key[0] for key in keys])
        return {
            key: ((players[key[0]].pool, key[1]), entry["delta"])
            for key, entry in entries.items()
            if key[0] in players and entry["reason"] == Reason.RESET
        }

    async def _check_changes(self, rows: Sequence[Any]) -> None:
        """Look whether the entries that events name are there, and are theirs."""
        named = {key: row for row in rows for key in keys_of(row["changes"])}
        entries = await self._snapshot.entries_of(list(named))
        players = await self._snapshot.players_of(list({key[0] for key in named}))
        check = self._checks[Name.EVENTS]
        for key, row in named.items():
            check.looked_at += 1
            if fault := _fault(entries.get(key), row):
                player = players.get(key[0])
                check.find(f"{fault} (rating_id {key[0]})", version=key[1], **_named(player), **_ids(row))

    async def _check_voids(self, rows: Sequence[Any]) -> None:
        ids = [_about(row) for row in rows]
        matches = await self._snapshot.matches_of(ids)
        waiting = {row[0] for row in await self._snapshot.fetch("waiting_voids_of", ids)} if ids else set()
        check = self._checks[Name.VOIDS]
        for row in rows:
            check.looked_at += 1
            body, keys, match_id = fields_of(row["body"]), keys_of(row["changes"]), _about(row)
            match = matches.get(match_id)
            if fault := _void_fault(body, keys, match, waits=match_id in waiting):
                check.find(fault, pool=body.get("pool"), match_id=match_id, event_id=row["event_id"])
            if match is not None and match.lo_version is not None and keys:
                voided = max((version for rating_id, version in keys if rating_id == match.lo_rating_id), default=0)
                pair = match.lo_rating_id, match.hi_rating_id
                self.voided[pair].append(VoidedMatch(match.finished_at, match.lo_version, voided))


def _fault(entry: Any, row: Any) -> str | None:
    """Say what is wrong with an entry that an event names."""
    if entry is None:
        return "the entry that it names is not in the ledger"
    made, cause = _MADE.get(row["kind"]), _about(row)
    if entry["reason"] == Reason.INACTIVITY and made is not None:
        return None
    if entry["reason"] != made:
        return f"a {row['kind']} names an entry of reason {entry['reason']}"
    if cause != (entry["match_id"] if made is Reason.VOID else entry["cause"]):
        return "the entry that it names is another event's"
    return None


def _void_fault(
    body: Mapping[str, Any], keys: frozenset[Key], match: RecordedMatch | None, *, waits: bool
) -> str | None:
    """Say what is wrong with what became of a void."""
    if match is None:
        return None if waits else "its match is not recorded, and it does not wait for it"
    pairs = [match.lo_player, match.hi_player], [match.hi_player, match.lo_player]
    its_own = body.get("pool") == match.pool and body.get("players") in pairs
    if not its_own:  # it came first: the match was rated as if it had not, and it waits for ever
        return None if waits and not match.voided else "it names another pool or other players than its match"
    if waits:
        return "it waits for its match, which is recorded"
    return _effect_fault(keys, match)


def _effect_fault(keys: frozenset[Key], match: RecordedMatch) -> str | None:
    """Say what is wrong with what a void did to its match."""
    if match.unrated_reason == VOIDED:
        return "it moved points, and the match is not rated" if keys else None
    if not match.voided:
        return "the match is not marked as voided"
    if match.lo_version is not None and not {match.lo_rating_id, match.hi_rating_id} <= {key[0] for key in keys}:
        return "it took nothing back, and the match is rated"
    return None


def _sanction_faults(
    one: RecordedSanction, events: Mapping[str, RecordedEvent], resets: Mapping[Key, tuple[tuple[str, int], float]]
) -> Iterator[str]:
    """Say what is wrong with a sanction.

    Args:
        one: The sanction.
        events: Those that impose sanctions and lift them, by id.
        resets: What the entries of resets took.
    """
    sanction_id, player_id, *_ = one.sanction
    imposed = events.get(f"sanction:{sanction_id}")
    if imposed is None:
        yield "no such event is recorded"
        return
    if imposed.body != body_of(one.sanction):
        yield "its event says otherwise"
    if (one.lifted_at, one.lifted_why, one.lifted_by) != _lifted(events.get(f"lift:{sanction_id}"), player_id):
        yield "lifted otherwise than its lift says"
    took = dict(resets[key] for key in imposed.changes if key in resets)
    taken = {(taken.pool, taken.version): taken.delta for taken in one.taken}
    if took != taken:
        yield f"took {taken or 'nothing'}; its entries took {took or 'nothing'}"


def _lifted(lift: RecordedEvent | None, player_id: str) -> tuple[datetime | str | None, str | None, str | None]:
    """Give what a sanction's row must say of its lift; one that names another player is not its own."""
    if lift is None or lift.body.get("player_id") != player_id:
        return None, None, None
    at, why, by = lift.body.get("lifted_at"), lift.body.get("why"), lift.body.get("by")
    try:
        return datetime.fromisoformat(at or ""), why, by
    except (TypeError, ValueError):
        return at, why, by


def _named(player: Player | None) -> dict[str, Any]:
    return {} if player is None else {"pool": player.pool, "player_id": player.player_id}


def _ids(row: Any) -> dict[str, Any]:
    return {"event_id": row["event_id"]}


def _about(row: Any) -> str:
    """Give the id of the match or the sanction that an event is about."""
    about: str = row["event_id"].partition(":")[2]
    return about
