"""What each field must be, in words, and what its failure counts as. The rules themselves are the schemas' alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.events.reject import Reject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

TIME = "an RFC 3339 time with an offset, such as 2026-11-30T08:51:12.345Z"
_ID = "a string of 1 to 128 characters, none of them a control character"

_FIELDS: dict[str, tuple[Reject, str]] = {
    "match_id": (Reject.BAD_ID, _ID),
    "pool": (Reject.BAD_ID, f"{_ID} or '|'"),
    "tournament_id": (Reject.BAD_ID, _ID),
    "sanction_id": (Reject.BAD_ID, _ID),
    "player_id": (Reject.BAD_ID, _ID),
    "by": (Reject.BAD_ID, _ID),
    "id": (Reject.BAD_ID, _ID),
    "finished_at": (Reject.BAD_TIME, TIME),
    "voided_at": (Reject.BAD_TIME, TIME),
    "starts_at": (Reject.BAD_TIME, TIME),
    "ends_at": (Reject.BAD_TIME, f"{TIME}, or null, and null for a rating-reset"),
    "lifted_at": (Reject.BAD_TIME, TIME),
    "opened_at": (Reject.BAD_TIME, TIME),
    "closed_at": (Reject.BAD_TIME, TIME),
    "score": (Reject.BAD_SCORES, "0, 0.5 or 1"),
    "players": (Reject.SCHEMA, "exactly two objects, each with an id and a score"),
    "players[]": (Reject.SCHEMA, "an object with an id and a score"),
    "attributes": (Reject.SCHEMA, "an object or null"),
    "birth_year": (Reject.SCHEMA, "a whole number from 1900 to 2100, or null"),
    "match_type": (Reject.SCHEMA, "one of 'ranked', 'casual', 'tournament'"),
    "verified": (Reject.SCHEMA, "true or false"),
    "kind": (Reject.SCHEMA, "one of 'rating-reset', 'suspension', 'tournament-ban'"),
    "why": (
        Reject.SCHEMA,
        "a text of 1 to 1,000 characters, not blanks alone, no control characters but tabs and line ends",
    ),
    "entrants": (Reject.SCHEMA, "a list of 1 to 10,000 ids, each once"),
    "entrants[]": (Reject.BAD_ID, _ID),
    "standings": (Reject.SCHEMA, "a list of at most 10,000 ids, each once"),
    "standings[]": (Reject.BAD_ID, _ID),
}
# Where a field means something else in one event than in the others.
_ELSEWHERE: dict[tuple[str, str], tuple[Reject, str]] = {
    ("match-finished", "tournament_id"): (Reject.BAD_ID, f"{_ID}, or null"),
    ("match-voided", "players"): (Reject.SCHEMA, "exactly two ids"),
    ("match-voided", "players[]"): (Reject.BAD_ID, _ID),
    ("player-sanctioned", "pool"): (Reject.BAD_ID, f"{_ID} or '|', or null"),
}
_DOCUMENT = (Reject.SCHEMA, "a JSON object")

KNOWN = frozenset(_FIELDS)


def rule(schema: str, path: Sequence[str | int]) -> tuple[Reject, str]:
    """Return what breaking the rule of a field counts as, and the rule as the end of "it must be …"."""
    if not path:
        return _DOCUMENT
    field = path[-1]
    if isinstance(field, int):
        field = f"{path[-2]}[]" if len(path) > 1 else ""
    return _ELSEWHERE.get((schema, field)) or _FIELDS.get(field, _DOCUMENT)


def in_words(time: timedelta) -> str:
    """Give a time that is not negative in its two largest units, rounded down, such as "1551 days 23 h"."""
    seconds = int(time.total_seconds())
    parts = []
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count} {'day' if unit == 'days' and count == 1 else unit}")
    return " ".join(parts[:2]) or "less than 1 s"


def repeat_reason(path: Sequence[str | int]) -> Reject:
    """Return what it counts as when a list, whose items must differ, has one twice."""
    return Reject.SELF_PLAY if path[-1] == "players" else Reject.SCHEMA
