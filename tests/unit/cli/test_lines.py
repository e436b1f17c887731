"""What comes again among the lines of a file."""

from __future__ import annotations

import pytest

from tests.unit.cli.matches import line
from worker.cli import lines
from worker.cli.lines import Decoder, Line, Seen
from worker.events import BadEventError, Decoded, Reject
from worker.policies import load_policies
from worker.settings import Settings

DECODER = Decoder(Settings(), load_policies())


def given(number: int, text: str) -> tuple[Line, Decoded]:
    """Give a line of a file with its event."""
    one = Line(number, text.encode())
    return one, DECODER.decode(one)


def test_what_comes_again() -> None:
    """The same event is named by its first line; the same id with other content is a conflict."""
    seen = Seen()
    assert seen.before(*given(1, line(0, "a", "b"))) is None
    assert seen.before(*given(2, line(1, "a", "b"))) is None
    assert seen.before(*given(5, line(0, "a", "b"))) == 1
    with pytest.raises(BadEventError, match="match 'm0' came in line 1 with other content") as caught:
        seen.before(*given(6, line(0, "a", "b", 0)))
    assert caught.value.reason is Reject.CONFLICT


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stream without an end only so many events are remembered."""
    monkeypatch.setattr(lines, "_REMEMBERED", 2)
    seen = Seen()
    for number in range(3):
        seen.before(*given(number, line(number, "a", "b")))
    assert seen.before(*given(9, line(0, "a", "b", 0))) is None
    assert seen.before(*given(10, line(2, "a", "b"))) == 2
