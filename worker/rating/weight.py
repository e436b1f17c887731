"""The weight of a match: the product of its factors, shared by both sides. 1 when none applies."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import AfterValidator, Field

from worker.rating.model import Factor
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MATCH_TYPES = ("ranked", "casual", "tournament")  # those that events know


def _check_match_type(value: str) -> str:
    if value not in MATCH_TYPES:
        raise ValueError(f"no such match type; there are {', '.join(MATCH_TYPES)}")
    return value


MatchType = Annotated[str, AfterValidator(_check_match_type)]
"""A match type in a policy, which must not be misspelt: a weight for a name that no event has would never act."""

KNOWN_GAMES = 1024  # a pair may play any number of games, so what is remembered of them is bounded
LONGEST_WINDOW_HOURS = 24 * 366
FULL = 1.0


class RepeatPair(Rule):
    """Repeat-pair decay: the more often two players meet within a rolling window, the less a match weighs.

    Counted are the pair's earlier rated matches in the same pool that finished less than the window before this one.

    Attributes:
        window_hours: How far back the window reaches, in hours.
        full_weight_games: The first so many games in the window weigh 1.
        factor: Each later game weighs this times the one before.
        minimum: But never less than this.
    """

    window_hours: Annotated[float, Field(gt=0, le=LONGEST_WINDOW_HOURS)]
    full_weight_games: Annotated[int, Field(ge=1)]
    factor: Annotated[float, Field(gt=0, le=1)]
    minimum: Annotated[float, Field(gt=0, le=1)]

    @cached_property
    def window(self) -> timedelta:
        """The window as a time."""
        return timedelta(hours=self.window_hours)

    def weight(self, earlier_games: int) -> float:
        """Give the weight, in [minimum, 1], of a match that `earlier_games` of the pair precede in the window."""
        excess = earlier_games + 1 - self.full_weight_games
        return FULL if excess <= 0 else max(self.minimum, self.factor**excess)

    @cached_property
    def game(self) -> Callable[[int], Factor | None]:
        """What tells the factor of the pair's n-th game in the window, None where it is 1; made once for each n."""

        @lru_cache(KNOWN_GAMES)
        def factor(number: int) -> Factor | None:
            weight = self.weight(number - 1)
            if weight == FULL:
                return None
            return Factor("repeat-pair", weight, f"game {number} of this pair in {self.window_hours:g} h")

        return factor


class Weight(NamedTuple):
    """A match's weight and those of its factors that are not 1."""

    value: float
    factors: tuple[Factor, ...]


UNWEIGHTED = Weight(FULL, ())


def weigh(
    match_type: str, match_types: Mapping[str, float], earlier_games: int, repeat_pair: RepeatPair | None
) -> Weight:
    """Multiply the factors of a match's weight.

    Args:
        match_type: As the event has it.
        match_types: The weight of each type; a type that it leaves out weighs 1.
        earlier_games: How many rated matches of the pair precede this one in the window.
        repeat_pair: The decay, None for no decay.
    """
    repeat = None if repeat_pair is None else repeat_pair.game(earlier_games + 1)
    by_type = match_types.get(match_type, FULL)
    if by_type == FULL:
        return UNWEIGHTED if repeat is None else Weight(repeat.value, (repeat,))
    of_type = Factor("match-type", by_type, f"{match_type} match")
    return Weight(by_type, (of_type,)) if repeat is None else Weight(repeat.value * by_type, (repeat, of_type))
