"""Tournaments: who may enter, and how they are seeded.

rules.md, policy `biciid`: provisional players may not enter official tournaments; the requalification after an absence
comes before tournaments open again. Seeds are fixed from ratings frozen when entries close, using the higher of the
current rating and the best of the last 90 days less 100, so that dumping rating just before an event gains nothing. A
tournament's final standing never overrides a rating.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from worker.rating.errors import TournamentMismatchError
from worker.rating.model import Notice, NoticeKind
from worker.rating.notices import notice_key, policy_body
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from worker.rating.model import EntriesClosed, TournamentFinished, TournamentOpened
    from worker.rating.policy import Policy

TOURNAMENT = "tournament"  # the match type

SUSPENDED, BANNED, PROVISIONAL, INACTIVE = "suspended", "banned", "provisional", "inactive"
REFUSED = "refused"  # of a match: its player was refused when entries closed

LONGEST_DAYS = 366 * 10


class Entry(Rule):
    """A policy's rule of who may enter a tournament, and of the protection of its seeding.

    Who is suspended or banned from tournaments may not, whatever the policy.

    Attributes:
        refuse_provisional: Provisional players may not.
        refuse_inactive: Inactive players and those who have not requalified yet may not.
        protection_days: The best rating of so many days before entries close counts for the seeding …
        protection_points: … less so many points, if it is higher than the current one. Both None: the current counts.
    """

    refuse_provisional: bool = False
    refuse_inactive: bool = False
    protection_days: Annotated[float | None, Field(gt=0, le=LONGEST_DAYS)] = None
    protection_points: Annotated[float | None, Field(ge=0)] = None

    @model_validator(mode="after")
    def _protects_wholly_or_not_at_all(self) -> Entry:
        if (self.protection_days is None) != (self.protection_points is None):
            raise ValueError("protection_days and protection_points go together")
        return self


class Entrant(NamedTuple):
    """Someone who wants to play.

    Attributes:
        rating: When entries close, what they owe for an absence paid.
        best: The best rating of the time that the policy protects, None if it is not known or protects none.
        refusal: Why they may not, None if they may.
    """

    player_id: str
    rating: float
    best: float | None
    refusal: str | None


class Seed(NamedTuple):
    """A place in the seeding, from 1 for the highest, and the numbers that it comes from."""

    place: int
    player_id: str
    seeding_rating: float
    rating: float
    best: float | None


class Refusal(NamedTuple):
    """Someone who may not play, and why: `suspended`, `banned`, `provisional` or `inactive`."""

    player_id: str
    reason: str


class Seeding(NamedTuple):
    """What becomes of the entries of a tournament.

    Attributes:
        seeds: By place.
        refused: By player id.
        notice: Tells the world.
    """

    seeds: tuple[Seed, ...]
    refused: tuple[Refusal, ...]
    notice: Notice


class Tournament(NamedTuple):
    """What is known of a tournament.

    Attributes:
        closed: Whether its entries are.
        refused: Those who were refused then, and why.
    """

    pool: str
    closed: bool = False
    refused: Mapping[str, str] = {}


class Tournaments:
    """The tournaments that are known."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Tournament] = {}

    def put(self, tournament_id: str, tournament: Tournament) -> None:
        """Enter a tournament."""
        self._known[tournament_id] = tournament

    def see(self, event: TournamentOpened | EntriesClosed | TournamentFinished) -> Tournament:
        """Give the tournament of an event, new if need be: no event has to be the first.

        Raises:
            TournamentMismatchError: The event names another pool than those before.
        """
        known = self._known.setdefault(event.tournament_id, Tournament(event.pool))
        if known.pool != event.pool:
            raise TournamentMismatchError(event.tournament_id, known.pool, event.pool)
        return known

    def close(self, tournament_id: str, refused: Iterable[Refusal]) -> None:
        """Remember that entries are closed and who was refused."""
        known = self._known[tournament_id]
        self._known[tournament_id] = known._replace(closed=True, refused=dict(refused))

    def has_refused(self, tournament_id: str | None, pool: str, player_id: str) -> bool:
        """Tell whether a tournament in a pool has refused a player."""
        known = None if tournament_id is None else self._known.get(tournament_id)
        return known is not None and known.pool == pool and player_id in known.refused


def seed(event: EntriesClosed, entrants: Iterable[Entrant], policy: Policy) -> Seeding:
    """Refuse those who may not play and seed the others: by the seeding rating, ties by player id.

    Args:
        event: The closing of the entries.
        entrants: Those who want to play, each once.
        policy: The version in force when entries close.
    """
    margin = None if policy.tournaments is None else policy.tournaments.protection_points
    seeds: list[tuple[float, str, Entrant]] = []
    refused: list[Refusal] = []
    for entrant in entrants:
        if entrant.refusal is not None:
            refused.append(Refusal(entrant.player_id, entrant.refusal))
            continue
        rating = entrant.rating
        if margin is not None and entrant.best is not None:
            rating = max(rating, entrant.best - margin)
        seeds.append((-rating, entrant.player_id, entrant))
    placed = tuple(
        Seed(place, player_id, -lowered, entrant.rating, entrant.best)
        for place, (lowered, player_id, entrant) in enumerate(sorted(seeds), start=1)
    )
    sorted_out = tuple(sorted(refused))
    return Seeding(placed, sorted_out, _notice(event, placed, sorted_out, policy))


def _notice(event: EntriesClosed, seeds: tuple[Seed, ...], refused: tuple[Refusal, ...], policy: Policy) -> Notice:
    body: dict[str, Any] = {
        "tournament_id": event.tournament_id,
        "pool": event.pool,
        "seeds": [one._asdict() for one in seeds],
        "refused": [one._asdict() for one in refused],
        "policy": policy_body(policy),
    }
    return Notice(
        kind=NoticeKind.TOURNAMENT_SEEDED,
        key=notice_key(event.tournament_id),
        subject=event.tournament_id,
        occurred_at=event.closed_at,
        body=body,
    )
