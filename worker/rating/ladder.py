"""The ladder: the title, tier or band that goes with a rating. It follows the exact number, not the displayed one."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from worker.rating.rule import Rule, Text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Rung(Rule):
    """A title and the rating from which it is held.

    Attributes:
        title: What people see.
        lower: The lowest rating of the rung, inclusive. Only the first rung may have none: anything below the second.
    """

    title: Text
    lower: float | None = None


class Ladder:
    """The rungs of a policy, ready for look-ups."""

    __slots__ = ("_lowers", "_titles")

    def __init__(self, rungs: Sequence[Rung]) -> None:
        # The first rung's own bound does not count: a rating below it has no rung further down to stand on.
        self._lowers = [rung.lower for rung in rungs[1:] if rung.lower is not None]
        self._titles = [rung.title for rung in rungs]

    def title(self, rating: float) -> str:
        """Give the title of a rating in points."""
        return self._titles[bisect_right(self._lowers, rating)]


def check_rungs(rungs: tuple[Rung, ...]) -> tuple[Rung, ...]:
    """Refuse rungs that do not climb.

    Raises:
        ValueError: Says which rung and why.
    """
    if not rungs:
        raise ValueError("at least one rung is needed, so that everyone has a title")
    for below, rung in pairwise(rungs):
        if rung.lower is None:
            raise ValueError(f"rung {rung.title!r} needs a lower bound: only the first may have none")
        if below.lower is not None and rung.lower <= below.lower:
            raise ValueError(
                f"lower bounds must rise from rung to rung: {rung.title!r} at {rung.lower:g} comes after "
                f"{below.title!r} at {below.lower:g}"
            )
    return rungs
