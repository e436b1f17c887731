"""From the bytes of a record to a match, or to the reason why not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from worker.events.reject import BadEventError, Reject, shown
from worker.events.rfc3339 import parse_time
from worker.events.schema import TIME, complaint, validator
from worker.rating.model import Match, Side

MATCH_FINISHED = "org.rating-worker.match-finished.v1"
MAX_AHEAD = timedelta(hours=24)

Headers = Sequence[tuple[str, bytes | None]]

# The types that may come in, each with its schema. One more event is one more row here and a builder beside `_match`.
_SCHEMAS = {MATCH_FINISHED: "match-finished"}
_STRUCTURED = b"application/cloudevents"
_SCORES = {0: 0.0, 0.5: 0.5, 1: 1.0}  # also maps 0 and -0.0 to one double
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOM = b"\xef\xbb\xbf"


class DecodedMatch(NamedTuple):
    """A match as it came from a record.

    Attributes:
        match: Its sides in the order in which they came; the time in UTC.
        digest: 16 bytes over what the match means; see `match_digest`.
        traceparent: The W3C trace context that came along, None when there was none or it was malformed.
    """

    match: Match
    digest: bytes
    traceparent: str | None


def decode_match(
    value: bytes | None,
    headers: Headers,
    *,
    now: datetime,
    max_bytes: int,
    max_ahead: timedelta = MAX_AHEAD,
) -> DecodedMatch:
    """Return the match in a record of the match topic.

    CloudEvents headers are accepted and not required; both binary and structured mode are read. Without a type the
    record is taken for `match-finished`. Of a header that comes twice, the last one holds.

    Args:
        value: The record's value, None for a tombstone.
        headers: The record's headers, names and raw values.
        now: The worker's clock, aware.
        max_bytes: The longest value to look at.
        max_ahead: How far after `now` a match may have finished.

    Raises:
        BadEventError: The record isn't a match that can be rated, for a reason that another try won't change.
    """
    if value is None:
        raise BadEventError(Reject.TOMBSTONE, "the record has no value (a tombstone); a match is voided, never deleted")
    ce_type, structured, trace = _attributes(headers)
    document = _parse(value, max_bytes)
    root = "$"
    if structured:
        document, ce_type, trace = _open(document, trace)
        root = "$.data"
    schema = _SCHEMAS.get(ce_type)
    if schema is None:
        raise BadEventError(
            Reject.UNKNOWN_TYPE, f"the CloudEvents type is {shown(ce_type)}; it must be {MATCH_FINISHED!r}, or left out"
        )
    if not validator(schema).is_valid(document):
        raise complaint(schema, document, root)
    match = _match(document, root, now, max_ahead)
    return DecodedMatch(match, match_digest(match), trace if trace and _TRACEPARENT.fullmatch(trace) else None)


def match_digest(match: Match) -> bytes:
    """Return 16 bytes that two records share if, and in practice only if, they mean the same match.

    BLAKE2b-128 over the known fields after defaults, joined by NUL, which no field may contain: the time in UTC to the
    microsecond, the players in order of id. White space, the order of keys and players, unknown fields and the offset
    of the time make no difference. Digests are stored: a field that is added later must change nothing when absent.
    """
    one, two = match.sides
    if two.id < one.id:
        one, two = two, one
    at = match.finished_at - _EPOCH
    text = (
        f"match-finished\0{match.match_id}\0{match.pool}\0{at.days}.{at.seconds}.{at.microseconds}"
        f"\0{one.id}\0{one.score}\0{one.birth_year or ''}\0{two.id}\0{two.score}\0{two.birth_year or ''}"
        f"\0{match.match_type}\0{match.tournament_id or ''}\0{match.verified}"
    )
    return blake2b(text.encode(), digest_size=16).digest()


def _attributes(headers: Headers) -> tuple[str, bool, str | None]:
    """Return the type, whether the value is an envelope (structured mode), and the trace context."""
    ce_type, structured, trace = MATCH_FINISHED, False, None
    for name, value in headers:
        if value is None:
            continue
        if name == "ce_type":
            ce_type = value.decode(errors="backslashreplace")
        elif name == "content-type":
            structured = value[:23].lower() == _STRUCTURED
        elif name in {"traceparent", "ce_traceparent"}:
            trace = value.decode(errors="replace")
    return ce_type, structured, trace


def _parse(value: bytes, max_bytes: int) -> Any:
    if len(value) > max_bytes:
        raise BadEventError(Reject.TOO_LARGE, f"the value has {len(value)} bytes; at most {max_bytes} are allowed")
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise _unreadable(value, error) from None
    try:
        plain = orjson.dumps(document)
    except TypeError:
        raise BadEventError(Reject.TOO_DEEP, "the value is nested more than 250 levels deep") from None
    if plain != value and not _keys_come_once(value, plain):
        json.loads(value, object_pairs_hook=_unique, parse_int=str, parse_float=str)
    return document


def _keys_come_once(value: bytes, plain: bytes) -> bool:
    """Return False where two equal keys in one object of `value` can't be ruled out.

    orjson keeps the last of two equal keys and says nothing. Written out again, `plain` then has two quotes fewer for
    each key that was dropped. Escaped quotes don't count; where a backslash is itself escaped, only reading tells.
    """
    if b"\\" not in value:
        return value.count(b'"') == plain.count(b'"')
    if b"\\\\" in value or b"\\\\" in plain:
        return False
    return value.count(b'"') - value.count(b'\\"') == plain.count(b'"') - plain.count(b'\\"')


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen = set()
    for key, _ in pairs:
        if key in seen:
            raise BadEventError(
                Reject.DUPLICATE_KEY, f"the key {shown(key)} comes twice in one object; each may come once"
            )
        seen.add(key)


def _unreadable(value: bytes, error: orjson.JSONDecodeError) -> BadEventError:
    if not value.strip(b" \t\r\n"):
        return BadEventError(Reject.EMPTY, "the value is empty; it must be a JSON object")
    if value.startswith(_BOM):
        return BadEventError(Reject.NOT_JSON, "the value starts with a byte order mark; it must start with '{'")
    try:
        text = value.decode()
    except UnicodeDecodeError as fault:
        return BadEventError(Reject.NOT_UTF8, f"the value isn't UTF-8: {fault.reason} at byte {fault.start}")
    if "depth" in error.msg or "recursion" in error.msg.lower():
        return BadEventError(Reject.TOO_DEEP, "the value is nested more than 250 levels deep")
    reason = Reject.NOT_UTF8 if "surrogate" in error.msg else Reject.NOT_JSON
    around = text[max(error.pos - 40, 0) : error.pos + 40]
    return BadEventError(reason, f"the value isn't JSON: {error}, around {shown(around)}")


def _open(envelope: Any, trace: str | None) -> tuple[Any, str, str | None]:
    """Return the data, type and trace context of a CloudEvents envelope in JSON."""
    if not isinstance(envelope, dict):
        raise BadEventError(Reject.SCHEMA, f"$ is {shown(envelope)}; it must be one CloudEvents object")
    for key in ("type", "data"):
        if key not in envelope:
            raise BadEventError(Reject.SCHEMA, f"$.{key} is missing; a CloudEvents object must have it")
    ce_type, inner = envelope["type"], envelope.get("traceparent")
    if not isinstance(ce_type, str):
        raise BadEventError(Reject.UNKNOWN_TYPE, f"$.type is {shown(ce_type)}; it must be {MATCH_FINISHED!r}")
    return envelope["data"], ce_type, inner if trace is None and isinstance(inner, str) else trace


def _match(document: dict[str, Any], root: str, now: datetime, max_ahead: timedelta) -> Match:
    one, two = document["players"]
    if one["id"] == two["id"]:
        raise BadEventError(
            Reject.SELF_PLAY,
            f"{root}.players[0].id and {root}.players[1].id are both {shown(one['id'])}; they must differ",
        )
    if one["score"] + two["score"] != 1:
        raise BadEventError(
            Reject.BAD_SCORES,
            f"{root}.players[0].score and {root}.players[1].score are {one['score']} and {two['score']}; "
            "they must add up to 1",
        )
    text = document["finished_at"]
    try:
        finished_at = parse_time(text)
    except ValueError as error:
        raise BadEventError(
            Reject.BAD_TIME, f"{root}.finished_at is {shown(text)}: {error}; it must be {TIME}"
        ) from None
    if finished_at - now > max_ahead:
        raise BadEventError(
            Reject.FUTURE,
            f"{root}.finished_at is {shown(text)}, {finished_at - now} ahead of the worker's clock; "
            f"at most {max_ahead} is allowed",
        )
    return Match(
        document["match_id"],
        document["pool"],
        finished_at,
        (_side(one), _side(two)),
        document.get("match_type", "ranked"),
        document.get("tournament_id"),
        document.get("verified", True),
    )


def _side(player: dict[str, Any]) -> Side:
    birth_year = None
    if attributes := player.get("attributes"):
        birth_year = attributes.get("birth_year")
        if birth_year is not None:
            birth_year = int(birth_year)  # JSON has one kind of number: 1990.0 is whole
    return Side(player["id"], _SCORES[player["score"]], birth_year)
