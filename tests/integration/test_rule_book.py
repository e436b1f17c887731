"""The rule book on real Postgres: however a stream is cut and delivered again, it comes out as one event at a time."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.integration.test_ledger import apply, arrivals
from tests.support.matches import START, stream
from tests.support.stories import POLICIES, Happening, Sweep, Telling, story
from worker.events import decode, encode_notice
from worker.housekeeping.tasks import Inactivity
from worker.ledger.ledger import Ledger
from worker.ledger.rounds import Done, Round
from worker.ledger.values import Applied, Arrival, Origin
from worker.rating.model import (
    Change,
    EntriesClosed,
    Lift,
    Match,
    Notice,
    Reason,
    Sanction,
    SanctionKind,
    Side,
    TournamentFinished,
    TournamentOpened,
    Void,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.rating.model import Event
    from worker.settings import Settings


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database."""
    opened = await Ledger.open(settings, POLICIES)
    yield opened
    await opened.close()


@pytest.mark.parametrize("sweeps", [False, True])
@pytest.mark.parametrize("seed", range(5))
async def test_any_cut_and_any_redelivery_is_as_one_event_at_a_time(ledger: Ledger, seed: int, sweeps: bool) -> None:
    """Ratings, ledger, reasons, changes and notices don't depend on how the stream is cut or what comes again."""
    chance = random.Random(seed)
    happenings = story(seed, sweeps=sweeps)
    telling = Telling()
    found: list[Change] = []
    told: list[Notice] = []
    sent: list[Arrival] = []
    while happenings:
        stretch = events_of(list(takewhile(lambda happening: not isinstance(happening, Sweep), happenings)))
        happenings = happenings[len(stretch) :]
        for event in stretch:
            telling.tell(event)
        batch = arrivals(stretch, first_offset=len(sent))
        for new in await in_pieces(ledger, chance, sent, batch):
            if isinstance(new, Change):
                found.append(new)
            else:
                told.append(new)
        if happenings:
            sweep = happenings.pop(0)
            assert isinstance(sweep, Sweep)
            swept = await swept_by(ledger, sweep)
            known = len(telling.changes)
            telling.tell(sweep)
            assert sorted(swept.changes, key=repr) == sorted(telling.changes[known:], key=repr)
            found += telling.changes[known:]  # those of a sweep come in the order of rating_id
            told += swept.notices
    assert found == telling.changes
    assert sorted(map(encode_notice, told)) == sorted(map(encode_notice, telling.notices))
    await agrees(ledger, telling)


def events_of(happenings: list[Happening]) -> list[Event]:
    """Give what comes by Kafka."""
    return [happening for happening in happenings if not isinstance(happening, Sweep)]


async def in_pieces(
    ledger: Ledger, chance: random.Random, sent: list[Arrival], batch: list[Arrival]
) -> list[Change | Notice]:
    """Apply a batch cut at random, with some of what was sent before delivered again; give what is new of it."""
    published: list[Change | Notice] = []
    while batch:
        again = sent[max(0, len(sent) - chance.choice((0, 0, 5))) :]
        repeated = (await apply(ledger, again)).publications
        size = chance.choice((1, 2, 9, 40))
        piece, batch = batch[:size], batch[size:]
        if chance.random() < 0.5:  # what comes again comes with what is new
            new = (await apply(ledger, [*again, *piece])).publications
            for one in repeated:
                new.remove(one)
        else:
            new = (await apply(ledger, piece)).publications
        published += [what for what, _ in new]
        sent += piece
    return published


async def swept_by(ledger: Ledger, sweep: Sweep) -> Done:
    """Let housekeeping sweep as of a time, whole."""
    async with ledger.pool.acquire() as connection, connection.transaction():
        round_ = Round(connection, ledger, "sweepers")
        task = Inactivity(POLICIES)
        await connection.execute("delete from progress")  # a sweep a day is enough for it, and not for this test
        done = await task.piece(round_, sweep.at)
        assert done is not None
        assert done.position["done"]
        _, told = await round_.record(task.name, done)
        notices = [publication.what for publication in told if isinstance(publication.what, Notice)]
        return replace(done, notices=notices)


async def agrees(ledger: Ledger, telling: Telling) -> None:
    """Compare all that is stored with a book that was told one event at a time."""
    async with ledger.pool.acquire() as connection:
        rows = await connection.fetch("select match_id, unrated_reason from matches where unrated_reason is not null")
        assert {row[0]: row[1] for row in rows} == telling.unrated
        rows = await connection.fetch("select p.name as pool, r.* from ratings r join pools p using (pool_id)")
        entries = await connection.fetch(
            "select p.name, r.player_id, l.version, l.before, l.after, l.reason from ledger l join ratings r using "
            "(rating_id) join pools p using (pool_id) order by entry_id"
        )
    stored = {(row["pool"], row["player_id"]): row for row in rows}
    assert telling.book.states.keys() <= stored.keys()
    for player, state in telling.book.states.items():
        assert {name: stored[player][name] for name in state._fields} == state._asdict()
    said = [(c.pool, c.player_id, c.version, c.before, c.after, c.reason) for c in telling.changes]
    assert sorted(map(tuple, entries)) == sorted(said)


def test_the_stories_tell_of_everything() -> None:
    """Each reason of a change, each notice of a sweep or a cup, each reason not to rate and a refusal of each kind."""
    tellings = [Telling() for _ in range(20)]
    for seed, telling in enumerate(tellings):
        for happening in story(seed, sweeps=True):
            telling.tell(happening)
    assert {change.reason for telling in tellings for change in telling.changes} == set(Reason) - {Reason.FLOOR}
    assert {notice.kind for telling in tellings for notice in telling.notices} == {
        "player-inactive",
        "tournament-seeded",
    }
    reasons = {reason for telling in tellings for reason in telling.unrated.values()}
    assert reasons >= {"voided", "unverified", "suspended", "tournament-banned", "tournament-provisional", "casual"}
    assert {type(event) for telling in tellings for event in telling.refused} >= {Void, Lift, EntriesClosed}


async def test_a_whole_stream_again_publishes_the_same_again(ledger: Ledger) -> None:
    """Delivered again from the start, every change and notice is published again as it was, and nothing changes."""
    batch = arrivals(events_of(story(11)))
    first = await apply(ledger, batch)
    again = await apply(ledger, batch)
    refused = len(first.refusals)
    assert again.redelivered == len(batch) - refused
    assert sorted(again.publications, key=repr) == sorted(first.publications, key=repr)
    assert of_changes(again) == of_changes(first)
    subjects = {what.subject for what, _ in first.publications if isinstance(what, Notice)}
    assert subjects
    for subject in subjects:
        assert of_subject(again, subject) == of_subject(first, subject)


def of_changes(applied: Applied) -> list[Change]:
    """Give the changes that are published, in order."""
    return [what for what, _ in applied.publications if isinstance(what, Change)]


def of_subject(applied: Applied, subject: str) -> list[Notice]:
    """Give what is published of one subject: that has one key, and keeps its order."""
    return [what for what, _ in applied.publications if isinstance(what, Notice) and what.subject == subject]


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
