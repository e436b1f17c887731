"""What `check` finds out about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "WRONG"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a worker needs.

    Attributes:
        name: What it is.
        state: As it must be, so that a worker runs but maybe not as was meant, not as it must be, or not to be found
            out because something before it is wrong.
        detail: What was found.
        mend: What to do about it; empty where it is as it must be.
    """

    name: str
    state: State
    detail: str
    mend: str = ""

    @classmethod
    def ok(cls, name: str, detail: str) -> Finding:
        """Say that a thing is as it must be."""
        return cls(name, State.OK, detail)

    @classmethod
    def warning(cls, name: str, detail: str, mend: str) -> Finding:
        """Say what looks like a mistake, though a worker runs with it."""
        return cls(name, State.WARNING, detail, mend)

    @classmethod
    def wrong(cls, name: str, detail: str, mend: str) -> Finding:
        """Say what is wrong with a thing, and what to do about it."""
        return cls(name, State.WRONG, detail, mend)

    @classmethod
    def unknown(cls, name: str, why: str) -> Finding:
        """Say that a thing could not be looked at, and why."""
        return cls(name, State.UNKNOWN, f"not looked at: {why}")
