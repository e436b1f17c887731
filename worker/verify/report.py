"""What verifying looks for, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Name(StrEnum):
    """What every check is called, in the order in which they are told."""

    POLICIES = "policies"
    CHAINS = "chains"
    SUMS = "sums"
    ZERO_SUMS = "zero-sums"
    MATCHES = "matches"
    UNRATED = "unrated"
    VOIDS = "voids"
    EVENTS = "events"
    SANCTIONS = "sanctions"
    DIGESTS = "digests"
    SOURCES = "sources"
    STANDINGS = "standings"
    TALLIES = "tallies"
    TITLES = "titles"
    REBUILT_ENTRIES = "rebuilt-entries"
    REBUILT_RATINGS = "rebuilt-ratings"


REBUILDING = frozenset({Name.REBUILT_ENTRIES, Name.REBUILT_RATINGS})

MEANINGS = {
    Name.POLICIES: "Each policy version has the content that its digest names.",
    Name.CHAINS: "A player's versions count from 1 without gap or fork, in the order of recording, and each starts at "
    "the rating where the one before ended.",
    Name.SUMS: "In each entry, the rating before plus the change is the rating after, to the last bit.",
    Name.ZERO_SUMS: "The two changes of a match add up to 0 where both have the same K and nothing bent only one.",
    Name.MATCHES: "A rated match has exactly its two entries, each with its score, opponent and time; an entry has its "
    "match; one that is not rated has none.",
    Name.UNRATED: "A match that is not rated has a reason that holds.",
    Name.VOIDS: "A void takes back exactly what its match gave, unless the player has started again since; matches are "
    "marked as voided, and voids wait for their match, where that is so.",
    Name.EVENTS: "An event names the entries that it made, and each such entry is named by its event.",
    Name.SANCTIONS: "A sanction is as its event says, lifted if its lift has come, and took what its reset's entries "
    "say.",
    Name.DIGESTS: "What is recorded of a match or another event is what came in: its digest says so.",
    Name.SOURCES: "Each event comes from a place of its own in a topic, unless that was deleted and made again.",
    Name.STANDINGS: "A player stands where their last entry ended: the same rating and the same version.",
    Name.TALLIES: "A player's games, wins, draws and losses are those that the entries count.",
    Name.TITLES: "A player's title, and whether they are provisional, is what the policy of the last change says.",
    Name.REBUILT_ENTRIES: "Rated again from what is recorded, in recorded order, each entry comes out the same in "
    "every field, to the last bit.",
    Name.REBUILT_RATINGS: "So does where each player stands, in every field.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it must be, and the ids by which to look at it.

    Attributes:
        what: What is wrong, in words.
        version: Of the player's chain.
        event_id: Of the event, where that is no match.
    """

    what: str
    pool: str | None = None
    player_id: str | None = None
    version: int | None = None
    match_id: str | None = None
    event_id: str | None = None


@dataclass(slots=True)
class Check:
    """One check, and what came of it.

    Attributes:
        looked_at: How many rows, or whatever the check is about, it looked at.
        findings: How many things are wrong.
        examples: The first of them, few enough to print.
    """

    name: Name
    keep: int
    looked_at: int = 0
    findings: int = 0
    examples: list[Finding] = field(default_factory=list)

    @property
    def meaning(self) -> str:
        """What holds where there is no finding."""
        return MEANINGS[self.name]

    def find(self, what: str, **ids: str | int | None) -> None:
        """Enter a finding; `ids` are the fields of a `Finding`."""
        self.findings += 1
        if len(self.examples) < self.keep:
            self.examples.append(Finding(what, **ids))  # type: ignore[arg-type]


class Checks:
    """Every check of a run, by name."""

    def __init__(self, examples: int) -> None:
        """Make them, each without a finding.

        Args:
            examples: How many findings of each check to keep.
        """
        self._checks = {name: Check(name, examples) for name in Name}

    def __getitem__(self, name: Name) -> Check:
        return self._checks[name]

    def done(self, *, rebuilt: bool) -> list[Check]:
        """Give the checks that were made."""
        return [check for name, check in self._checks.items() if rebuilt or name not in REBUILDING]


def told(value: object) -> str:
    """Give a value of a row exactly, in words that fit into a line."""
    return value.isoformat() if isinstance(value, datetime) else repr(value)


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has found.

    Attributes:
        checks: Those that were made.
        entries: How many entries of the ledger were looked at; `matches`, `events` and `players` likewise (a player of
            two pools counts twice).
        not_rebuilt: Why nothing was rebuilt; None where it was.
        seconds: How long it took.
    """

    checks: list[Check]
    entries: int
    matches: int
    events: int
    players: int
    not_rebuilt: str | None
    seconds: float

    @property
    def findings(self) -> int:
        """How many things are wrong, over all checks."""
        return sum(check.findings for check in self.checks)
