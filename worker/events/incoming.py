"""From a record to the event that it brings, or to the reason why not."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.events.building import (
    Clock,
    build_closed,
    build_finished,
    build_lift,
    build_match,
    build_opened,
    build_sanction,
    build_void,
)
from worker.events.digests import event_digest, incoming_id, match_digest
from worker.events.names import (
    ENTRIES_CLOSED,
    INCOMING,
    MATCH_FINISHED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    TOURNAMENT_FINISHED,
    TOURNAMENT_OPENED,
    name_of,
)
from worker.events.reading import Headers, read
from worker.events.reject import BadEventError, Reject, shown
from worker.events.schema import complaint, validator
from worker.rating.named import new

if TYPE_CHECKING:
    from collections.abc import Callable

    from worker.rating.model import Event, Match

MAX_AHEAD = timedelta(hours=24)

# The types that may come in, each with what makes an event of a document. One more type is one more row here.
_BUILDERS: dict[str, Callable[[dict[str, Any], str, Clock], Event]] = {
    MATCH_FINISHED: build_match,
    MATCH_VOIDED: build_void,
    PLAYER_SANCTIONED: build_sanction,
    SANCTION_LIFTED: build_lift,
    TOURNAMENT_OPENED: build_opened,
    ENTRIES_CLOSED: build_closed,
    TOURNAMENT_FINISHED: build_finished,
}
_KINDS = {ce_type: (name_of(ce_type), build) for ce_type, build in _BUILDERS.items()}
_TYPES = {name_of(ce_type): ce_type for ce_type in INCOMING}
_NAMES = ", ".join(_TYPES)


class DecodedMatch(NamedTuple):
    """A match as it came from a record.

    Attributes:
        match: Its sides by player id; the time in UTC.
        digest: 16 bytes over what the match means; see `match_digest`.
        traceparent: The W3C trace context that came along, None when there was none or it was malformed.
    """

    match: Match
    digest: bytes
    traceparent: str | None


class Decoded(NamedTuple):
    """An event as it came from a record.

    Attributes:
        event: Its lists in the order in which they came, but for the sides of a match; the times in UTC.
        id: What makes it unique; see `incoming_id`.
        digest: 16 bytes over what it means; see `event_digest`.
        traceparent: The W3C trace context that came along, None when there was none or it was malformed.
    """

    event: Event
    id: str
    digest: bytes
    traceparent: str | None


def decode(
    value: bytes | None,
    headers: Headers,
    *,
    now: datetime,
    max_bytes: int,
    max_ahead: timedelta = MAX_AHEAD,
    default_type: str | None = None,
) -> Decoded:
    """Return the event in a record of any topic that the worker reads.

    CloudEvents headers are accepted and not required; both binary and structured mode are read. Of a header that comes
    twice, the last one holds. What a record is says its CloudEvents type or, without one, a field `type` with the name
    of an event, such as `match-voided`; any other `type` is a field of the backend's and means nothing here.

    Args:
        value: The record's value, None for a tombstone.
        headers: The record's headers, names and raw values.
        now: The worker's clock, aware.
        max_bytes: The longest value to look at: entries and standings of 10,000 players may take megabytes.
        max_ahead: How far after `now` something may have happened.
        default_type: What a record without a type is taken for; None to refuse it.

    Raises:
        BadEventError: The record isn't an event that can be applied, for a reason that another try won't change.
    """
    return decode_by(Clock(now, max_ahead), value, headers, max_bytes, default_type)


def decode_by(clock: Clock, value: bytes | None, headers: Headers, max_bytes: int, default_type: str | None) -> Decoded:
    """Return the event in a record: what `decode` does, for those who have many records at one time.

    Raises:
        BadEventError: As `decode`.
    """
    document, ce_type, root, traceparent = read(value, headers, max_bytes)
    if ce_type is None:
        ce_type = _named(document, default_type)
    known = _KINDS.get(ce_type)
    if known is None:
        left_out = "" if default_type is None else ", or left out"
        raise BadEventError(
            Reject.UNKNOWN_TYPE,
            f"the CloudEvents type is {shown(ce_type)}; it must be org.rating-worker.NAME.v1{left_out}, "
            f"where NAME is one of {_NAMES}",
        )
    schema, build = known
    if not validator(schema).is_valid(document):
        raise complaint(schema, document, root)
    event = build(document, root, clock)
    return new(Decoded, (event, incoming_id(event), event_digest(event), traceparent))


def decode_match(
    value: bytes | None,
    headers: Headers,
    *,
    now: datetime,
    max_bytes: int,
    max_ahead: timedelta = MAX_AHEAD,
) -> DecodedMatch:
    """Return the match in a record; one without a type is taken for `match-finished`, and any other type is refused.

    What `decode` does, for those who have matches only.

    Args:
        value: The record's value, None for a tombstone.
        headers: The record's headers, names and raw values.
        now: The worker's clock, aware.
        max_bytes: The longest value to look at.
        max_ahead: How far after `now` a match may have finished.

    Raises:
        BadEventError: The record isn't a match that can be rated, for a reason that another try won't change.
    """
    document, ce_type, root, traceparent = read(value, headers, max_bytes)
    if ce_type is not None and ce_type != MATCH_FINISHED:
        raise BadEventError(
            Reject.UNKNOWN_TYPE, f"the CloudEvents type is {shown(ce_type)}; it must be {MATCH_FINISHED!r}, or left out"
        )
    if not validator("match-finished").is_valid(document):
        raise complaint("match-finished", document, root)
    match = build_match(document, root, Clock(now, max_ahead))
    return DecodedMatch(match, match_digest(match), traceparent)


def _named(document: Any, default_type: str | None) -> str:
    """Return the type of a record that has no CloudEvents type."""
    name = document.get("type") if isinstance(document, dict) else None
    if isinstance(name, str) and name in _TYPES:
        return _TYPES[name]
    if default_type is not None:
        return default_type
    found = "the record has no type" if name is None else f"$.type is {shown(name)}"
    raise BadEventError(
        Reject.UNKNOWN_TYPE, f"{found}; without a header ce_type, the field type must be one of {_NAMES}"
    )
