"""What the batch transaction takes and gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.events import Decoded, Reject
    from worker.rating.model import Change, Notice


class Origin(NamedTuple):
    """The source coordinates of a record: what tells a redelivery from a second sending."""

    topic: str
    partition: int
    offset: int


class Arrival(NamedTuple):
    """A decoded event and where it came from."""

    origin: Origin
    event: Decoded


class Publication(NamedTuple):
    """A change or a notice to publish, with the trace that its event carried."""

    what: Change | Notice
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
        publications: What to publish, in order: what came of the batch now, and of redelivered events once more.
        refusals: Records for the dead letters.
        rated: How many matches moved ratings.
        unrated: How many were recorded without moving any, by reason.
        recorded: How many events that are no match were recorded, by kind.
        redelivered: How many events were recorded before from the same source coordinates.
        resent: How many were recorded before from other coordinates.
        seconds: How long each step took: `lock`, `rate`, `write`.
    """

    publications: list[Publication] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rated: int = 0
    unrated: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
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
            whole.recorded += part.recorded
            whole.redelivered += part.redelivered
            whole.resent += part.resent
            for step, seconds in part.seconds.items():
                whole.seconds[step] = whole.seconds.get(step, 0.0) + seconds
        return whole
