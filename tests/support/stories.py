"""Stories: seeded streams with all that can happen to players, and what a book that is told them one at a time says."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tests.support.matches import START, stream
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.errors import LiftMismatchError, TournamentMismatchError, VoidMismatchError
from worker.rating.model import (
    Change,
    EntriesClosed,
    Lift,
    Match,
    Notice,
    Rated,
    Sanction,
    SanctionKind,
    Side,
    TournamentFinished,
    TournamentOpened,
    Unrated,
    Void,
)
from worker.rating.sanctions import Sanctioned
from worker.rating.tournaments import Seeding
from worker.rating.voids import Voided

if TYPE_CHECKING:
    from worker.rating.model import Event

POLICIES = load_policies(None, ())
_PLAYERS = 7
_CUP_POOL = "shax"  # its policy knows tournaments


class Sweep(NamedTuple):
    """Housekeeping looks for who has been away too long."""

    at: datetime


Happening = Match | Void | Sanction | Lift | TournamentOpened | EntriesClosed | TournamentFinished | Sweep


def story(seed: int, length: int = 140, *, sweeps: bool = False) -> list[Happening]:
    """Make matches with voids, verdicts, lifts and tournaments between them, some early, some late, and long absences.

    Args:
        seed: Of all that is drawn.
        length: How many matches.
        sweeps: Whether housekeeping sweeps now and then.
    """
    chance = random.Random(seed)
    matches = stream(length, players=_PLAYERS, seed=seed, pools=("yi", _CUP_POOL, _CUP_POOL, "chess/blitz"))
    happenings: list[Happening] = _prelude()
    imposed: list[Sanction] = []
    cups: list[str] = []
    gap = timedelta()
    for number, match in enumerate(matches):
        if chance.random() < 0.02:
            gap += timedelta(days=chance.choice((40, 100, 200, 400)))
        at = match.finished_at + gap
        played = match._replace(finished_at=at - timedelta(minutes=chance.choice((0, 0, 0, 90))))
        if cups and chance.random() < 0.5 and match.pool == _CUP_POOL:
            played = played._replace(match_type="tournament", tournament_id=chance.choice(cups))
        happenings.append(played)
        if chance.random() < 0.15:
            other = matches[min(length - 1, max(0, number + chance.choice((-9, -3, 0, 4))))]
            players = ("p0", "stranger") if chance.random() < 0.1 else (other.sides[0].id, other.sides[1].id)
            happenings.append(Void(other.match_id, other.pool, players, at, "collusion", "ref"))
        if chance.random() < 0.12:
            verdict = _verdict(chance, number, at)
            imposed.append(verdict)
            lift = Lift(verdict.sanction_id, verdict.player_id, at, "appeal", "ref")
            early = chance.random() < 0.15
            happenings += [lift, verdict] if early else [verdict]
        if imposed and chance.random() < 0.12:
            known = chance.choice(imposed[-4:])
            player = known.player_id if chance.random() < 0.9 else "stranger"
            happenings.append(Lift(known.sanction_id, player, at, "appeal", "ref"))
        happenings += _tournament_news(chance, cups, at)
        if sweeps and chance.random() < 0.06:
            happenings.append(Sweep(at))
    return _each_once(happenings)


def _prelude() -> list[Happening]:
    """Three players beat the others, until they are high enough for absence to cost them points."""
    prelude: list[Happening] = []
    for number in range(80):
        one, other = Side(f"p{number % 3}", 1.0), Side(f"p{3 + number % 4}", 0.0)
        at = START - timedelta(days=80 - number)
        prelude.append(Match(f"before-{number}", _CUP_POOL, at, (one, other)))
    return prelude


def _verdict(chance: random.Random, number: int, at: datetime) -> Sanction:
    kind = chance.choice(list(SanctionKind))
    starts_at = at - timedelta(minutes=chance.choice((0, 30)))
    ends_at = at + timedelta(minutes=5) if kind is not SanctionKind.RESET and chance.random() < 0.5 else None
    pool = chance.choice((None, "yi", "shax"))
    return Sanction(f"s{number}", f"p{chance.randrange(_PLAYERS)}", kind, starts_at, ends_at, pool, "cheating", "ref")


def _tournament_news(chance: random.Random, cups: list[str], at: datetime) -> list[Happening]:
    news: list[Happening] = []
    if chance.random() < 0.04:
        cups.append(f"cup{len(cups)}")
        news.append(TournamentOpened(cups[-1], _CUP_POOL, at, "ref"))
    if cups and chance.random() < 0.06:
        entrants = (*(f"p{n}" for n in range(_PLAYERS) if chance.random() < 0.7), "newcomer")
        pool = _CUP_POOL if chance.random() < 0.9 else "yi"  # of another pool than it was opened in: refused
        news.append(EntriesClosed(chance.choice(cups), pool, at - timedelta(seconds=chance.choice((0, 30))), entrants))
    if cups and chance.random() < 0.03:
        news.append(TournamentFinished(chance.choice(cups), _CUP_POOL, at, ("p0", "p1")))
    return news


def _each_once(happenings: list[Happening]) -> list[Happening]:
    seen: set[tuple[type, object]] = set()
    once: list[Happening] = []
    for happening in happenings:
        key = (type(happening), happening[0])
        if key not in seen:
            seen.add(key)
            once.append(happening)
    return once


class Telling:
    """A book that is told a story one happening at a time: what every ledger has to agree with.

    Attributes:
        book: The book.
        changes: All changes, in order.
        notices: All notices, in order.
        unrated: Why matches were not rated, by match id.
        refused: The events that contradict what is known.
    """

    def __init__(self) -> None:
        self.book = Book(POLICIES)
        self.changes: list[Change] = []
        self.notices: list[Notice] = []
        self.unrated: dict[str, str] = {}
        self.refused: list[Event] = []

    def tell(self, happening: Happening) -> None:
        """Let something happen."""
        try:
            self._tell(happening)
        except (VoidMismatchError, LiftMismatchError, TournamentMismatchError):
            assert not isinstance(happening, Sweep)
            self.refused.append(happening)

    def _tell(self, happening: Happening) -> None:
        match happening:
            case Match():
                outcome = self.book.rate(happening)
                if isinstance(outcome, Unrated):
                    self.unrated[happening.match_id] = outcome.reason
                self._take(outcome)
            case Void():
                self._take(self.book.void(happening))
            case Sanction():
                self._take(self.book.sanction(happening))
            case Lift():
                if self.book.lift(happening):
                    self._take(self.book.give_back(happening))
            case Sweep():
                for pool, player in sorted(self.book.states):
                    self._take(Sanctioned(*self.book.age(pool, player, happening.at)))
            case _:
                self._tell_of_tournament(happening)

    def _tell_of_tournament(self, event: TournamentOpened | EntriesClosed | TournamentFinished) -> None:
        match event:
            case TournamentOpened():
                self.book.open_tournament(event)
            case EntriesClosed():
                seeding = self.book.close_entries(event, self._bests(event))
                if isinstance(seeding, Seeding):
                    self.notices.append(seeding.notice)
            case TournamentFinished():
                self.book.finish_tournament(event)

    def _take(self, outcome: object) -> None:
        if isinstance(outcome, Rated | Voided | Sanctioned):
            self.changes += outcome.changes
            self.notices += outcome.notices

    def _bests(self, event: EntriesClosed) -> dict[str, float]:
        rule = POLICIES.at(event.pool, event.closed_at).tournaments
        bests: dict[str, float] = {}
        if rule is None or rule.protection_days is None:
            return bests
        since = event.closed_at - timedelta(days=rule.protection_days)
        for change in self.changes:
            if change.pool == event.pool and since <= change.occurred_at <= event.closed_at:
                best = bests.get(change.player_id, change.before)
                bests[change.player_id] = max(best, change.before, change.after)
        return bests
