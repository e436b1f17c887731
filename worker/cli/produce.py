"""`produce`: events from JSON lines into the topics that the worker reads, each with the right key."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson
import typer
from aiokafka.errors import MessageSizeTooLargeError

from worker.cli.exits import CommandError, Exit, command
from worker.cli.lines import Decoder, Line, Seen, in_chunks, open_lines
from worker.cli.output import say
from worker.cli.reaching import reaching_kafka
from worker.cli.running import policies_of, run
from worker.cli.sending import CHUNK, Sender, require_topics
from worker.events import BadEventError, Decoded, event_key, pair_key
from worker.events.names import INCOMING, NAMES, name_of
from worker.rating.model import Lift, Match, Sanction, Void
from worker.settings import Settings, load_settings
from worker.stream.errors import RecordTooLargeError
from worker.stream.outbox import Outgoing

_SOURCE = b"/rating-worker/produce"
_TYPES = {name_of(ce_type): ce_type.encode() for ce_type in INCOMING}
_LONGEST_RAW = 16 * 1024 * 1024  # more than a topic is likely to take: the broker has the last word


@command
def produce(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSON lines of events; standard input without.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Send all to this topic, instead of the one for each event.")
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate/--no-validate", help="Refuse lines that the worker would dead-letter.")
    ] = True,
) -> None:
    """Send events to the worker: each line as it is, with its key and CloudEvents headers.

    A line is a match, or has a field `type` that says what it is, such as match-voided or player-sanctioned. Matches
    and voids go to the match topic, keyed by their pair; verdicts to the verdict topic, by player; the life of
    tournaments to the tournament topic, by tournament.

    A line that the worker would refuse is told on standard error with its number and reason, left out, and makes the
    command end with 65. With --no-validate every line is sent as it is, to the match topic unless told, and the key is
    that of a match's pair where one can be found.
    """
    settings = load_settings()
    counts: Counter[str] = Counter()
    decoder = Decoder(settings, policies_of(settings)) if validate else None
    with open_lines(file, "sending", settings.max_event_bytes if validate else _LONGEST_RAW) as lines:
        if decoder is None:
            records = _raw(lines, topic or settings.match_topic)
        else:
            records = _validated(lines, decoder, settings, topic, counts)
        try:
            run(_send(settings, records, [topic] if topic else settings.input_topics, counts))
        except CommandError as error:
            raise CommandError(f"{error} Sent and acknowledged so far: {counts['sent']}.", error.code) from error
    say(f"{counts['sent']} sent" + (f", {counts['refused']} refused." if counts["refused"] else "."))
    if counts["refused"]:
        raise typer.Exit(Exit.DATA)


async def _send(settings: Settings, records: Iterator[Outgoing], topics: list[str], counts: Counter[str]) -> None:
    with reaching_kafka(settings):
        await require_topics(settings, topics)
        async with Sender.open(settings) as sender:
            async for chunk in in_chunks(records, CHUNK):
                try:
                    await sender.send(chunk)
                except (MessageSizeTooLargeError, RecordTooLargeError) as error:
                    text = "A line is larger than the topic takes (its max.message.bytes)."
                    raise CommandError(text, Exit.DATA) from error
                counts["sent"] += len(chunk)


def _validated(
    lines: Iterator[Line], decoder: Decoder, settings: Settings, topic: str | None, counts: Counter[str]
) -> Iterator[Outgoing]:
    seen = Seen()
    for line in lines:
        try:
            decoded = decoder.decode(line)
            seen.before(line, decoded)  # the same once more is sent: to send again does no harm
        except BadEventError as bad:
            counts["refused"] += 1
            say(f"line {line.number}: refused, {bad.reason}: {bad.detail}")
            continue
        to = topic or _topic_of(decoded, settings)
        yield Outgoing(to, event_key(decoded.event), line.value, _headers(decoded))


def _topic_of(decoded: Decoded, settings: Settings) -> str:
    match decoded.event:
        case Match() | Void():
            return settings.match_topic
        case Sanction() | Lift():
            return settings.verdict_topic
        case _:
            return settings.tournament_topic


def _headers(decoded: Decoded) -> list[tuple[str, bytes]]:
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", _TYPES[NAMES[type(decoded.event)]]),
        ("ce_id", decoded.id.encode()),
        ("ce_source", _SOURCE),
        ("content-type", b"application/json"),
    ]


def _raw(lines: Iterator[Line], topic: str) -> Iterator[Outgoing]:
    for line in lines:
        yield Outgoing(topic, _raw_key(line.value), line.value, [])


def _raw_key(value: bytes) -> bytes | None:
    """Find the key of a line that may be no match; None where there is none."""
    try:
        document = orjson.loads(value)
        one, other = (player["id"] for player in document["players"])
        return pair_key(f"{document['pool']}", f"{one}", f"{other}")
    except (ValueError, TypeError, KeyError):
        return None
