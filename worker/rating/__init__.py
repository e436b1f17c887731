"""The pure core: expected score, K, weight, floor, ladder, and `rate`, which puts them together.

No I/O, no asyncio, no clock: policies are data and time comes in with the match. `rate` itself is not given here, as it
would hide the module of the same name.
"""

from worker.rating.book import Book
from worker.rating.errors import PolicyError, UnknownPoolError
from worker.rating.model import (
    Change,
    Factor,
    Match,
    Outcome,
    PlayerState,
    PolicyRef,
    Rated,
    Reason,
    Side,
    Unrated,
)
from worker.rating.policy import Policy
from worker.rating.policy_set import PolicySet
from worker.rating.rounding import display

__all__ = [
    "Book",
    "Change",
    "Factor",
    "Match",
    "Outcome",
    "PlayerState",
    "Policy",
    "PolicyError",
    "PolicyRef",
    "PolicySet",
    "Rated",
    "Reason",
    "Side",
    "UnknownPoolError",
    "Unrated",
    "display",
]
