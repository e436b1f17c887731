"""From the bytes and headers of a record to a JSON document and its type, or to the reason why not."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from worker.events.names import MATCH_FINISHED
from worker.events.reject import BadEventError, Reject, shown
from worker.rating.named import new

Headers = Sequence[tuple[str, bytes | None]]

_STRUCTURED = b"application/cloudevents"
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]+)?")
_BOM = b"\xef\xbb\xbf"


class Reading(NamedTuple):
    """What a record holds.

    Attributes:
        document: The event, as decoded JSON; whatever JSON it is.
        ce_type: The CloudEvents type, None where the record says none.
        root: The JSON path of the document in the value: `$`, or `$.data` inside a CloudEvents envelope.
        traceparent: The W3C trace context that came along, None when there was none or it was malformed.
    """

    document: Any
    ce_type: str | None
    root: str
    traceparent: str | None


def read(value: bytes | None, headers: Headers, max_bytes: int) -> Reading:
    """Return what a record holds; both binary and structured mode of CloudEvents are read.

    Raises:
        BadEventError: The value isn't JSON that every reader would understand alike, or is a faulty envelope.
    """
    if value is None:
        raise BadEventError(Reject.TOMBSTONE, "the record has no value (a tombstone); a match is voided, never deleted")
    ce_type, structured, trace = _attributes(headers)
    document = _parse(value, max_bytes)
    root = "$"
    if structured:
        document, ce_type, trace = _open(document, trace)
        root = "$.data"
    return new(Reading, (document, ce_type, root, trace if trace and _TRACEPARENT.fullmatch(trace) else None))


def _attributes(headers: Headers) -> tuple[str | None, bool, str | None]:
    """Return the type, whether the value is an envelope (structured mode), and the trace context."""
    ce_type, structured, trace = None, False, None
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
        raise BadEventError(
            Reject.UNKNOWN_TYPE,
            f"$.type is {shown(ce_type)}; it must be the type of an event, such as {MATCH_FINISHED!r}",
        )
    return envelope["data"], ce_type, inner if trace is None and isinstance(inner, str) else trace
