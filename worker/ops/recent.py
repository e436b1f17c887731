"""The last warnings and errors that this process logged, kept in memory for its page."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_LINES = 50
_MOST_FIELDS = 12
_MOST_CHARACTERS = 400
_AT, _LEVEL, _EVENT = "timestamp", "level", "event"
GRAVE = frozenset({"warning", "error", "critical"})


class Recent:
    """A ring of log lines; what falls out of it is gone. Whoever adds a line has hidden the secrets in it."""

    def __init__(self) -> None:
        self._lines: deque[dict[str, Any]] = deque(maxlen=_MOST_LINES)

    def add(self, line: Mapping[str, str]) -> None:
        """Keep a line, cut to a size that fifty of can be shown."""
        details = {name: _cut(value) for name, value in line.items() if name not in {_AT, _LEVEL, _EVENT}}
        self._lines.append(
            {
                "at": line.get(_AT),
                "level": line.get(_LEVEL),
                "event": _cut(line.get(_EVENT, "")),
                "details": dict(list(details.items())[:_MOST_FIELDS]),
            }
        )

    def lines(self) -> list[dict[str, Any]]:
        """Give the lines, newest first: `at`, `level`, `event` and `details`, all text but for the last."""
        return list(reversed(self._lines))


RECENT = Recent()
"""Those of this process: logging is the process', so they are too."""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
