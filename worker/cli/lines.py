"""Reading matches from JSON lines: the file or standard input, line by line, each decoded like a record from Kafka."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, TypeVar

from worker.cli.exits import CommandError, Exit
from worker.cli.output import progress, say
from worker.cli.refusals import at_length
from worker.events import MATCH_FINISHED, BadEventError, Decoded, Reject, decode
from worker.events.names import NAMES
from worker.rating.errors import UnknownPoolError
from worker.rating.model import Match

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_T = TypeVar("_T")
_ANY_TIME = datetime.min.replace(tzinfo=UTC)  # whether a pool has a policy does not depend on the time
_AHEAD = 4  # chunks that are read before they are taken
_REMEMBERED = 1_000_000
_EVERY = 512  # lines between two steps of the bar


@dataclass(frozen=True, slots=True)
class _End:
    """The end of what a thread reads, or what ended it."""

    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank: its number from 1, and its bytes without the line's end."""

    number: int
    value: bytes


class Decoder:
    """Decodes lines as the worker decodes records, at the worker's limits."""

    def __init__(self, settings: Settings, policies: PolicySet) -> None:
        self._policies = policies
        self._max_bytes = settings.max_event_bytes
        self._max_ahead = timedelta(seconds=settings.max_future_s)

    def decode(self, line: Line) -> Decoded:
        """Decode one line: an event of any kind; without a type it is taken for a match.

        Raises:
            BadEventError: The worker would dead-letter it, for the same reason; said at more length.
        """
        try:
            decoded = decode(
                line.value,
                (),
                now=datetime.now(UTC),
                max_bytes=self._max_bytes,
                max_ahead=self._max_ahead,
                default_type=MATCH_FINISHED,
            )
        except BadEventError as bad:
            raise at_length(line.value, bad) from None
        pool = getattr(decoded.event, "pool", None)  # a sanction's may be every pool
        if pool is not None:
            try:
                self._policies.at(pool, _ANY_TIME)
            except UnknownPoolError as error:
                raise BadEventError(Reject.UNKNOWN_POOL, str(error)) from None
        return decoded


class Seen:
    """Remembers the events of the last million lines, to tell those that come again."""

    def __init__(self) -> None:
        self._first: dict[tuple[type, str], tuple[int, bytes]] = {}

    def before(self, line: Line, decoded: Decoded) -> int | None:
        """Give the number of the line in which the same event came, None for a new one.

        Raises:
            BadEventError: One with this id came, and with other content.
        """
        key = (type(decoded.event), decoded.id)
        number, digest = self._first.setdefault(key, (line.number, decoded.digest))
        if number == line.number:
            if len(self._first) > _REMEMBERED:
                del self._first[next(iter(self._first))]
            return None
        if digest != decoded.digest:
            what = "match" if isinstance(decoded.event, Match) else NAMES[type(decoded.event)]
            detail = f"{what} {decoded.id!r} came in line {number} with other content; the first one counts"
            raise BadEventError(Reject.CONFLICT, detail)
        return number


@contextmanager
def open_lines(file: Path | None, task: str, max_bytes: int) -> Iterator[Iterator[Line]]:
    """Open a file, or standard input for None or `-`, and give its lines, with a progress bar for a file on a terminal.

    Of a line that is longer than `max_bytes` only so much is kept as shows that it is too long.

    Raises:
        CommandError: The file can't be read.
    """
    if file is None or str(file) == "-":
        if sys.stdin.isatty():
            say("Reading matches from the terminal, one JSON object a line; Ctrl-D ends.")
        yield _lines(_stdin(), max_bytes)
        return
    try:
        stream = file.open("rb")
        size = file.stat().st_size
    except OSError as error:
        raise CommandError(f"{file} can't be read: {error.strerror}.", Exit.USAGE) from error
    with stream, progress(wanted=sys.stderr.isatty()) as bar:
        bar_task = bar.add_task(task, total=size)

        def counted() -> Iterator[Line]:
            done = 0
            for line in _lines(stream, max_bytes):
                yield line
                done += len(line.value) + 1
                if line.number % _EVERY == 0:
                    bar.update(bar_task, completed=done)

        yield counted()


async def in_chunks(items: Iterator[_T], size: int) -> AsyncIterator[list[_T]]:
    """Take items from an iterator that may block, in a thread, and give whatever is there, `size` at most at a time.

    So what comes slowly is passed on as it comes, and what comes fast in large chunks.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[_T | _End] = asyncio.Queue()
    room = threading.Semaphore(_AHEAD * size)

    def read() -> None:
        end = _End(None)
        try:
            for item in items:
                room.acquire()
                loop.call_soon_threadsafe(arrived.put_nowait, item)
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            end = _End(error)
        with suppress(RuntimeError):  # the loop is closed: nobody takes items any more
            loop.call_soon_threadsafe(arrived.put_nowait, end)

    # A daemon: at an interrupt it may wait for input that never comes.
    threading.Thread(target=read, name="reader", daemon=True).start()
    while True:
        chunk: list[_T] = []
        item = await arrived.get()
        while not isinstance(item, _End):
            chunk.append(item)
            room.release()
            if len(chunk) == size or arrived.empty():
                break
            item = arrived.get_nowait()
        if chunk:
            yield chunk
        if isinstance(item, _End):
            if item.error is not None:
                raise item.error
            return


def _stdin() -> IO[bytes]:
    """Give standard input by its descriptor: a thread that waits in `sys.stdin` would break the interpreter's end."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (OSError, ValueError):  # a test's stand-in
        return sys.stdin.buffer


def _lines(stream: IO[bytes], max_bytes: int) -> Iterator[Line]:
    number = 0
    while value := stream.readline(max_bytes + 2):
        number += 1
        kept = value
        while not value.endswith(b"\n") and (value := stream.readline(1 << 20)):
            pass  # the rest of a line that is too long, or of a last line without an end
        kept = kept.rstrip(b"\r\n")
        if kept.strip() or len(kept) > max_bytes:
            yield Line(number, kept)
