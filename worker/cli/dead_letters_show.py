"""One dead letter, whole: what it is, what became of it, and what to do about it."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from worker.cli.dead_letters_advice import advice
from worker.cli.dead_letters_bytes import bytes_json, shown_bytes, shown_value
from worker.cli.dead_letters_reading import looking
from worker.cli.exits import CommandError, Exit
from worker.cli.output import sentence
from worker.cli.render import when
from worker.events import ReplayMark, original_headers
from worker.stream.letters import Letter, Replayed, Span, Stranger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from worker.cli.dead_letters_filter import Filter
    from worker.events import Place
    from worker.settings import Settings
    from worker.stream.letters import LetterReader

_LONGEST_VALUE = 4_000
_LONGEST_LINE = 1_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A dead letter and what became of it.

    Attributes:
        letter: With its value, also where it was left out and is still where its record came from.
        gone: Whether its value was left out and is gone from there.
        mark: The mark of its last replay, None where it was not sent back.
        again: The letter of that replay, which failed again; None where it did not, or not yet.
    """

    letter: Letter
    gone: bool
    mark: ReplayMark | None
    again: Place | None


async def look_at(settings: Settings, chosen: Filter, place: Place) -> Shown:
    """Find the letter at a place, or the last one of a record that came from there, and what became of it.

    Raises:
        CommandError: There is none; or Kafka is away or can't be used.
    """
    async with looking(settings, chosen) as (reader, spans):
        if place.topic in settings.dead_letter_topics:
            letter = await _letter_of(reader, spans, chosen, place)
        else:
            letter = await _letter_at(reader, place)
        mark, again = await _afterwards(reader, spans, letter)
        whole = await reader.whole(letter)
        return Shown(whole or letter, whole is None, mark, again)


async def _letter_at(reader: LetterReader, place: Place) -> Letter:
    match await reader.at(place):
        case Letter() as letter:
            return letter
        case ReplayMark() as mark:
            raise CommandError(
                f"{place} is the mark of a replay: {mark.letter} was sent back to {mark.to}.", Exit.FAILED
            )
        case Stranger():
            raise CommandError(f"{place} is no dead letter: no worker put this record there.", Exit.FAILED)
    raise CommandError(f"There is nothing at {place}: not any more, or not yet.", Exit.FAILED)


async def _letter_of(reader: LetterReader, spans: list[Span], chosen: Filter, origin: Place) -> Letter:
    for span in spans:
        async with aclosing(
            reader.newest(span, Replayed(()), lambda one: one if chosen.takes(one) else None)
        ) as letters:
            async for letter, _ in letters:
                return letter
    raise CommandError(
        f"No dead letter came from {origin}: its record was taken, was not read yet, or its letter is gone.",
        Exit.FAILED,
    )


async def _afterwards(
    reader: LetterReader, spans: list[Span], letter: Letter
) -> tuple[ReplayMark | None, Place | None]:
    """Find the last mark and the last letter that name a letter, which come after it."""
    mark, again = None, None
    for partition, start, end in spans:
        its_own = (partition.topic, partition.partition) == letter.place[:2]
        after = Span(partition, max(start, letter.place.offset + 1) if its_own else start, end)
        async with aclosing(reader.found(after)) as found:
            async for one in found:
                if isinstance(one, ReplayMark) and one.letter == letter.place:
                    mark = one
                elif isinstance(one, Letter) and one.failure.replayed_from == letter.place:
                    again = one.place
    return mark, again


def shown_json(shown: Shown) -> dict[str, Any]:
    """Give a letter for programs: bytes as {"text": …} where they are UTF-8, as {"base64": …} where not."""
    letter, mark = shown.letter, shown.mark
    return {
        **failure_json(letter),
        "key": bytes_json(letter.key),
        "headers": [{"name": name, "value": bytes_json(value)} for name, value in letter.headers],
        "value": bytes_json(letter.value),
        "value_gone": shown.gone,
        "replay": None if mark is None else {"at": mark.at, "to": str(mark.to), "attempt": mark.attempt},
        "failed_again": None if shown.again is None else str(shown.again),
        "what_to_do": advice(letter.failure.reason).sentence,
    }


def failure_json(letter: Letter) -> dict[str, Any]:
    """Give what the headers of a letter say, for programs."""
    failure = letter.failure
    return {
        "letter": str(letter.place),
        "failed_at": failure.failed_at,
        "reason": failure.reason,
        "detail": failure.detail,
        "origin": str(failure.origin),
        "origin_timestamp_ms": failure.timestamp_ms,
        "consumer_group": failure.group,
        "worker_version": failure.worker_version,
        "attempt": failure.attempt,
        "replayed_from": None if failure.replayed_from is None else str(failure.replayed_from),
        "value_left_out": failure.left_out,
    }


def print_shown(out: Console, shown: Shown) -> None:
    """Print a letter for people."""
    letter, failure = shown.letter, shown.letter.failure
    sentence(out, f"{letter.place}: {failure.reason}", style="bold")
    sentence(out, failure.detail)
    out.print()
    for name, text in _facts(shown):
        sentence(out, f"{name:<11}{text}")
    for name, value in original_headers(letter.headers):
        sentence(out, f"{'header':<11}{name}: {shown_bytes(value, _LONGEST_LINE)}")
    sentence(out, f"{'value':<11}{_value(shown)}")
    for line in shown_value(letter.value, _LONGEST_VALUE) if letter.value else ():
        sentence(out, f"  {line}")
    out.print()
    what_to_do = advice(failure.reason)
    sentence(out, f"What to do: {what_to_do.sentence.replace('PLACE', str(letter.place))}")


def _facts(shown: Shown) -> Iterator[tuple[str, str]]:
    letter, failure, mark = shown.letter, shown.letter.failure, shown.mark
    yield "failed", f"{when(failure.failed_at)}, in group {failure.group}, by worker {failure.worker_version}"
    sent = (
        ""
        if failure.timestamp_ms is None
        else f", sent {when(datetime.fromtimestamp(failure.timestamp_ms / 1000, UTC))}"
    )
    yield "came from", f"{failure.origin}{sent}"
    of = "" if failure.replayed_from is None else f", the replay of {failure.replayed_from}"
    yield "attempt", f"{failure.attempt}{of}"
    if mark is not None:
        yield "sent back", f"{when(mark.at)}, to {mark.to}" + (f"; failed again: {shown.again}" if shown.again else "")
    elif shown.again is not None:
        yield "sent back", f"failed again: {shown.again}"
    yield "key", shown_bytes(letter.key, _LONGEST_LINE)


def _value(shown: Shown) -> str:
    value, left_out = shown.letter.value, shown.letter.failure.left_out
    if shown.gone:
        return f"{left_out}, and gone from {shown.letter.failure.origin}"
    if value is None:
        return "none (a tombstone)"
    size = f"{len(value)} bytes"
    where = "" if left_out is None else f", left out here, read from {shown.letter.failure.origin}"
    return f"{size}{where}" + (", the beginning:" if len(value) > _LONGEST_VALUE else ":" if value else "")
