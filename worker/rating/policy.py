"""A policy: one version of one rating system, as data. Every number of a rule comes from here, none from code."""

# Without `from __future__ import annotations`: these annotations are what pydantic checks a policy by.

import json
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationInfo, field_validator

from worker.rating.expected import FideTable, Logistic
from worker.rating.floor import Floor
from worker.rating.inactivity import Inactivity
from worker.rating.k_factor import KRule, check_k_rules
from worker.rating.ladder import Ladder, Rung, check_rungs
from worker.rating.model import PlayerState, PolicyRef
from worker.rating.rounding import Rounding
from worker.rating.rule import Name, Rule, Text
from worker.rating.signals import Signals
from worker.rating.tournaments import Entry
from worker.rating.weight import MatchType, RepeatPair

DIGEST_BYTES = 16


class Policy(Rule):
    """One version of a rating system.

    Attributes:
        name: The system; its versions share it.
        version: 1 for the first.
        valid_from: Rates matches that finished at this time or later; the first version may leave it out. In UTC.
        reason: Why this version came to be; every version after the first must say.
        notes: What people should know: what is our default, what of the source is not applied.
        start: The rating of a player without one, in whole points.
        provisional_games: A player with fewer rated games is provisional.
        require_verified: Whether a match counts only if the server validated it.
        draws: `half` counts a draw as half a point for both; `unrated` records it and does not rate it.
        rounding: Whether changes are rounded to whole points.
        expected: The expected score.
        k_factor: The K rules; the first that holds gives K, the last holds for everyone.
        match_types: What each match type weighs; 0 is recorded and not rated, a type that is not named weighs 1.
        repeat_pair: The decay of repeated pairings, None for none.
        floor: The lowest rating, None for none.
        inactivity: What an absence costs, None for nothing.
        tournaments: Who may enter tournaments and how they are seeded; None refuses nobody and protects nothing.
        signals: What looks like manipulation; None for nothing.
        ladder: The titles from the lowest up.
    """

    name: Name
    version: Annotated[int, Field(ge=1)]
    valid_from: Annotated[AwareDatetime | None, Field(validate_default=True)] = None
    reason: Annotated[str, Field(validate_default=True)] = ""
    notes: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    start: int
    provisional_games: Annotated[int, Field(ge=0)]
    require_verified: bool = False
    draws: Literal["half", "unrated"] = "half"
    rounding: Rounding = "none"
    expected: Annotated[Logistic | FideTable, Field(discriminator="method")]
    k_factor: Annotated[tuple[KRule, ...], Field(strict=False)]
    match_types: dict[MatchType, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    repeat_pair: RepeatPair | None = None
    floor: Floor | None = None
    inactivity: Inactivity | None = None
    tournaments: Entry | None = None
    signals: Signals | None = None
    ladder: Annotated[tuple[Rung, ...], Field(strict=False)]

    _check_k_factor = field_validator("k_factor")(check_k_rules)
    _check_ladder = field_validator("ladder")(check_rungs)

    @field_validator("valid_from")
    @classmethod
    def _dates_later_versions(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        if value is None and info.data.get("version", 1) > 1:
            raise ValueError("a version after the first must say from when it holds")
        return None if value is None else value.astimezone(UTC)

    @field_validator("reason")
    @classmethod
    def _explains_later_versions(cls, value: str, info: ValidationInfo) -> str:
        if not value.strip() and info.data.get("version", 1) > 1:
            raise ValueError("a version after the first must say why it came to be")
        return value

    @field_validator("floor")
    @classmethod
    def _floor_is_below_start(cls, value: Floor | None, info: ValidationInfo) -> Floor | None:
        start = info.data.get("start")
        if value is not None and start is not None and value.at > start:
            raise ValueError(f"at = {value.at} must not be above the start, {start}")
        return value

    @field_validator("inactivity")
    @classmethod
    def _decay_ends_above_the_floor(cls, value: Inactivity | None, info: ValidationInfo) -> Inactivity | None:
        floor = info.data.get("floor")
        if value is not None and value.lowest is not None and floor is not None and value.lowest < floor.at:
            raise ValueError(f"lowest = {value.lowest} must not be below the floor, {floor.at}")
        return value

    @cached_property
    def digest(self) -> str:
        """BLAKE2b-128, in hex, of the content: numbers and text, not comments, order of keys or spelt-out defaults."""
        # Defaults are left out, so that a key which a later release of the worker adds leaves old digests alone.
        content = self.model_dump(mode="json", exclude_defaults=True)
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return blake2b(canonical.encode(), digest_size=DIGEST_BYTES).hexdigest()

    @cached_property
    def ref(self) -> PolicyRef:
        """What ledger and events call this version."""
        return PolicyRef(self.name, self.version, self.digest)

    @property
    def pair_window(self) -> timedelta | None:
        """How far back earlier matches of a pair count, None if they never do."""
        return None if self.repeat_pair is None else self.repeat_pair.window

    def start_state(self) -> PlayerState:
        """Give the state of a player before the first match."""
        return PlayerState(rating=float(self.start), peak=float(self.start))

    def provisional(self, games: int) -> bool:
        """Tell whether a player with so many rated games is provisional."""
        return games < self.provisional_games

    def title(self, rating: float) -> str:
        """Give the title of a rating in points."""
        return self._ladder.title(rating)

    @cached_property
    def _ladder(self) -> Ladder:
        return Ladder(self.ladder)
