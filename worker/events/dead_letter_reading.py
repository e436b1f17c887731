"""Dead letters read back: why and where a record failed, what it was like before, and the headers of a replay.

A letter that was sent back is marked: the record that goes out names the letter and counts the attempt, and beside the
letter a mark is left, a record of its own in the dead-letter topic. A record that fails again keeps the headers of its
replay, so its letter tells which attempt it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from worker.events.rfc3339 import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worker.events.reading import Headers

# Ours, on whatever a record came with; none of them is part of the record as its producer sent it.
_OURS = {
    f"dlq.{name}"
    for name in (
        *("reason", "detail", "topic", "partition", "offset", "timestamp", "consumer-group", "failed-at"),
        *("worker-version", "value-left-out", "attempt", "replayed-from", "replayed-at", "replayed-to"),
    )
}
_PLACE = re.compile(r"([a-zA-Z0-9._-]{1,249})/([0-9]{1,9})/([0-9]{1,18})")
_COUNT = re.compile(r"[0-9]{1,18}")
_MOST_ATTEMPTS = 1_000_000  # whatever a header says


class Place(NamedTuple):
    """Where a record is in Kafka; as text `topic/partition/offset`."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a place from its text.

        Raises:
            ValueError: It is none.
        """
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no place: it must be TOPIC/PARTITION/OFFSET, such as match-events.dlq/0/17")
        return cls(match[1], int(match[2]), int(match[3]))


@dataclass(frozen=True, slots=True)
class Failure:
    """What a dead letter's headers say.

    Attributes:
        reason: Why the record was refused: the value of a `Reject`, or one that another version of the worker knows.
        detail: The same as a sentence.
        origin: Where the record came from.
        timestamp_ms: The record's Kafka timestamp in milliseconds since 1970, None where it has none.
        group: The consumer group that refused it.
        failed_at: When it did, in UTC.
        worker_version: The version of the worker that did.
        left_out: How large the value was that the dead-letter topic did not take, in words; None where it is here.
        attempt: Which attempt this was: 1 for a record as its producer sent it, one more for each replay.
        replayed_from: The letter that was sent back and became this record, None for a record of its producer.
    """

    reason: str
    detail: str
    origin: Place
    timestamp_ms: int | None
    group: str
    failed_at: datetime
    worker_version: str
    left_out: str | None
    attempt: int
    replayed_from: Place | None


@dataclass(frozen=True, slots=True)
class ReplayMark:
    """What is left beside a letter that was sent back: which letter, to where, when (UTC), as which attempt."""

    letter: Place
    to: Place
    at: datetime
    attempt: int


def read_failure(headers: Headers) -> Failure | None:
    """Read why a record is in a dead-letter topic from its headers; None where they are not those of a dead letter.

    Ours are the last ones: a producer, or another tool that sent a letter back, may have set some of the same names.
    """
    names = [name for name, _ in headers]
    if "dlq.reason" not in names:
        return None
    start = len(names) - 1 - names[::-1].index("dlq.reason")
    ours, carried = _texts(headers[start:]), _texts(headers)
    try:
        return Failure(
            reason=ours["dlq.reason"],
            detail=ours["dlq.detail"],
            origin=Place.parse(f"{ours['dlq.topic']}/{ours['dlq.partition']}/{ours['dlq.offset']}"),
            timestamp_ms=_count(ours.get("dlq.timestamp")),
            group=ours["dlq.consumer-group"],
            failed_at=_time(ours["dlq.failed-at"]),
            worker_version=ours["dlq.worker-version"],
            left_out=ours.get("dlq.value-left-out"),
            attempt=_attempt(carried),
            replayed_from=_place(carried.get("dlq.replayed-from")),
        )
    except (KeyError, ValueError, OverflowError):
        return None


def read_mark(headers: Headers) -> ReplayMark | None:
    """Read the mark of a replay from its headers; None for any other record, dead letters included."""
    found = _texts(headers)
    if "dlq.reason" in found:
        return None
    try:
        return ReplayMark(
            Place.parse(found["dlq.replayed-from"]),
            Place.parse(found["dlq.replayed-to"]),
            _time(found["dlq.replayed-at"]),
            _attempt(found),
        )
    except (KeyError, ValueError, OverflowError):
        return None


def original_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Return the headers that a record had when its producer sent it: all but ours, in their order."""
    return [(name, value) for name, value in headers if name not in _OURS]


def replay_headers(headers: Headers, letter: Place, attempt: int, at: datetime) -> list[tuple[str, bytes | None]]:
    """Return the headers of a record that is sent back: those that it had, then which attempt this is, and of what.

    Args:
        headers: The letter's.
        letter: Where the letter is.
        attempt: Which attempt this will be; 2 for the first replay.
        at: When, aware.
    """
    return [*original_headers(headers), *_replay(letter, attempt, at)]


def mark_headers(letter: Place, attempt: int, at: datetime, to: Place) -> list[tuple[str, bytes | None]]:
    """Return the headers of the mark of a replay: those of the record that was sent back, and where it is now."""
    return [*_replay(letter, attempt, at), ("dlq.replayed-to", str(to).encode())]


def _replay(letter: Place, attempt: int, at: datetime) -> list[tuple[str, bytes | None]]:
    return [
        ("dlq.attempt", b"%d" % attempt),
        ("dlq.replayed-from", str(letter).encode()),
        ("dlq.replayed-at", format_time(at).encode()),
    ]


def _texts(headers: Headers) -> dict[str, str]:
    """Give ours as text; of a name that comes twice the last one."""
    return {
        name: value.decode(errors="backslashreplace") for name, value in headers if name in _OURS and value is not None
    }


def _attempt(found: Mapping[str, str]) -> int:
    return min(max(1, _count(found.get("dlq.attempt")) or 1), _MOST_ATTEMPTS)


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and _COUNT.fullmatch(text) else None


def _place(text: str | None) -> Place | None:
    try:
        return None if text is None else Place.parse(text)
    except ValueError:
        return None


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
