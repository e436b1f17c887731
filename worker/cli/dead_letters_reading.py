"""Reading dead letters for the commands: those that are meant, newest or oldest first, or only their numbers."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from worker.cli.output import progress
from worker.cli.reaching import reaching_kafka
from worker.cli.sending import require_topics
from worker.stream.errors import StreamAwayError, StreamSetupError
from worker.stream.letters import LetterReader, Replayed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from worker.cli.dead_letters_filter import Filter
    from worker.settings import Settings
    from worker.stream.letters import Letter, Span

_LONGEST_KEY = 1_000


class Listed(NamedTuple):
    """What a list keeps of a letter.

    Attributes:
        letter: Without its value and headers, and with the beginning of a long key.
        key_bytes: How long the key is; None for none.
        value_bytes: How long the value is; None for none, also where it was left out.
        replayed: Whether it was sent back.
    """

    letter: Letter
    key_bytes: int | None
    value_bytes: int | None
    replayed: bool


@dataclass(slots=True)
class Summary:
    """How many letters there are of each kind.

    Attributes:
        reasons: By reason.
        topics: By the topic that their records came from.
        hours: By the hour in which they failed, as `2026-03-01T12`.
        attempts: By which attempt failed.
    """

    reasons: Counter[str] = field(default_factory=Counter)
    topics: Counter[str] = field(default_factory=Counter)
    hours: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)

    def count(self, letter: Letter) -> None:
        """Count a letter."""
        failure = letter.failure
        self.reasons[failure.reason] += 1
        self.topics[failure.origin.topic] += 1
        self.hours[f"{failure.failed_at:%Y-%m-%dT%H}"] += 1
        self.attempts[failure.attempt] += 1


async def newest(
    settings: Settings, chosen: Filter, limit: int, *, unreplayed: bool = False
) -> tuple[list[Listed], bool]:
    """Give the letters that failed last, at most so many, the last one first; and whether there are more.

    Args:
        settings: Name the brokers.
        chosen: Which letters are meant.
        limit: How many.
        unreplayed: Leave out those that were sent back.
    """
    found: list[Listed] = []
    async with looking(settings, chosen) as (reader, spans):
        replayed = Replayed(spans)
        for span in spans:
            of_span = 0
            async with aclosing(
                reader.newest(span, replayed, lambda one: _kept(one) if chosen.takes(one) else None)
            ) as letters:
                async for listed, was_replayed in letters:
                    if unreplayed and was_replayed:
                        continue
                    found.append(listed._replace(replayed=was_replayed))
                    of_span += 1
                    if of_span > limit:
                        break
    found.sort(key=lambda one: (one.letter.failure.failed_at, one.letter.place), reverse=True)
    return found[:limit], len(found) > limit


async def oldest(
    settings: Settings, chosen: Filter, *, unreplayed: bool = False, bar: bool = True
) -> AsyncGenerator[Listed]:
    """Give the letters that are meant, one by one, the one that failed first before the others; as `newest`.

    Without `bar` nothing shows how far it is: where each letter is printed as it comes, they would get mixed up.
    """
    async with looking(settings, chosen, passes=2, bar=bar) as (reader, spans):
        replayed = await reader.replayed(spans)
        async with aclosing(reader.oldest(spans)) as letters:
            async for letter in letters:
                if chosen.takes(letter) and not (unreplayed and letter.place in replayed):
                    yield _kept(letter)._replace(replayed=letter.place in replayed)


async def summary(settings: Settings, chosen: Filter, *, unreplayed: bool = False) -> Summary:
    """Count the letters that are meant; as `newest`."""
    counts = Summary()
    async with looking(settings, chosen, passes=1 + unreplayed) as (reader, spans):
        replayed = await reader.replayed(spans) if unreplayed else Replayed(())
        async with aclosing(reader.oldest(spans)) as letters:
            async for letter in letters:
                if chosen.takes(letter) and letter.place not in replayed:
                    counts.count(letter)
    return counts


@asynccontextmanager
async def looking(
    settings: Settings, chosen: Filter, *, passes: int = 1, bar: bool = True
) -> AsyncIterator[tuple[LetterReader, list[Span]]]:
    """Open a reader for the block, and give what there is to read, which the block reads so often.

    On a terminal a bar shows how far it is, unless told.

    Raises:
        CommandError: A topic is missing, or Kafka is away or can't be used.
    """
    with _kafka_faults(settings), progress(wanted=bar) as shown:
        await require_topics(settings, chosen.topics)
        task = shown.add_task("reading", total=None)
        async with LetterReader.open(settings, lambda count: shown.advance(task, count)) as reader:
            spans = chosen.narrowed(await reader.spans(chosen.topics, chosen.since))
            shown.update(task, total=passes * sum(span.end - span.start for span in spans))
            yield reader, spans


@contextmanager
def _kafka_faults(settings: Settings) -> Iterator[None]:
    """Turn Kafka's faults into the end of the command, and nothing else's: a full disk is an OSError, too."""
    try:
        yield
    except (StreamAwayError, StreamSetupError) as error:
        with reaching_kafka(settings):
            raise error from error.__cause__


def _kept(letter: Letter) -> Listed:
    key, value = letter.key, letter.value
    kept = replace(letter, key=None if key is None else key[:_LONGEST_KEY], value=None, headers=())
    return Listed(kept, None if key is None else len(key), None if value is None else len(value), replayed=False)
