"""What commands print: tables and JSON on standard output; messages and progress on standard error.

Nothing here breaks on a closed pipe, on NO_COLOR, or on a terminal that knows no UTF-8.
"""

from __future__ import annotations

import codecs
import logging
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import orjson
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from worker.ops.logging import configure_logging
from worker.settings import LogLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from rich.progress import Task

_WIDE = 10_000  # for output that no terminal cuts: a pipe or a file gets whole rows
_ASCII = str.maketrans({"−": "-", "–": "-", "×": "x", "“": '"', "”": '"', "’": "'", "…": "...", "→": "->", "•": "*"})
_STATUS_EVERY_S = 10.0
_MINUTE, _HOUR = 60, 3_600
PIPE_CLOSED = 141  # what a shell says of a program that SIGPIPE ended


def prepare_streams() -> None:
    """Let a character that the terminal's encoding lacks come out in its likeness or escaped, not as an error.

    A stream that was closed before the program began is none in Python; what goes there goes nowhere. Where a pipe
    closes while Rich writes, Typer's help included, the process ends as by SIGPIPE: Rich's own code for it is 1.
    """
    Console.on_broken_pipe = _end_quietly  # type: ignore[method-assign]
    codecs.register_error("likeness", _likeness)
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="likeness")  # type: ignore[union-attr]


def quiet() -> None:
    """Log only what goes wrong: for commands whose own words are what people read.

    aiokafka reports each broker that it can't reach as an error of its own; the command says it once, in its message.
    """
    configure_logging(level=LogLevel.WARNING, library_level=LogLevel.ERROR)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def drop_output() -> None:
    """Point standard output at nothing, so that the interpreter's own last flush does not fail as well."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def console() -> Console:
    """Make the console of standard output."""
    return _console(sys.stdout)


def say(message: str) -> None:
    """Print a message on standard error; where that is closed, nobody wants it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def print_json(value: Any) -> None:
    """Print a value as JSON, indented: for people and programs alike."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    sys.stdout.flush()
    sys.stdout.buffer.write(orjson.dumps(value, option=options))
    sys.stdout.buffer.flush()


def table(*columns: str, numbers: Sequence[str] = (), whole: Sequence[str] = (), title: str | None = None) -> Table:
    """Make a table; the columns in `numbers` are set to the right, those in `whole` are never broken into lines."""
    made = Table(
        title=None if title is None else cell(title),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
    )
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold", no_wrap=name in whole)
    return made


def sentence(out: Console, text: str, style: str = "") -> None:
    """Print text from outside as a line of its own; a terminal wraps it, a pipe gets it whole."""
    out.print(Text(plain(text), style=style), soft_wrap=True)


def plain(text: str) -> str:
    """Give text from outside with everything unprintable escaped, so that an id can't move a cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(text: object, style: str = "") -> Text:
    """Make a table's cell of text from outside, whose brackets are no markup."""
    return Text(plain(str(text)), style=style)


def counted(number: int, one: str, more: str | None = None) -> str:
    """Give a number of things in words, such as "1 rated game" and "2,000 rated games"."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def duration(seconds: float) -> str:
    """Give a duration in words, in its two largest units: "5 s", "2 min 5 s", "1 h 3 min"."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


class _Times(ProgressColumn):
    """How long a task has taken, and how long it may take yet."""

    def render(self, task: Task) -> Text:
        taken, left = task.elapsed or 0.0, task.time_remaining
        after = "" if left is None or task.finished else f", about {duration(left)} left"
        return Text(f"{duration(taken)}{after}")


def progress(*, wanted: bool = True) -> Progress:
    """Make a progress bar on standard error; it shows nothing where that is no terminal, or none is wanted."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _Times(),
        console=_console(sys.stderr),
        disable=not (wanted and sys.stderr.isatty()),
        transient=True,
    )


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Give a function that shows how things stand: in place on a terminal, as a line now and then elsewhere."""
    if sys.stderr.isatty():
        with _console(sys.stderr).status("", spinner="line") as spinner:
            yield spinner.update
        return
    due = time.monotonic() + _STATUS_EVERY_S

    def show(text: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _STATUS_EVERY_S
            say(text)

    yield show


def _console(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDE)


def _end_quietly(self: Console) -> NoReturn:
    self.quiet = True
    drop_output()
    raise SystemExit(PIPE_CLOSED)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - as long as the process


def _likeness(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end
