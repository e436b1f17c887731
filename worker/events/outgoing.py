"""From rating changes to records, byte for byte the same each time a change is published."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from worker.events.rfc3339 import format_time
from worker.rating.rounding import display

if TYPE_CHECKING:
    from worker.rating.model import Change, Match

RATING_CHANGED = "org.rating-worker.rating-changed.v1"
SOURCE = "/rating-worker"

_FIXED_HEADERS = (
    ("ce_specversion", b"1.0"),
    ("ce_type", RATING_CHANGED.encode()),
    ("content-type", b"application/json"),
)


class Encoded(NamedTuple):
    """A record to publish.

    Attributes:
        key: What Kafka partitions and compacts by.
        value: JSON in UTF-8.
        headers: CloudEvents attributes of binary mode, and the trace context where there is one.
    """

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


def event_id(pool: str, player_id: str, version: int) -> str:
    """Return the id of a change's event, the same for each time that it is published: 32 hexadecimal digits.

    BLAKE2b-128 over `rating-changed`, pool, player and version, joined by NUL, which none of them may contain.
    """
    return blake2b(f"rating-changed\0{pool}\0{player_id}\0{version}".encode(), digest_size=16).hexdigest()


def encode_change(change: Change, *, traceparent: str | None = None, source: str = SOURCE) -> Encoded:
    """Return the `rating-changed` event of a change.

    Nothing in it comes from a clock: equal changes give equal bytes, whether the numbers are ints or floats, and
    whatever the zone of the time, so a change read back from the ledger is the event that was published before.

    Args:
        change: One step of a player's chain, its numbers finite.
        traceparent: The W3C trace context that the match came with.
        source: The CloudEvents source: with the id, what consumers deduplicate by.

    Raises:
        OverflowError: A rating is infinite.
        ValueError: A rating is not a number.
    """
    c = change
    identity = event_id(c.pool, c.player_id, c.version)
    occurred_at = format_time(c.occurred_at)
    # `+ 0.0` makes floats of ints, and 0.0 of -0.0: equal values must not differ in bytes.
    body = {
        "event_id": identity,
        "match_id": c.match_id,
        "pool": c.pool,
        "player_id": c.player_id,
        "opponent_id": c.opponent_id,
        "version": c.version,
        "before": c.before + 0.0,
        "after": c.after + 0.0,
        "delta": c.delta + 0.0,
        "display_before": display(c.before),
        "display_after": display(c.after),
        "display_delta": display(c.delta),
        "expected": None if c.expected is None else c.expected + 0.0,
        "score": None if c.score is None else c.score + 0.0,
        "k": None if c.k is None else c.k + 0.0,
        "k_rule": c.k_rule,
        "weight": c.weight + 0.0,
        "factors": [{"name": f.name, "value": f.value + 0.0, "why": f.why} for f in c.factors],
        "adjusted": c.adjusted,
        "games": c.games,
        "provisional": c.provisional,
        "title_before": c.title_before,
        "title_after": c.title_after,
        "policy": {"name": c.policy.name, "version": c.policy.version, "digest": c.policy.digest},
        "reason": c.reason,
        "occurred_at": occurred_at,
    }
    key = f"{c.pool}|{c.player_id}".encode()
    headers = [
        *_FIXED_HEADERS,
        ("ce_id", identity.encode()),
        ("ce_source", source.encode()),
        ("ce_time", occurred_at.encode()),
        ("ce_subject", key),
    ]
    if traceparent is not None:
        headers.append(("traceparent", traceparent.encode()))
    return Encoded(key, orjson.dumps(body), headers)


def pair_key(pool: str, a: str, b: str) -> bytes:
    """Return the key of a pair's matches, `pool|lo|hi`, with the ids in order of their UTF-8 bytes.

    It only decides the partition and is never parsed, so an id may contain `|`: at worst two pairs share a key.
    """
    lo, hi = (a, b) if a < b else (b, a)
    return f"{pool}|{lo}|{hi}".encode()


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
