"""From rating changes and notices to records, byte for byte the same each time that one is published."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from worker.events.names import NOTICES, RATING_CHANGED, SOURCE
from worker.events.rfc3339 import format_time
from worker.rating.named import new
from worker.rating.rounding import display

if TYPE_CHECKING:
    from worker.rating.model import Change, Notice, PolicyRef

_FIXED_HEADERS = {
    ce_type: (("ce_specversion", b"1.0"), ("ce_type", ce_type.encode()), ("content-type", b"application/json"))
    for ce_type in (RATING_CHANGED, *NOTICES.values())
}


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
        "factors": [{"name": f.name, "value": f.value + 0.0, "why": f.why} for f in c.factors] if c.factors else (),
        "adjusted": c.adjusted,
        "games": c.games,
        "provisional": c.provisional,
        "title_before": c.title_before,
        "title_after": c.title_after,
        "policy": _policy(c.policy),
        "reason": c.reason,
        "occurred_at": occurred_at,
        "cause": c.cause,
        "opponent_before": None if c.opponent_before is None else c.opponent_before + 0.0,
    }
    key = f"{c.pool}|{c.player_id}".encode()
    headers = _headers(RATING_CHANGED, identity, occurred_at, key, traceparent, source)
    return new(Encoded, (key, orjson.dumps(body), headers))


@lru_cache(maxsize=1_000)
def _policy(ref: PolicyRef) -> orjson.Fragment:
    """Encode a policy's name once: a quarter of the cost of a change."""
    return orjson.Fragment(orjson.dumps({"name": ref.name, "version": ref.version, "digest": ref.digest}))


def notice_id(kind: str, key: str) -> str:
    """Return the id of a notice's event, the same for each time that it is published: 32 hexadecimal digits.

    BLAKE2b-128 over the kind and the key, joined by NUL, which neither may contain.
    """
    return blake2b(f"{kind}\0{key}".encode(), digest_size=16).hexdigest()


def encode_notice(notice: Notice, *, traceparent: str | None = None, source: str = SOURCE) -> Encoded:
    """Return the event of a notice; its key is the subject.

    Nothing in it comes from a clock, and the order of the body's keys and the zones of its times make no difference: a
    notice whose body was kept as JSON, in Postgres as `jsonb`, is the event that was published before.

    Args:
        notice: What to tell.
        traceparent: The W3C trace context of the event that gave it.
        source: The CloudEvents source: with the id, what consumers deduplicate by.

    Raises:
        ValueError: A number of the body is infinite or none.
    """
    identity = notice_id(notice.kind, notice.key)
    occurred_at = format_time(notice.occurred_at)
    body = {"event_id": identity, **_plain(notice.body), "occurred_at": occurred_at}
    key = notice.subject.encode()
    headers = _headers(NOTICES[notice.kind], identity, occurred_at, key, traceparent, source)
    return Encoded(key, orjson.dumps(body), headers)


def _headers(
    ce_type: str, identity: str, occurred_at: str, subject: bytes, traceparent: str | None, source: str
) -> list[tuple[str, bytes]]:
    headers = [
        *_FIXED_HEADERS[ce_type],
        ("ce_id", identity.encode()),
        ("ce_source", source.encode()),
        ("ce_time", occurred_at.encode()),
        ("ce_subject", subject),
    ]
    if traceparent is not None:
        headers.append(("traceparent", traceparent.encode()))
    return headers


def _plain(value: Any) -> Any:
    """Return a value of a notice's body as JSON has it, in the one form that equal values share."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value} is no number that an event can hold")
        return value + 0.0  # makes 0.0 of -0.0
    return value
