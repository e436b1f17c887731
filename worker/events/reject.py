"""Why a record can't become an event: a closed set of reasons for metrics, and a sentence for people."""

from __future__ import annotations

from enum import StrEnum

import orjson

_SHOWN = 80


class Reject(StrEnum):
    """Why a record goes to the dead-letter topic; the values are metric labels and `dlq.reason` headers."""

    TOMBSTONE = "tombstone"  # a null value: Kafka's deletion mark, and matches are never deleted
    EMPTY = "empty"  # no bytes, or white space alone
    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"  # arrays or objects nested beyond what the parsers take
    NOT_UTF8 = "not-utf8"  # bytes or a \ud800-like escape that are no Unicode text
    NOT_JSON = "not-json"
    DUPLICATE_KEY = "duplicate-key"  # two readers could take two meanings
    UNKNOWN_TYPE = "unknown-type"  # a type that this worker doesn't know, or none where the topic has no usual one
    SCHEMA = "schema"  # a field missing or of a wrong type, unless one of the next five names it better
    BAD_ID = "bad-id"  # an id or pool of a wrong length or with characters that aren't allowed
    BAD_SCORES = "bad-scores"
    BAD_TIME = "bad-time"  # no time at all, before 1970, or an end that isn't after its start
    FUTURE = "future"  # happened so far ahead of the worker's clock that it would spoil decay windows
    SELF_PLAY = "self-play"  # one player on both sides
    UNKNOWN_POOL = "unknown-pool"  # no policy rates this pool
    CONFLICT = "conflict"  # the same id as an earlier record of its kind, with other content
    REFUSED_BY_DATABASE = "refused-by-database"


class BadEventError(ValueError):
    """A record that will never be taken as it is; sending it again changes nothing.

    Attributes:
        reason: For the metric label and the `dlq.reason` header.
        detail: One sentence for a backend engineer: where, what was found, what is allowed.
    """

    def __init__(self, reason: Reject, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def shown(value: object) -> str:
    """Return a decoded JSON value as one printable line of about 80 characters at most.

    Strings keep their quotes and everything unprintable in them is escaped, so a NUL, a line feed or a right-to-left
    mark shows as what it is; other values are shown as JSON.
    """
    if isinstance(value, str):
        line = repr(value[:_SHOWN])
        cut = len(value) > _SHOWN
    else:
        text = orjson.dumps(value).decode()
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_SHOWN])
        cut = len(text) > _SHOWN
    return f"{line[:_SHOWN]}…" if cut or len(line) > _SHOWN + 2 else line
