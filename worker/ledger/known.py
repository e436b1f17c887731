"""Telling what is new in a batch from what is recorded: redelivered, sent again, or in conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from worker.events import Reject
from worker.ledger import sql
from worker.ledger.stored import change_of, notice_of
from worker.ledger.values import Applied, Arrival, Origin, Publication, Refusal
from worker.rating.model import Lift, Match, Void

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.references import References

_BATCH = sql.load("batch.sql")
_RULEBOOK = sql.load("rulebook.sql")

Key = tuple[bool, str]
"""Whether it is a match, and its id: the ids of matches are a space of their own."""


class _First(NamedTuple):
    """The recording of an event that came before."""

    origin: Origin
    digest: bytes
    changes: list[list[int]] | None = None


async def sort_out_known(
    connection: PoolConnectionProxy[Any], references: References, arrivals: Sequence[Arrival], applied: Applied
) -> list[Arrival]:
    """Give the arrivals that are new, recorded neither in Postgres nor earlier in this batch.

    The others are entered in `applied`: a redelivery (the same coordinates) publishes what came of it again, as it was;
    a second sending (other coordinates, the same content) is counted; other content under a known id is refused. A
    match has one void and a sanction one lift: a second one is a second sending, whatever it says.
    """
    known = await _known(connection, arrivals)
    fresh: list[Arrival] = []
    redelivered: dict[Key, Arrival] = {}
    for arrival in arrivals:
        origin, decoded = arrival
        key = _key(arrival)
        first = known.get(key)
        if first is None:
            known[key] = _First(origin, decoded.digest)
            fresh.append(arrival)
        elif first.origin == origin and first.digest == decoded.digest:
            applied.redelivered += 1
            redelivered[key] = arrival
        elif first.digest == decoded.digest or isinstance(decoded.event, Void | Lift):
            applied.resent += 1
        else:
            applied.refusals.append(Refusal(origin, Reject.CONFLICT, _conflict(arrival, first.origin)))
    if redelivered:
        applied.publications += await _published_before(connection, references, redelivered, known)
    return fresh


async def _known(connection: PoolConnectionProxy[Any], arrivals: Sequence[Arrival]) -> dict[Key, _First]:
    matches = [arrival.event.id for arrival in arrivals if isinstance(arrival.event.event, Match)]
    known: dict[Key, _First] = {}
    if matches:
        for match_id, *first, digest in await connection.fetch(_BATCH["known_matches"], matches):
            known[True, match_id] = _First(Origin(*first), digest)
    if len(matches) < len(arrivals):
        others = [arrival.event.id for arrival in arrivals if not isinstance(arrival.event.event, Match)]
        for event_id, *first, digest, changes in await connection.fetch(_RULEBOOK["known_events"], others):
            known[False, event_id] = _First(Origin(*first), digest, changes)
    return known


async def _published_before(
    connection: PoolConnectionProxy[Any],
    references: References,
    redelivered: Mapping[Key, Arrival],
    known: Mapping[Key, _First],
) -> list[Publication]:
    """Give what came of the redelivered events before, in the order of recording."""
    traces = {key: arrival.event.traceparent for key, arrival in redelivered.items()}
    matches = [key[1] for key in redelivered if key[0]]
    rows = await connection.fetch(_BATCH["changes_of_matches"], matches) if matches else []
    await references.know_policies(row["policy_id"] for row in rows)
    found = [(row["entry_id"], Publication(change_of(row, references), traces[True, row["of_match"]])) for row in rows]
    of_entry = {
        (rating_id, version): traces[key] for key in redelivered for rating_id, version in known[key].changes or ()
    }
    if of_entry:
        rows = await connection.fetch(_RULEBOOK["entries"], [key[0] for key in of_entry], [key[1] for key in of_entry])
        await references.know_policies(row["policy_id"] for row in rows)
        for row in rows:
            trace = of_entry[row["rating_id"], row["version"]]
            found.append((row["entry_id"], Publication(change_of(row, references), trace)))
    found.sort(key=lambda entry: entry[0])
    by_origin = {arrival.event.id: arrival.event.traceparent for arrival in redelivered.values()}
    notices = await connection.fetch(_RULEBOOK["notices_of"], list(by_origin))
    return [publication for _, publication in found] + [
        Publication(notice_of(row), by_origin[row["origin"]]) for row in notices
    ]


def _key(arrival: Arrival) -> Key:
    return isinstance(arrival.event.event, Match), arrival.event.id


def _conflict(arrival: Arrival, first: Origin) -> str:
    event = arrival.event.event
    advice = (
        "A match is rated once: to correct it, void it and send the corrected match under a new match_id."
        if isinstance(event, Match)
        else "An event counts once: send what is new under a new id."
    )
    return (
        f"{arrival.event.id!r} is recorded already with other content (it came from topic {first.topic}, partition "
        f"{first.partition}, offset {first.offset}). {advice}"
    )
