"""From events to the records that backends send: for tools, tests, and what the ledger keeps of an event."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from worker.events.names import NAMES
from worker.events.rfc3339 import format_time
from worker.rating.model import Lift, Match, Sanction, Void

if TYPE_CHECKING:
    from worker.rating.model import Event


def pair_key(pool: str, a: str, b: str) -> bytes:
    """Return the key of a pair's matches, `pool|lo|hi`, with the ids in order of their UTF-8 bytes.

    It only decides the partition and is never parsed, so an id may contain `|`: at worst two pairs share a key.
    """
    lo, hi = (a, b) if a < b else (b, a)
    return f"{pool}|{lo}|{hi}".encode()


def event_key(event: Event) -> bytes:
    """Return the key that an event should have: the pair of a match or void, the player of a verdict, the tournament.

    It only decides the partition, so that what belongs together comes in order.
    """
    match event:
        case Match():
            one, two = event.sides
            return pair_key(event.pool, one.id, two.id)
        case Void():
            return pair_key(event.pool, *event.players)
        case Sanction() | Lift():
            return event.player_id.encode()
        case _:
            return event.tournament_id.encode()


def encode_event(event: Event) -> bytes:
    """Return an event as JSON: what `decode` takes back.

    All but a match have a field `type` that says what they are, so they need no headers on any topic.
    """
    if isinstance(event, Match):
        return encode_match(event)
    fields = {
        name: format_time(value) if isinstance(value, datetime) else value for name, value in event._asdict().items()
    }
    return orjson.dumps({"type": NAMES[type(event)], **fields})


def encode_match(match: Match) -> bytes:
    """Return a match as the JSON of a `match-finished` event: what `decode_match` takes back."""
    players: list[dict[str, Any]] = []
    for side in match.sides:
        player: dict[str, Any] = {"id": side.id, "score": side.score}
        if side.birth_year is not None:
            player["attributes"] = {"birth_year": side.birth_year}
        players.append(player)
    return orjson.dumps(
        {
            "match_id": match.match_id,
            "pool": match.pool,
            "finished_at": format_time(match.finished_at),
            "players": players,
            "match_type": match.match_type,
            "tournament_id": match.tournament_id,
            "verified": match.verified,
        }
    )
