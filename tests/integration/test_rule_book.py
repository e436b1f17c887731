"""The rule book on real Postgres: however a stream is cut and delivered again, it comes out as one event at a time."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.integration.test_ledger import apply, arrivals
from tests.support.matches import START, stream
from worker.events import decode
from worker.ledger.ledger import Ledger
from worker.ledger.values import Arrival, Origin
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.errors import LiftMismatchError, VoidMismatchError
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
    Void,
)
from worker.rating.sanctions import Sanctioned
from worker.rating.voids import Voided

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.rating.model import Event
    from worker.settings import Settings

POLICIES = load_policies(None, ())


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database."""
    opened = await Ledger.open(settings, POLICIES)
    yield opened
    await opened.close()


def story(seed: int, length: int = 140) -> list[Event]:
    """Make a stream of matches with voids, verdicts and long absences between them, some early and some late."""
    chance = random.Random(seed)
    matches = stream(length, players=7, seed=seed)
    events: list[Event] = []
    gap = timedelta()
    for number, match in enumerate(matches):
        if chance.random() < 0.02:
            gap += timedelta(days=chance.choice((40, 100, 200, 400)))
        at = match.finished_at + gap
        events.append(match._replace(finished_at=at - timedelta(minutes=chance.choice((0, 0, 0, 90)))))
        if chance.random() < 0.15:
            voided = matches[min(length - 1, max(0, number + chance.choice((-9, -3, 0, 4))))]
            players = (voided.sides[0].id, voided.sides[1].id)
            if chance.random() < 0.1:
                players = ("p0", "stranger")
            events.append(Void(voided.match_id, voided.pool, players, at, "collusion", "ref"))
        if chance.random() < 0.08:
            events.append(
                Sanction(
                    f"s{number}",
                    f"p{chance.randrange(7)}",
                    chance.choice(list(SanctionKind)),
                    at - timedelta(minutes=chance.choice((0, 30))),
                    None,
                    chance.choice((None, "yi", "shax")),
                    "cheating",
                    "ref",
                )
            )
        if chance.random() < 0.08:
            events.append(Lift(f"s{chance.randrange(length)}", f"p{chance.randrange(7)}", at, "appeal", "ref"))
    seen: set[tuple[type, str]] = set()
    once: list[Event] = []
    for event in events:
        key = (type(event), event[0])
        if key not in seen:
            seen.add(key)
            once.append(event._replace(ends_at=None) if isinstance(event, Sanction) else event)
    return once


def by_the_book(events: list[Event]) -> tuple[Book, list[Change], dict[str, str]]:
    """Apply the events to a book, one at a time: what every ledger has to agree with."""
    book = Book(POLICIES)
    changes: list[Change] = []
    unrated: dict[str, str] = {}
    for event in events:
        try:
            match event:
                case Match():
                    outcome = book.rate(event)
                    if isinstance(outcome, Rated):
                        changes += outcome.changes
                    else:
                        unrated[event.match_id] = outcome.reason
                case Void():
                    reversal = book.void(event)
                    changes += reversal.changes if isinstance(reversal, Voided) else ()
                case Sanction():
                    verdict = book.sanction(event)
                    changes += verdict.changes if isinstance(verdict, Sanctioned) else ()
                case Lift():
                    if book.lift(event):
                        changes += book.give_back(event).changes
        except (VoidMismatchError, LiftMismatchError):
            continue
    return book, changes, unrated


@pytest.mark.parametrize("seed", range(6))
async def test_any_cut_and_any_redelivery_is_as_one_event_at_a_time(ledger: Ledger, seed: int) -> None:
    """Ratings, ledger, reasons and published changes don't depend on how the stream is cut or what comes again."""
    chance = random.Random(seed)
    events = story(seed)
    book, expected, unrated = by_the_book(events)
    batch = arrivals(events)
    changes: list[Any] = []
    done = 0
    while done < len(batch):
        again = batch[max(0, done - chance.choice((0, 0, 5))) : done]
        repeated = (await apply(ledger, again)).publications
        size = chance.choice((1, 2, 9, 40))
        if chance.random() < 0.5:  # what comes again comes with what is new
            applied = await apply(ledger, [*again, *batch[done : done + size]])
            assert applied.publications[: len(repeated)] == repeated
            new = applied.publications[len(repeated) :]
        else:
            new = (await apply(ledger, batch[done : done + size])).publications
        changes += [what for what, _ in new if isinstance(what, Change)]
        done += size
    assert changes == expected
    async with ledger.pool.acquire() as connection:
        rows = await connection.fetch("select match_id, unrated_reason from matches where unrated_reason is not null")
        assert {row[0]: row[1] for row in rows} == unrated
        rows = await connection.fetch("select p.name as pool, r.* from ratings r join pools p using (pool_id)")
    for row in rows:
        state = book.states.get((row["pool"], row["player_id"]))
        if state is not None:
            assert {name: row[name] for name in state._fields} == state._asdict()


