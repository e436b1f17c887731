"""What commands print: tables and JSON on standard output; messages and progress on standard error.

Nothing here breaks on a closed pipe, on NO_COLOR, or on a terminal that knows no UTF-8.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

_WIDE = 200  # for output that no terminal cuts: a pipe or a file gets whole rows


def prepare_streams() -> None:
    """Let a character that the terminal's encoding lacks come out escaped, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


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
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def table(*columns: str, numbers: Sequence[str] = (), title: str | None = None) -> Table:
    """Make a table without wrapping; the columns in `numbers` are set to the right."""
    made = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return made


def plain(text: str) -> str:
    """Give text from outside with everything unprintable escaped, so that an id can't move a cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(text: object, style: str = "") -> Text:
    """Make a table's cell of text from outside, whose brackets are no markup."""
    return Text(plain(str(text)), style=style)


def progress(*, wanted: bool = True) -> Progress:
    """Make a progress bar on standard error; it shows nothing where that is no terminal, or none is wanted."""
    shown = _console(sys.stderr)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=shown,
        disable=not (wanted and sys.stderr.isatty()),
        transient=True,
    )


def _console(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDE)
