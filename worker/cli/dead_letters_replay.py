"""Which dead letters are sent back, which are not and why, and sending them in pieces."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from worker.cli.dead_letters_advice import advice
from worker.cli.dead_letters_reading import looking
from worker.cli.exits import CommandError, Exit
from worker.cli.sending import require_topics
from worker.stream.resending import AT_ONCE, OvertakenError, Resender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.cli.dead_letters_filter import Filter
    from worker.events import Place
    from worker.settings import Settings
    from worker.stream.letters import Letter, LetterReader, Replayed, Span

_BYTES_AT_ONCE = 8 * 1024 * 1024
_EXAMPLES = 3


class Left(StrEnum):
    """Why a letter that is meant is not sent back."""

    REPLAYED = "sent back already"
    HOPELESS = "fails again as it is: the record itself is at fault"
    ATTEMPTS = "attempts used up"
    UNREAD = "from a topic that no worker reads"
    GONE = "value left out, and gone from its place"
    TOO_LARGE = "larger than its topic takes"


# What somebody has to look at: of the others no replay changes anything.
UNSETTLED = frozenset(Left) - {Left.REPLAYED, Left.HOPELESS}


class Terms(NamedTuple):
    """How to replay.

    Attributes:
        send: Whether to send, or only to find out what would be sent.
        limit: The most letters to send, None for all.
        max_attempts: A letter that failed so often is not sent again.
        force: Send also what was sent back, what failed too often, and what fails again by its nature.
    """

    send: bool
    limit: int | None
    max_attempts: int
    force: bool


@dataclass(slots=True)
class Outcome:
    """What became of the letters that are meant, or would.

    Attributes:
        sent: How many are sent back, or would be, by the topic that they go to and their reason.
        left: How many are not, by why.
        examples: Where some of those are.
        missing: Places that were named and at which there is no letter.
        more: Whether there are more letters to be sent than the limit lets through.
    """

    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: Counter[Left] = field(default_factory=Counter)
    examples: dict[Left, list[Place]] = field(default_factory=dict)
    missing: list[Place] = field(default_factory=list)
    more: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing is left that somebody has to look at."""
        return not self.missing and not UNSETTLED & self.left.keys()

    def leave(self, letter: Letter, why: Left) -> None:
        """Note a letter that is not sent."""
        self.left[why] += 1
        examples = self.examples.setdefault(why, [])
        if len(examples) < _EXAMPLES:
            examples.append(letter.place)


async def replay(settings: Settings, chosen: Filter, terms: Terms) -> Outcome:
    """Send the letters that are meant back, the one that failed first before the others; or find out what would be.

    Only what is there at the start is read, once: what fails again meanwhile waits for another replay.

    Raises:
        CommandError: Kafka is away or can't be used, or another replay was started; it says how many are sent.
    """
    outcome = Outcome()
    resender: Resender | None = None
    try:
        async with AsyncExitStack() as opened:
            reader, spans = await opened.enter_async_context(looking(settings, chosen, passes=2))
            await require_topics(
                settings, (one for one, its in settings.dead_letter_topics.items() if its in chosen.topics)
            )
            if terms.send:
                # From here on no earlier replay sends any more, and what it has sent is marked: so look anew.
                resender = await opened.enter_async_context(Resender.open(settings))
                spans = chosen.narrowed(await reader.spans(chosen.topics, chosen.since))
            await _Replay(settings, chosen, terms, outcome, reader, resender).run(spans)
    except (CommandError, OvertakenError) as error:
        if resender is None:
            raise
        text = f"{error} Sent back and marked so far: {resender.sent}; a new replay leaves these out."
        raise CommandError(text, error.code if isinstance(error, CommandError) else Exit.TEMPORARY) from error
    return outcome


class _Replay:
    """One replay: once over the letters, and no further than to their end at its start."""

    def __init__(
        self,
        settings: Settings,
        chosen: Filter,
        terms: Terms,
        outcome: Outcome,
        reader: LetterReader,
        resender: Resender | None,
    ) -> None:
        self._back = settings.dead_letter_topics
        self._chosen = chosen
        self._terms = terms
        self._outcome = outcome
        self._reader = reader
        self._resender = resender
        self._pending: list[Letter] = []
        self._size = 0

    async def run(self, spans: Sequence[Span]) -> None:
        replayed = await self._reader.replayed(spans)
        unseen = set(self._chosen.places)
        async with aclosing(self._reader.oldest(spans)) as letters:
            async for letter in letters:
                if not self._chosen.takes(letter):
                    continue
                unseen -= {letter.place, letter.failure.origin}
                ready = await self._ready(letter, replayed)
                if ready is None:
                    continue
                if self._outcome.sent.total() == self._terms.limit:
                    self._outcome.more = True
                    break
                self._outcome.sent[letter.failure.origin.topic, letter.failure.reason] += 1
                await self._send(ready)
        await self._flush()
        self._outcome.missing = [] if self._outcome.more else sorted(unseen)

    async def _ready(self, letter: Letter, replayed: Replayed) -> Letter | None:
        """Give a letter as it can be sent; None for one that is not to be, which is noted."""
        failure, terms = letter.failure, self._terms
        if self._back.get(failure.origin.topic) != letter.place.topic:
            self._outcome.leave(letter, Left.UNREAD)
        elif letter.place in replayed and not terms.force:
            self._outcome.leave(letter, Left.REPLAYED)
        elif not (terms.force or self._chosen.names(letter) or advice(failure.reason).mendable):
            self._outcome.leave(letter, Left.HOPELESS)
        elif failure.attempt >= terms.max_attempts and not terms.force:
            self._outcome.leave(letter, Left.ATTEMPTS)
        elif (whole := await self._reader.whole(letter)) is None:
            self._outcome.leave(letter, Left.GONE)
        else:
            return whole
        return None

    async def _send(self, letter: Letter) -> None:
        if self._resender is None:
            return
        self._pending.append(letter)
        self._size += len(letter.value or b"") + len(letter.key or b"")
        if len(self._pending) == AT_ONCE or self._size >= _BYTES_AT_ONCE:
            await self._flush()

    async def _flush(self) -> None:
        if self._resender is None or not self._pending:
            return
        for letter in await self._resender.send(self._pending):
            self._outcome.sent[letter.failure.origin.topic, letter.failure.reason] -= 1
            self._outcome.leave(letter, Left.TOO_LARGE)
        self._pending, self._size = [], 0
