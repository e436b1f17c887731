"""Lines in, text out: long lines, slow input, ids that would be markup, terminals without UTF-8."""

from __future__ import annotations

import asyncio
import io
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from worker.cli.lines import in_chunks, open_lines
from worker.cli.output import _likeness, cell, console, duration, plain, sentence, table
from worker.cli.render import print_page
from worker.ledger.reads import TOP, Cursor, Page, Standing

if TYPE_CHECKING:
    from collections.abc import Iterator


@given(st.lists(st.binary(max_size=30).map(lambda part: part.replace(b"\n", b"").replace(b"\r", b""))), st.booleans())
def test_lines_are_numbered_and_none_is_lost(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], ended: bool
) -> None:
    """Every line that is not blank comes, with its number; of one that is too long, so much as shows it."""
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(b"\n".join(parts) + b"\n" * ended)
    with open_lines(path, "reading", 10) as lines:
        found = [(line.number, line.value) for line in lines]
    assert found == [
        (number, part[:12]) for number, part in enumerate(parts, start=1) if part[:12].strip() or len(part) > 10
    ]


async def test_what_comes_slowly_is_passed_on_at_once() -> None:
    """An item is given when it is there, though the next may never come."""
    more = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        more.wait()
        yield from range(2, 8)

    chunks = in_chunks(items(), 3)
    assert await anext(chunks) == [1]
    more.set()
    rest = [chunk async for chunk in chunks]
    assert [item for chunk in rest for item in chunk] == [2, 3, 4, 5, 6, 7]
    assert max(map(len, rest)) <= 3


async def test_what_ends_the_input_ends_the_chunks() -> None:
    """An error while reading comes out where the items are taken, after the items before it."""

    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    chunks = in_chunks(items(), 3)
    assert await anext(chunks) == [1]
    with pytest.raises(OSError, match="the disk is gone"):
        await anext(chunks)


async def test_reading_does_not_run_ahead() -> None:
    """However large the input, only a few chunks of it are read before they are taken."""
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        for number in range(1_000):
            read += 1
            yield number

    chunks = in_chunks(items(), 10)
    await anext(chunks)
    for _ in range(100):
        await asyncio.sleep(0)
    assert read < 100
    assert sum([len(chunk) async for chunk in chunks]) > 900


def test_an_id_is_never_markup() -> None:
    """Brackets, colours and control sequences in ids are shown as they are, or escaped."""
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False)
    shown = table("player", title="[red]pool[/red]")
    shown.add_row(cell("[bold]a[/bold]\x1b[2J\u202e"))
    console.print(shown)
    sentence(console, "[link=x]b[/link]")
    text = out.getvalue()
    assert "[red]pool[/red]" in text
    assert "[bold]a[/bold]\\x1b[2J\\u202e" in text
    assert "[link=x]b[/link]" in text
    assert "\x1b" not in text


@given(st.text())
def test_plain_text_is_printable(text: str) -> None:
    """Whatever comes from outside is printable, on one line, and unchanged if it was so before."""
    shown = plain(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


@given(st.text(max_size=20))
def test_likeness_takes_any_text(text: str) -> None:
    """What an encoding lacks comes out in ASCII."""
    likeness, place = _likeness(UnicodeEncodeError("ascii", text, 0, len(text), "not ASCII"))
    assert likeness.isascii()
    assert place == len(text)


def test_likeness_keeps_what_matters() -> None:
    """A minus stays a minus."""
    assert _likeness(UnicodeEncodeError("ascii", "−5 × “x”", 0, 8, "")) == ('-5 x "x"', 8)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**63 - 1), st.integers(0, 2**31))
def test_a_cursor_comes_back_as_it_was(rating: float, rating_id: int, rank: int) -> None:
    """A page's cursor, printed and read again, is the same place to the last bit."""
    cursor = Cursor(rating, rating_id, rank)
    assert Cursor.parse(str(cursor)) == cursor


@given(st.text())
def test_no_cursor_breaks_anything(text: str) -> None:
    """Whatever is given as a cursor is one, or is refused as a value that is none."""
    with suppress(ValueError):
        assert Cursor.parse(text).rating_id >= TOP.rating_id


def test_a_leaderboard_fits_into_a_terminal() -> None:
    """A hundred players with ordinary ids and a long title take no more than 80 columns, and a row each."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    best = Standing(
        pool="yi",
        player_id="backgammon-king",
        rating=1234.5,
        title="Seventh Grade",
        games=1_234,
        wins=1_000,
        draws=34,
        losses=200,
        last_played_at=at,
        version=1_240,
        peak=1400.0,
        provisional=False,
        inactive=False,
        requalify=0,
        rating_id=7,
    )
    page = Page([replace(best, rank=rank) for rank in range(1, 101)], None)
    out = io.StringIO()
    print_page(Console(file=out, width=80, highlight=False), "yi", page)
    rows = [line for line in out.getvalue().splitlines() if "backgammon-king" in line]
    assert len(rows) == 100
    assert rows[0].split() == ["1", "backgammon-king", "1235", "Seventh", "Grade", "1234", "1000/34/200", "2026-03-01"]
    assert max(map(len, out.getvalue().splitlines())) <= 80


@pytest.mark.parametrize(("first", "words"), [(True, "nobody is on the leaderboard"), (False, "that was everybody")])
def test_an_empty_page(first: bool, words: str) -> None:
    """An empty leaderboard and a page behind its end are told apart."""
    out = io.StringIO()
    print_page(Console(file=out, width=300), "yi", Page([], None), first=first)
    assert out.getvalue().startswith(f"yi: {words}")


def test_a_file_gets_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no terminal cuts it, each row of a table is one line, however long its cells are, so that grep finds it."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    out = console()
    shown = table("pool", "player", "match")
    shown.add_row(*("x" * 128 for _ in range(3)))
    out.print(shown)
    assert [len(line.split()) for line in out.file.getvalue().splitlines() if "x" in line] == [3]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (4.6, "5 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (3_780, "1 h 3 min")],
)
def test_durations(seconds: float, words: str) -> None:
    """A duration is told in its units, never as a clock's time."""
    assert duration(seconds) == words
