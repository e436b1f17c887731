"""Histories for the properties of the whole rule book: events of every kind, in order of time, and a ledger of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.unit.rating.examples import NOON, SHIPPED, match, player, void
from worker.rating import (
    Book,
    Change,
    EntriesClosed,
    Imposed,
    Lift,
    Lifted,
    Match,
    Notice,
    Rated,
    Recorded,
    Repeated,
    Sanction,
    Sanctioned,
    SanctionKind,
    Seeding,
    Tournament,
    Unrated,
    Void,
    Voided,
    Waiting,
)

PLAYERS = ["ann", "bob", "cat"]
POOLS = ["yi", "shax", "chess/standard"]

Happening = Match | Void | Sanction | Lift | EntriesClosed


class Sweep(NamedTuple):
    """Age everyone up to a time."""

    until: datetime


def opened() -> Book:
    """Open a book in which some are new, some established, some back from an absence, some near a floor."""
    book = Book(SHIPPED)
    for pool, name, rating, rest in (
        ("yi", "ann", 1300.0, {}),
        ("yi", "bob", 1500.0, {}),
        ("shax", "ann", 1230.0, {"requalify": 1}),
        ("shax", "bob", 1700.0, {"boost": 3}),
        ("shax", "cat", 1450.0, {}),
        ("chess/standard", "ann", 1402.0, {}),
        ("chess/standard", "bob", 1404.0, {}),
    ):
        last = NOON - timedelta(days=80)
        book.put_state(pool, name, player(rating, wins=50, losses=50, last_played_at=last, **rest))
    return book


@st.composite
def histories(draw: st.DrawFn, kinds: str = "mmmmmvvslctt", size: int = 25) -> list[Happening]:
    """Make events of every kind in order of time: matches, voids (some before theirs), verdicts, lifts, entries."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(kinds), gaps), min_size=5, max_size=size))
    times = accumulate((gap for _, gap in drawn), initial=timedelta())
    next(times)
    events: list[Happening] = []
    games: list[Match] = []
    verdicts: list[Sanction] = []
    for number, ((kind, _), after) in enumerate(zip(drawn, times, strict=True)):
        if kind in "mt":
            one, other = draw(st.sampled_from([("ann", "bob"), ("bob", "cat"), ("cat", "ann")]))
            game = match(
                draw(st.sampled_from([1.0, 0.5, 0.0])),
                of=(one, other),
                pool=draw(st.sampled_from(POOLS)),
                after=after,
                match_id=f"m{number}",
                match_type=draw(st.sampled_from(["ranked", "casual"])) if kind == "m" else "tournament",
                tournament_id=None if kind == "m" else "cup",
            )
            games.append(game)
            if draw(st.integers(0, 9)):
                events.append(game)
            else:  # voided before it comes
                events += (void(game, after=after), game)
        elif kind == "v" and games:
            events.append(void(draw(st.sampled_from(games)), after=after))
        elif kind == "s":
            verdicts.append(draw(sanctions(number, after)))
            events.append(verdicts[-1])
        elif kind == "l" and verdicts:
            verdict = draw(st.sampled_from(verdicts))
            events.append(Lift(verdict.sanction_id, verdict.player_id, NOON + after, "appeal", "board"))
        elif kind == "c":
            events.append(EntriesClosed("cup", "shax", NOON + after, tuple(PLAYERS)))
    return events


gaps = st.one_of(
    st.timedeltas(timedelta(), timedelta(hours=2)),
    st.timedeltas(timedelta(), timedelta(days=20)),
    st.timedeltas(timedelta(days=80), timedelta(days=500)),
)


@st.composite
def sanctions(draw: st.DrawFn, number: int, after: timedelta) -> Sanction:
    """Impose something on someone, somewhere, for some time."""
    length = draw(st.one_of(st.none(), st.timedeltas(timedelta(hours=1), timedelta(days=100))))
    return Sanction(
        f"s{number}",
        draw(st.sampled_from(PLAYERS)),
        draw(st.sampled_from(SanctionKind)),
        NOON + after,
        None if length is None else NOON + after + length,
        draw(st.sampled_from([None, None, *POOLS])),
        "farming",
        "trust",
    )


def time_of(event: Happening | Sweep) -> datetime:
    """Give when an event holds from."""
    match event:
        case Match():
            return event.finished_at
        case Void():
            return event.voided_at
        case Sanction():
            return event.starts_at
        case Lift():
            return event.lifted_at
        case EntriesClosed():
            return event.closed_at
        case Sweep():
            return event.until


