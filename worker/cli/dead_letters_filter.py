"""Which dead letters are meant: what the options of `dead-letters` say, tried on a letter."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import typer

from worker.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from worker.events import Place, Reject
    from worker.settings import Settings
    from worker.stream.letters import Letter, Span

_AGO = re.compile(r"(\d{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
WHEN = "a time of RFC 3339, such as 2026-03-01T12:00:00Z, or how long ago: 90s, 15m, 2h, 3d, 1w"


@dataclass(frozen=True, slots=True)
class Filter:
    """What a letter must be; an empty part lets everything through.

    Attributes:
        topics: Dead-letter topics to look into.
        origins: Topics that its record came from.
        reasons: Why it failed.
        since: When it failed at the earliest.
        until: Before when it failed.
        key: Its key, to the byte.
        texts: One of these is in its key or value: a text as it is, and as JSON escapes it.
        places: Where it is, or where its record came from.
    """

    topics: tuple[str, ...]
    origins: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    key: bytes | None = None
    texts: tuple[bytes, ...] = ()
    places: frozenset[Place] = frozenset()

    def takes(self, letter: Letter) -> bool:
        """Tell whether a letter is meant."""
        failure = letter.failure
        return (
            (not self.reasons or failure.reason in self.reasons)
            and (not self.origins or failure.origin.topic in self.origins)
            and (self.since is None or failure.failed_at >= self.since)
            and (self.until is None or failure.failed_at < self.until)
            and (self.key is None or letter.key == self.key)
            and (
                not self.texts or any(one in part for one in self.texts for part in (letter.key, letter.value) if part)
            )
            and (not self.places or not self.places.isdisjoint((letter.place, failure.origin)))
        )

    def names(self, letter: Letter) -> bool:
        """Tell whether a letter is meant by its place or its reason, not only among others."""
        by_place = not self.places.isdisjoint((letter.place, letter.failure.origin))
        return by_place or letter.failure.reason in self.reasons

    def narrowed(self, spans: Sequence[Span]) -> list[Span]:
        """Leave out of spans what is before every letter that is named by its own place."""
        if not self.places or not all(place.topic in self.topics for place in self.places):
            return list(spans)
        first: dict[tuple[str, int], int] = {}
        for topic, partition, offset in self.places:
            first[topic, partition] = min(offset, first.get((topic, partition), offset))
        kept = ((span, first.get((span.partition.topic, span.partition.partition))) for span in spans)
        return [span._replace(start=min(max(span.start, at), span.end)) for span, at in kept if at is not None]


def filter_of(
    settings: Settings,
    *,
    reasons: Collection[Reject] = (),
    topics: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    key: str | None = None,
    text: str | None = None,
    places: Collection[Place] = (),
) -> Filter:
    """Make a filter of the options of a command.

    Raises:
        typer.BadParameter: One can't be understood, or names a topic of nobody's dead letters.
    """
    known = settings.dead_letter_topics
    for name in (*topics, *(place.topic for place in places)):
        if name not in known and name not in known.values():
            raise typer.BadParameter(
                f"{plain(name)} is neither a topic that workers read ({', '.join(known)}) nor one of dead letters "
                f"({', '.join(known.values())})",
                param_hint="--topic" if name in topics else "PLACE",
            )
    named = [*topics, *(place.topic for place in places)]
    now = datetime.now(UTC)
    return Filter(
        topics=tuple(sorted({known.get(name, name) for name in named} or set(known.values()))),
        # A topic of dead letters may be that of several topics.
        origins=frozenset(topics) if topics and all(name in known for name in topics) else frozenset(),
        reasons=frozenset(one.value for one in reasons),
        since=_time(since, now, "--since"),
        until=_time(until, now, "--until"),
        key=None if key is None else key.encode(errors="surrogateescape"),
        texts=() if not text else tuple(dict.fromkeys(_forms(text))),
        places=frozenset(places),
    )


def _time(text: str | None, now: datetime, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        if ago := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{plain(text)!r} is no time: it must be {WHEN}", param_hint=option)


def _forms(text: str) -> list[bytes]:
    """Give the bytes of a text as it is and as JSON may have it, with and without escapes beyond ASCII."""
    written = [text, *(json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))]
    return [form.encode(errors="surrogateescape") for form in written]
