"""`produce`: match events from JSON lines into the match topic, with the right key."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson
import typer
from aiokafka.errors import MessageSizeTooLargeError

from worker.cli.exits import CommandError, Exit, command
from worker.cli.lines import Decoder, Line, in_chunks, open_lines
from worker.cli.output import say
from worker.cli.reaching import reaching_kafka
from worker.cli.running import policies_of, run
from worker.cli.sending import CHUNK, Keyed, Sender, require_topic
from worker.events import BadEventError, pair_key
from worker.generator import match_headers
from worker.settings import Settings, load_settings

_SOURCE = "/rating-worker/produce"
_LONGEST_RAW = 16 * 1024 * 1024  # more than a topic is likely to take: the broker has the last word


@command
def produce(
    file: Annotated[
        Path | None, typer.Argument(help="JSON lines of match-finished events; standard input without.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Instead of RATING_MATCH_TOPIC.")] = None,
    validate: Annotated[
        bool, typer.Option("--validate/--no-validate", help="Refuse lines that the worker would dead-letter.")
    ] = True,
) -> None:
    """Send matches to the worker: each line as it is, keyed by its pair, with CloudEvents headers.

    A line that is no match is told on standard error with its number and reason, left out, and makes the command end
    with 65. With --no-validate every line is sent as it is; the key is still that of the pair where one can be found.
    """
    settings = load_settings()
    counts: Counter[str] = Counter()
    decoder = Decoder(settings, policies_of(settings)) if validate else None
    longest = settings.max_event_bytes if validate else _LONGEST_RAW
    with open_lines(file, "sending", longest) as lines:
        try:
            run(_send(settings, topic or settings.match_topic, _records(lines, decoder, counts), counts))
        except CommandError as error:
            raise CommandError(f"{error} {counts['sent']} lines are sent and acknowledged.", error.code) from error
    say(f"{counts['sent']} sent" + (f", {counts['refused']} refused." if counts["refused"] else "."))
    if counts["refused"]:
        raise typer.Exit(Exit.DATA)


async def _send(settings: Settings, topic: str, records: Iterator[Keyed], counts: Counter[str]) -> None:
    with reaching_kafka(settings):
        await require_topic(settings, topic)
        async with Sender.open(settings, topic) as sender:
            async for chunk in in_chunks(records, CHUNK):
                try:
                    await sender.send(chunk)
                except MessageSizeTooLargeError as error:
                    text = "A line is larger than the topic takes (its max.message.bytes)."
                    raise CommandError(text, Exit.DATA) from error
                counts["sent"] += len(chunk)


def _records(lines: Iterator[Line], decoder: Decoder | None, counts: Counter[str]) -> Iterator[Keyed]:
    for line in lines:
        if decoder is None:
            yield _raw_key(line.value), line.value, ()
            continue
        try:
            match = decoder.decode(line).match
        except BadEventError as bad:
            counts["refused"] += 1
            say(f"line {line.number}: refused, {bad.reason}: {bad.detail}")
            continue
        one, other = match.sides
        yield pair_key(match.pool, one.id, other.id), line.value, match_headers(match, _SOURCE)


def _raw_key(value: bytes) -> bytes | None:
    """Find the key of a line that may be no match; None where there is none."""
    try:
        document = orjson.loads(value)
        one, other = (player["id"] for player in document["players"])
        return pair_key(f"{document['pool']}", f"{one}", f"{other}")
    except (ValueError, TypeError, KeyError):
        return None