@dataclass
class Ledger:
    """Applies events to a book and keeps what a ledger keeps, so that another book can go on from there."""

    book: Book = field(default_factory=opened)
    changes: list[Change] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    unrated: list[Unrated] = field(default_factory=list)
    seedings: list[Seeding] = field(default_factory=list)
    matches: dict[str, Recorded] = field(default_factory=dict)
    waiting_voids: dict[str, Void] = field(default_factory=dict)
    waiting_lifts: dict[str, Lift] = field(default_factory=dict)
    imposed: dict[str, Imposed] = field(default_factory=dict)
    tournaments: dict[str, Tournament] = field(default_factory=dict)

    def apply(self, event: Happening | Sweep) -> None:
        """Apply one event."""
        match event:
            case Match():
                self._rate(event)
            case Void():
                self._void(event)
            case Sanction():
                self._sanction(event)
            case Lift():
                self._lift(event)
            case EntriesClosed():
                seeding = self.book.close_entries(event, {})
                if isinstance(seeding, Seeding):
                    self.seedings.append(seeding)
                    self.notices.append(seeding.notice)
                    self.tournaments["cup"] = Tournament("shax", closed=True, refused=dict(seeding.refused))
            case Sweep():
                for pool, name in sorted(self.book.states):
                    self._take(*self.book.age(pool, name, event.until))

    def reopened(self) -> Ledger:
        """Put all that is kept into another book and go on with that one."""
        book = Book(SHIPPED)
        for (pool, name), state in self.book.states.items():
            book.put_state(pool, name, state)
        times: dict[tuple[str, str, str], list[datetime]] = defaultdict(list)
        for recorded in self.matches.values():
            game = recorded.match
            if recorded.changes and not recorded.voided:
                lo, hi = sorted(side.id for side in game.sides)
                times[game.pool, lo, hi].append(game.finished_at)
            book.put_recorded(game.match_id, recorded)
        for (pool, lo, hi), finished in times.items():
            book.put_pair_times(pool, lo, hi, finished)
        for name in PLAYERS:
            book.put_sanctions(name, [one for one in self.imposed.values() if one.sanction.player_id == name])
        for waiting in self.waiting_voids.values():
            book.put_waiting_void(waiting)
        for lift in self.waiting_lifts.values():
            book.put_waiting_lift(lift)
        for tournament_id, tournament in self.tournaments.items():
            book.put_tournament(tournament_id, tournament)
        self.book = book
        return self

    def _take(self, changes: tuple[Change, ...], notices: tuple[Notice, ...]) -> None:
        self.changes += changes
        self.notices += notices

    def _rate(self, game: Match) -> None:
        outcome = self.book.rate(game)
        if isinstance(outcome, Rated):
            self._take(outcome.changes, outcome.notices)
            self.matches[game.match_id] = Recorded(game, outcome.changes)
            return
        self.unrated.append(outcome)
        met = self.waiting_voids.pop(game.match_id, None) is not None
        self.matches[game.match_id] = Recorded(game, voided=met, unrated=outcome.reason)

    def _void(self, event: Void) -> None:
        outcome = self.book.void(event)
        if isinstance(outcome, Waiting):
            self.waiting_voids[event.match_id] = event
        elif not isinstance(outcome, Repeated):
            self.matches[event.match_id] = self.matches[event.match_id]._replace(voided=True)
            if isinstance(outcome, Voided):
                self._take(outcome.changes, outcome.notices)

    def _sanction(self, event: Sanction) -> None:
        outcome = self.book.sanction(event)
        assert isinstance(outcome, Sanctioned)
        self._take(outcome.changes, outcome.notices)
        lift = self.waiting_lifts.pop(event.sanction_id, None)
        self.imposed[event.sanction_id] = Imposed(event, lift.lifted_at if lift else None, outcome.taken)

    def _lift(self, event: Lift) -> None:
        outcome = self.book.lift(event)
        if outcome is Lifted.WAITING:
            self.waiting_lifts[event.sanction_id] = event
        elif outcome is Lifted.LIFTED:
            known = self.imposed[event.sanction_id]
            self.imposed[event.sanction_id] = known._replace(lifted_at=event.lifted_at)
            given = self.book.give_back(event)
            self._take(given.changes, given.notices)


def played(events: list[Any], ledger: Ledger | None = None) -> Ledger:
    """Apply events one after the other."""
    ledger = ledger or Ledger()
    for event in events:
        ledger.apply(event)
    return ledger
