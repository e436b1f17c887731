"""The pure core: expected score, K, weight, floor, ladder, `rate`, which puts them together, and the rest of the rules.

No I/O, no asyncio, no clock: policies are data and time comes in with the events. `rate` itself is not given here, as
it would hide the module of the same name.
"""

from worker.rating.book import Book
from worker.rating.errors import (
    LiftMismatchError,
    PolicyError,
    TournamentMismatchError,
    UnknownPoolError,
    VoidMismatchError,
)
from worker.rating.model import (
    Change,
    EntriesClosed,
    Event,
    Factor,
    Lift,
    Match,
    Notice,
    NoticeKind,
    Outcome,
    PlayerState,
    PolicyRef,
    Rated,
    Reason,
    Sanction,
    SanctionKind,
    Side,
    TournamentFinished,
    TournamentOpened,
    Unrated,
    Void,
)
from worker.rating.policy import Policy
from worker.rating.policy_set import PolicySet
from worker.rating.rounding import display
from worker.rating.sanctions import Imposed, Lifted, Sanctioned, Taken
from worker.rating.tournaments import Refusal, Seed, Seeding, Tournament
from worker.rating.voids import NothingToReverse, Recorded, Repeated, Voided, Waiting

__all__ = [
    "Book",
    "Change",
    "EntriesClosed",
    "Event",
    "Factor",
    "Imposed",
    "Lift",
    "LiftMismatchError",
    "Lifted",
    "Match",
    "NothingToReverse",
    "Notice",
    "NoticeKind",
    "Outcome",
    "PlayerState",
    "Policy",
    "PolicyError",
    "PolicyRef",
    "PolicySet",
    "Rated",
    "Reason",
    "Recorded",
    "Refusal",
    "Repeated",
    "Sanction",
    "SanctionKind",
    "Sanctioned",
    "Seed",
    "Seeding",
    "Side",
    "Taken",
    "Tournament",
    "TournamentFinished",
    "TournamentMismatchError",
    "TournamentOpened",
    "UnknownPoolError",
    "Unrated",
    "Void",
    "VoidMismatchError",
    "Voided",
    "Waiting",
    "display",
]
