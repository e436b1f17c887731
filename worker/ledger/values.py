"""What the batch transaction takes and gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.events import DecodedMatch, Reject
    from worker.rating.model import Change


class Origin(NamedTuple):
    """The source coordinates of a record: what tells a redelivery from a second sending."""

    topic: str
    partition: int
    offset: int


class Arrival(NamedTuple):
    """A decoded match and where it came from."""

    origin: Origin
    event: DecodedMatch


class Publication(NamedTuple):
    """A change to publish, with the trace that its match carried."""

    change: Change
    traceparent: str | None


class Refusal(NamedTuple):
    """A record that goes to the dead letters, with the reason and a sentence for people."""

    origin: Origin
    reason: Reject
    detail: str


@dataclass(slots=True)
class Applied:
    """What a batch did to the ledger.

    Attributes:
        publications: Changes to publish: those made now, and those of redelivered matches once more.
        refusals: Records for the dead letters.
        rated: How many matches moved ratings.
        unrated: How many were recorded without moving any, by reason.
        redelivered: How many were recorded before from the same source coordinates.
        resent: How many were recorded before from other coordinates.
        seconds: How long each step took: `lock`, `rate`, `write`.
    """

    publications: list[Publication] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rated: int = 0
    unrated: Counter[str] = field(default_factory=Counter)
    redelivered: int = 0
    resent: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def merged(parts: Sequence[Applied]) -> Applied:
        """Join what the parts of one batch did, in their order."""
        whole = Applied()
        for part in parts:
            whole.publications += part.publications
            whole.refusals += part.refusals
            whole.rated += part.rated
            whole.unrated += part.unrated
            whole.redelivered += part.redelivered
            whole.resent += part.resent
            for step, seconds in part.seconds.items():
                whole.seconds[step] = whole.seconds.get(step, 0.0) + seconds
        return whole
