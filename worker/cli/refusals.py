"""Why a line is refused, at more length than in a dead letter: every fault of it, and what else it may be."""

from __future__ import annotations

from typing import Any

import orjson

from worker.events import INCOMING, MATCH_FINISHED, BadEventError, Reject, complaints, name_of, validator

_MATCH = name_of(MATCH_FINISHED)
_OTHERS = tuple(name for name in map(name_of, INCOMING) if name != _MATCH)
_LIKE_A_MATCH = {"match_id", "players"}
_MOST = 10


def at_length(value: bytes, bad: BadEventError) -> BadEventError:
    """Give a refusal with all that is wrong with the line, and with a word about its type if that may be the cause."""
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        return bad
    if not isinstance(document, dict):
        return bad
    name = document.get("type")
    event = name if name in _OTHERS else _MATCH
    details = [bad.detail]
    if not validator(event).is_valid(document):
        faults = [fault.detail for fault in complaints(event, document, "$")]
        if faults and bad.detail.startswith(faults[0]):  # the first of them is what it is refused for
            details = faults[:_MOST] + ([f"and {len(faults) - _MOST} more"] if len(faults) > _MOST else [])
    if event == _MATCH and (hint := _of_type(document, bad)):
        details.append(hint)
    return BadEventError(bad.reason, "; ".join(details))


def _of_type(document: dict[str, Any], bad: BadEventError) -> str | None:
    """Say that a line was taken for a match, if it may be something else."""
    name = document.get("type")
    taken = "so it was taken for a match"
    if bad.reason not in {Reject.SCHEMA, Reject.BAD_ID, Reject.BAD_TIME, Reject.BAD_SCORES}:
        return None
    if fitting := [other for other in _OTHERS if validator(other).is_valid(document)]:
        found = "there is no field type" if name is None else f"$.type is {orjson.dumps(name).decode()}"
        meant = " or ".join(f'"type": "{other}"' for other in fitting)
        return f"{found}, {taken}; it would be an event with {meant}"
    if name is not None and name != _MATCH:
        return f"$.type is {orjson.dumps(name).decode()}, which is no event, {taken}; events are {', '.join(_OTHERS)}"
    if name is None and not _LIKE_A_MATCH & document.keys():
        return f"there is no field type, {taken}; other events need one: {', '.join(_OTHERS)}"
    return None
