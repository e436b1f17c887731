"""Whether the worker is alive (its loop moves) and ready (Kafka and Postgres are there), and if not, why."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Component(StrEnum):
    """What the worker needs from outside."""

    KAFKA = "kafka"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok`, or the reasons why not, each a short sentence for people."""

    ok: bool
    reasons: tuple[str, ...] = ()


class Health:
    """The worker's health as its parts report it.

    Live means that the loop has moved within `progress_timeout_s`: an orchestrator restarts a worker that is not. A
    broker or database away is no reason for a restart, so whoever waits for one calls `progress` at each try.
    Ready means that every component is up and the worker is not stopping.

    Args:
        progress_timeout_s: How long the loop may stand still, in seconds.
        clock: Seconds that never go back; for tests.
    """

    def __init__(self, progress_timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = progress_timeout_s
        self._clock = clock
        self._moved_at = clock()
        self._down: dict[Component, str] = dict.fromkeys(Component, "not connected yet")
        self._stopping = False

    def up(self, component: Component) -> bool:
        """Say that a component is there. Returns whether that is news, so that the caller logs it once."""
        return self._down.pop(component, None) is not None

    def down(self, component: Component, reason: str) -> bool:
        """Say that a component is away, and why, in words without secrets. Returns whether that is news."""
        news = component not in self._down
        self._down[component] = reason
        return news

    def is_up(self, component: Component) -> bool:
        """Tell whether a component is there."""
        return component not in self._down

    def stopping(self) -> None:
        """Say that the worker takes no more matches."""
        self._stopping = True

    def progress(self) -> None:
        """Say that the loop moved: a batch done, an empty poll, a try that failed."""
        self._moved_at = self._clock()

    def idle_s(self) -> float:
        """Seconds since the loop last moved."""
        return self._clock() - self._moved_at

    def live(self) -> Verdict:
        """Judge whether the loop moves."""
        idle_s = self.idle_s()
        if idle_s <= self._timeout_s:
            return Verdict(ok=True)
        return Verdict(ok=False, reasons=(f"no progress for {idle_s:.0f} s, allowed are {self._timeout_s:.0f} s",))

    def ready(self) -> Verdict:
        """Judge whether the worker can take matches."""
        reasons = [f"{component}: {self._down[component]}" for component in Component if component in self._down]
        if self._stopping:
            reasons.append("stopping")
        reasons += self.live().reasons
        return Verdict(ok=not reasons, reasons=tuple(reasons))