async def test_a_whole_stream_again_publishes_the_same_again(ledger: Ledger) -> None:
    """Delivered again from the start, every change and notice is published again as it was, and nothing changes."""
    batch = arrivals(story(11))
    first = await apply(ledger, batch)
    again = await apply(ledger, batch)
    refused = len(first.refusals)
    assert again.redelivered == len(batch) - refused
    assert sorted(again.publications, key=repr) == sorted(first.publications, key=repr)
    for kind in (Change, Notice):  # each kind has a topic of its own, and keeps its order there
        assert [one for one in again.publications if isinstance(one.what, kind)] == [
            one for one in first.publications if isinstance(one.what, kind)
        ]


async def test_a_void_gives_back_what_the_match_took(ledger: Ledger) -> None:
    """After a void both players stand where they stood, and the game is out of their tally and the pair's window."""
    before = stream(3, players=2, seed=1, pools=("yi",))
    matches = [match._replace(match_type="ranked", verified=True) for match in before]
    await apply(ledger, arrivals(matches))
    players = tuple(side.id for side in matches[2].sides)
    void = Void("m-2", "yi", (players[0], players[1]), START + timedelta(hours=1), "collusion", "referee")
    applied = await apply(ledger, arrivals([void], first_offset=3))
    assert {what.reason for what, _ in applied.publications if isinstance(what, Change)} == {"void"}
    async with ledger.pool.acquire() as connection:
        rows = await connection.fetch("select rating, games, version from ratings order by player_id")
        third = await connection.fetch(
            "select before from ledger l join ratings r using (rating_id) where match_id = 'm-2' and reason = 'match' "
            "order by player_id"
        )
    assert [row["games"] for row in rows] == [2, 2]
    assert [row["version"] for row in rows] == [4, 4]
    assert [row["rating"] for row in rows] == pytest.approx([row["before"] for row in third], abs=1e-9)


async def test_entries_are_seeded_from_frozen_ratings_and_refusals_hold(ledger: Ledger) -> None:
    """Closing entries seeds and refuses as the core says, tells it once, and the refused one's match is not rated."""
    played = [
        match._replace(match_type="ranked", verified=True) for match in stream(300, players=6, seed=4, pools=("shax",))
    ]
    await apply(ledger, arrivals(played))
    closed_at = START + timedelta(days=1)
    events: list[Event] = [
        Sanction("ban", "p1", SanctionKind.TOURNAMENT_BAN, START, None, None, "cheating", "ref"),
        TournamentOpened("cup", "shax", START, "ref"),
        EntriesClosed("cup", "shax", closed_at, ("p0", "p1", "p2", "newcomer")),
        Match("final", "shax", closed_at + timedelta(hours=1), (Side("p0", 1.0), Side("p1", 0.0)), "tournament", "cup"),
        Match("semi", "shax", closed_at + timedelta(hours=1), (Side("p0", 1.0), Side("p2", 0.0)), "tournament", "cup"),
        TournamentFinished("cup", "shax", closed_at + timedelta(days=1), ("p0", "p2")),
    ]
    batch = arrivals(events, first_offset=1000)
    first = await apply(ledger, batch[:3])
    second = await apply(ledger, batch[3:])
    (notice,) = [what for what, _ in first.publications if isinstance(what, Notice)]
    assert [(one["player_id"], one["reason"]) for one in notice.body["refused"]] == [
        ("newcomer", "provisional"),
        ("p1", "banned"),
    ]
    assert {one["player_id"] for one in notice.body["seeds"]} == {"p0", "p2"}
    for one in notice.body["seeds"]:
        assert one["seeding_rating"] == max(one["rating"], one["best"] - 100)
    assert second.unrated == {"tournament-banned": 1}
    assert second.rated == 1
    again = await apply(ledger, batch[:3])
    assert [what for what, _ in again.publications] == [what for what, _ in first.publications]


async def test_a_suspension_since_ever_and_for_ever_holds(ledger: Ledger) -> None:
    """The first and the last moment of a platform's clock are taken, stored and read back as what they mean."""
    raw = {
        "type": "player-sanctioned",
        "sanction_id": "s1",
        "player_id": "p0",
        "kind": "suspension",
        "starts_at": "0001-01-01T00:00:00Z",
        "ends_at": "9999-12-31T23:59:59.9999999Z",
        "why": "cheating",
        "by": "ref",
    }
    verdict = decode(orjson.dumps(raw), (), now=START, max_bytes=10_000)
    await apply(ledger, [Arrival(Origin("verdict-events", 0, 0), verdict)])
    match = Match("after", "yi", START, (Side("p0", 1.0), Side("p1", 0.0)))
    applied = await apply(ledger, arrivals([match]))
    assert applied.unrated == {"suspended": 1}
