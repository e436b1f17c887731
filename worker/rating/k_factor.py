"""The K factor: how much one match may move a player. An ordered list of named rules, of which the first match wins."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from worker.rating.rule import Name, Rule, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from worker.rating.model import PlayerState


KNOWN_POOLS = 1024  # pools come from outside, so what is remembered of them is bounded


class KRule(Rule):
    """One rule: a K, and the conditions that must all hold for it. A rule without conditions holds for everyone.

    Attributes:
        name: What the ledger and `explain` call it.
        k: In points: what a win that nobody expected would bring.
        games_below: The player has fewer rated games than this before the match.
        rating_from: The player's rating before the match is at least this.
        rating_below: The player's rating before the match is below this.
        peak_from: The player has ever reached this rating, counting the one before the match.
        age_until: The match is no later than the end of the year (UTC) of this birthday. A player whose birth year is
            not known does not meet it.
        pools: The pool matches one of these patterns; `*` is any text, slashes included.
    """

    name: Name
    k: Annotated[float, Field(gt=0)]
    games_below: Annotated[int | None, Field(gt=0)] = None
    rating_from: float | None = None
    rating_below: float | None = None
    peak_from: float | None = None
    age_until: Annotated[int | None, Field(gt=0)] = None
    pools: Annotated[tuple[Text, ...] | None, Field(strict=False)] = None

    @field_validator("pools")
    @classmethod
    def _some_pool(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value == ():
            raise ValueError("needs a pattern, or the rule never holds; leave the key out for all pools")
        return value

    @property
    def conditional(self) -> bool:
        """Whether the rule has any condition."""
        return self.model_dump(exclude={"name", "k"}, exclude_none=True) != {}

    @cached_property
    def _is_for_pool(self) -> Callable[[str], bool]:
        patterns = self.pools or ()

        @lru_cache(KNOWN_POOLS)
        def matches(pool: str) -> bool:
            return any(fnmatchcase(pool, pattern) for pattern in patterns)

        return matches

    def holds(self, player: PlayerState, birth_year: int | None, pool: str, finished_at: datetime) -> bool:
        """Tell whether all conditions hold for a player who stands at `player` before a match."""
        return (
            (self.games_below is None or player.games < self.games_below)
            and (self.rating_from is None or player.rating >= self.rating_from)
            and (self.rating_below is None or player.rating < self.rating_below)
            and (self.peak_from is None or max(player.peak, player.rating) >= self.peak_from)
            and (self.age_until is None or _is_aged_until(self.age_until, birth_year, finished_at))
            and (self.pools is None or self._is_for_pool(pool))
        )


def choose_k(
    rules: Sequence[KRule], player: PlayerState, birth_year: int | None, pool: str, finished_at: datetime
) -> KRule:
    """Give the first rule that holds. The last has no conditions (`check_k_rules`), so there always is one."""
    for rule in rules:
        if rule.holds(player, birth_year, pool, finished_at):
            return rule
    raise AssertionError("the last K rule has conditions")


def check_k_rules(rules: tuple[KRule, ...]) -> tuple[KRule, ...]:
    """Refuse a list of rules that leaves someone without a K, hides a rule or names two alike.

    Raises:
        ValueError: Says which rule and why.
    """
    if not rules:
        raise ValueError("at least one rule is needed, so that everyone has a K")
    for place, rule in enumerate(rules, start=1):
        if place < len(rules) and not rule.conditional:
            raise ValueError(f"rule {rule.name!r} has no conditions, so the rules after it never apply: put it last")
        if place == len(rules) and rule.conditional:
            raise ValueError(f"the last rule, {rule.name!r}, must have no conditions, so that everyone has a K")
    names = [rule.name for rule in rules]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"names must differ; given more than once: {', '.join(twice)}")
    return rules


def _is_aged_until(birthday: int, birth_year: int | None, finished_at: datetime) -> bool:
    return birth_year is not None and finished_at.year - birth_year <= birthday
