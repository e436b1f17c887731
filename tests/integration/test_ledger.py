"""The batch transaction on real Postgres: what is new, what is known, what is refused, and two workers at once."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from tests.support.matches import START, stream
from tests.support.waiting import until
from worker.events import Decoded, Reject, event_digest, incoming_id
from worker.ledger.errors import ClaimLostError, LedgerSetupError, RaceLostError
from worker.ledger.ledger import Ledger
from worker.ledger.migrate import migrate
from worker.ledger.rounds import Rounds
from worker.ledger.values import Applied, Arrival, Origin
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.model import Change, Event, Match, Rated, Side

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from worker.settings import Settings

POLICIES = load_policies(None, ())


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database."""
    opened = await Ledger.open(settings, POLICIES)
    yield opened
    await opened.close()


def arrivals(events: Sequence[Event], *, partition: int = 0, first_offset: int = 0) -> list[Arrival]:
    """Give the events as if they had come from one partition."""
    return [
        Arrival(
            Origin("match-events", partition, first_offset + n),
            Decoded(event, incoming_id(event), event_digest(event), None),
        )
        for n, event in enumerate(events)
    ]


async def apply(ledger: Ledger, batch: Sequence[Arrival]) -> Applied:
    """Apply a batch in a transaction of its own; what loses a race is tried again, as the pipeline does."""
    while True:
        try:
            async with ledger.transaction([]) as transaction:
                return await transaction.apply(batch)
        except RaceLostError:
            continue


def match(match_id: str, one: str = "ann", other: str = "bob", score: float = 1.0, minute: int = 0) -> Match:
    """Give a match in pool yi."""
    return Match(match_id, "yi", START + timedelta(minutes=minute), (Side(one, score), Side(other, 1 - score)))


async def stored(ledger: Ledger, query: str) -> list[Any]:
    """Run a query."""
    async with ledger.pool.acquire() as connection:
        return list(await connection.fetch(query))


async def test_a_batch_gives_what_the_core_gives(ledger: Ledger) -> None:
    """The published changes of a batch, and of the next, are those of the pure core, match by match."""
    matches = stream(600, players=30, seed=5)
    book = Book(POLICIES)
    expected = [change for one in map(book.rate, matches) if isinstance(one, Rated) for change in one.changes]
    first = await apply(ledger, arrivals(matches[:250]))
    second = await apply(ledger, arrivals(matches[250:], first_offset=250))
    assert [change for change, _ in first.publications + second.publications] == expected


async def test_a_redelivered_match_is_published_again_as_it_was(ledger: Ledger) -> None:
    """A match that comes again from the same coordinates gives its changes again, equal in every field."""
    batch = arrivals([*stream(80, players=6, seed=6), *fide_falls()])
    first = await apply(ledger, batch)
    again = await apply(ledger, batch)
    assert again.publications == first.publications
    assert (again.redelivered, again.rated, again.refusals) == (len(batch), 0, [])
    assert {what.reason for what, _ in again.publications if isinstance(what, Change)} == {"match", "floor"}


def fide_falls() -> list[Match]:
    """Give matches in which a player falls below FIDE's floor."""
    return [
        Match(f"fall-{n}", "chess/standard", START + timedelta(hours=n), (Side("weak", 0.0), Side(f"strong{n}", 1.0)))
        for n in range(8)
    ]


async def test_a_match_sent_twice_counts_once(ledger: Ledger) -> None:
    """The same match from other coordinates, in the same batch or later, publishes and changes nothing."""
    first = await apply(ledger, [*arrivals([match("m1")]), *arrivals([match("m1")], partition=3)])
    later = await apply(ledger, arrivals([match("m1")], first_offset=9))
    assert (first.rated, first.resent, len(first.publications)) == (1, 1, 2)
    assert (later.rated, later.resent, later.publications) == (0, 1, [])


async def test_another_match_under_a_known_id_is_refused(ledger: Ledger) -> None:
    """A match id that comes with other content is a conflict, in the same batch or later, and changes nothing."""
    batch = arrivals([match("m1"), match("m1", score=0.0), match("m2")])
    first = await apply(ledger, batch)
    later = await apply(ledger, arrivals([match("m1", other="cid")], first_offset=9))
    assert first.rated == 2
    assert [(refusal.origin.offset, refusal.reason) for refusal in first.refusals] == [(1, Reject.CONFLICT)]
    assert [refusal.reason for refusal in later.refusals] == [Reject.CONFLICT]
    assert "void it" in later.refusals[0].detail
    assert await stored(ledger, "select 1 from ratings where player_id = 'cid'") == []


async def test_a_row_that_postgres_refuses_is_alone(ledger: Ledger) -> None:
    """Rows that Postgres refuses come back as refusals, and the rest of the batch is as if they had never come."""
    matches = stream(300, players=20, seed=7, pools=("yi",))
    async with ledger.pool.acquire() as connection:
        await connection.execute("alter table matches add check (match_id not in ('m-17', 'm-18', 'm-250'))")
    applied = await apply(ledger, arrivals(matches))
    assert [refusal.origin.offset for refusal in applied.refusals] == [17, 18, 250]
    assert {refusal.reason for refusal in applied.refusals} == {Reject.REFUSED_BY_DATABASE}
    book = Book(POLICIES)
    kept = [one for n, one in enumerate(matches) if n not in {17, 18, 250}]
    expected = [change for one in map(book.rate, kept) if isinstance(one, Rated) for change in one.changes]
    assert [change for change, _ in applied.publications] == expected


async def test_unrated_matches_are_recorded_with_their_reason(ledger: Ledger) -> None:
    """A casual and an unverified match leave a row with a reason, and players who stand at the start."""
    casual = Match("c", "shax", START, (Side("ann", 1.0), Side("bob", 0.0)), match_type="casual")
    unverified = Match("u", "yi", START, (Side("ann", 1.0), Side("bob", 0.0)), verified=False)
    applied = await apply(ledger, arrivals([casual, unverified]))
    assert applied.unrated == {"casual": 1, "unverified": 1}
    rows = await stored(ledger, "select match_id, unrated_reason from matches order by match_id")
    assert [tuple(row) for row in rows] == [("c", "casual"), ("u", "unverified")]
    rows = await stored(ledger, "select distinct rating, version, provisional from ratings order by rating")
    assert [tuple(row) for row in rows] == [(1000.0, 0, True), (1200.0, 0, True)]


async def test_cutting_a_partition_into_batches_changes_nothing(ledger: Ledger) -> None:
    """However one partition is cut into batches, late matches included, the changes are the same as one at a time."""
    chance = random.Random(8)
    matches = stream(240, players=12, seed=8)
    for _ in range(40):  # late ones: what finished before is told after
        one, other = sorted(chance.sample(range(240), 2))
        matches.insert(one, matches.pop(other))
    book = Book(POLICIES)
    expected = [change for one in map(book.rate, matches) if isinstance(one, Rated) for change in one.changes]
    batch = arrivals(matches)
    given = []
    while batch:
        size = chance.choice((1, 2, 17, 60))
        given += (await apply(ledger, batch[:size])).publications
        batch = batch[size:]
    assert [change for change, _ in given] == expected


async def test_two_workers_on_the_same_ten_players(settings: Settings, ledger: Ledger) -> None:
    """Workers whose batches share every player neither deadlock nor lose an update: the chains have no gap."""
    other = await Ledger.open(settings, POLICIES)
    streams = [stream(1_500, players=10, seed=seed, prefix=f"w{seed}", pools=("yi",)) for seed in (1, 2)]

    async def work(using: Ledger, matches: list[Match], partition: int) -> int:
        rated = 0
        for at in range(0, len(matches), 50):
            rated += (await apply(using, arrivals(matches[at : at + 50], partition=partition, first_offset=at))).rated
        return rated

    try:
        rated = await asyncio.gather(work(ledger, streams[0], 0), work(other, streams[1], 1))
    finally:
        await other.close()
    gaps = await stored(
        ledger,
        """select 1 from (
               select before, version,
                      lag(after) over w as ended, lag(version) over w as previous
               from ledger window w as (partition by rating_id order by version)
           ) c where version <> coalesce(previous, 0) + 1 or (ended is not null and ended <> before)""",
    )
    assert gaps == []
    changes = await stored(ledger, "select count(*) from ledger")
    assert changes[0][0] == 2 * sum(rated)
    unrated = await stored(ledger, "select count(*) from matches where unrated_reason is not null")
    assert sum(rated) + unrated[0][0] == 3_000


@asynccontextmanager
async def held(settings: Settings, *players: str) -> AsyncIterator[None]:
    """Hold the rows of players of yi locked."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        async with connection.transaction():
            await connection.execute("select from ratings where player_id = any($1::text[]) for update", players)
            yield
    finally:
        await connection.close()


async def rate_and_write(ledger: Ledger, batch: Sequence[Arrival]) -> Applied:
    """Take a batch through its transaction as the pipeline does."""
    async with ledger.transaction([]) as transaction:
        applied = await transaction.rate(batch)
        await transaction.write()
        return applied


async def test_who_was_recorded_while_a_batch_waited_is_found(settings: Settings, ledger: Ledger) -> None:
    """A worker that waits for a player does not take for new whom another recorded meanwhile."""
    await apply(ledger, arrivals([match("m1", "ann", "bob")]))
    async with AsyncExitStack() as holding:
        await holding.enter_async_context(held(settings, "ann"))
        batch = arrivals([match("m3", "ann", "new", minute=2)], partition=1)
        waiting = asyncio.create_task(rate_and_write(ledger, batch))
        await waits_for_a_lock(settings)
        await apply(ledger, arrivals([match("m2", "cid", "new", minute=1)], first_offset=1))
    applied = await waiting
    versions = {what.player_id: what.version for what, _ in applied.publications if isinstance(what, Change)}
    assert versions == {"ann": 2, "new": 2}


async def test_who_was_recorded_meanwhile_and_is_locked_is_not_waited_for(settings: Settings, ledger: Ledger) -> None:
    """Locks out of the global order might deadlock: the batch gives up what it holds, and is tried again."""
    await apply(ledger, arrivals([match("m1", "ann", "bob")]))
    batch = arrivals([match("m3", "ann", "new", minute=2)], partition=1)
    async with AsyncExitStack() as holding:
        await holding.enter_async_context(held(settings, "ann"))
        waiting = asyncio.create_task(rate_and_write(ledger, batch))
        await waits_for_a_lock(settings)
        await apply(ledger, arrivals([match("m2", "cid", "new", minute=1)], first_offset=1))
        async with held(settings, "new"):
            await holding.aclose()
            with pytest.raises(RaceLostError):
                await waiting
    again = await apply(ledger, batch)
    assert again.rated == 1


async def test_the_same_match_in_two_workers_at_once_counts_once(settings: Settings, ledger: Ledger) -> None:
    """A match sent under two keys and read by two workers at the same time is rated by one of them."""
    other = await Ledger.open(settings, POLICIES)
    matches = stream(400, players=200, seed=9, pools=("yi",))
    try:
        one, two = await asyncio.gather(
            apply(ledger, arrivals(matches, partition=0)), apply(other, arrivals(matches[::-1], partition=1))
        )
    finally:
        await other.close()
    assert one.rated + one.unrated.total() + two.rated + two.unrated.total() == 400
    assert one.resent + two.resent == 400


async def test_a_claim_taken_over_ends_the_batch(settings: Settings, ledger: Ledger) -> None:
    """A worker whose partition was claimed by another can't start a batch from it, and the taker fenced it first."""
    fenced: list[str] = []

    async def fence(owner: str) -> None:
        fenced.append(owner)

    await ledger.claims.take([("t", 0), ("t", 1)], fence)
    heir_settings = settings.model_copy(update={"instance_id": "heir"})
    heir = await Ledger.open(heir_settings, POLICIES)
    try:
        await heir.claims.take([("t", 1)], fence)
        assert fenced == [settings.transactional_id]
        async with ledger.transaction([("t", 0)]):
            pass
        with pytest.raises(ClaimLostError):
            async with ledger.transaction([("t", 0), ("t", 1)]):
                pass
        await heir.claims.release()
        await ledger.claims.take([("t", 1)], fence)
        assert fenced == [settings.transactional_id], "who released its claim is not fenced"
    finally:
        await heir.close()


async def test_a_claim_waits_for_the_batch_that_holds_it(settings: Settings, ledger: Ledger) -> None:
    """While a batch transaction is open, nobody takes its partition; after its commit, the taker does."""
    heir = await Ledger.open(settings.model_copy(update={"instance_id": "heir"}), POLICIES)
    events: list[str] = []

    async def fence(owner: str) -> None:
        events.append(f"fenced {owner}")

    async def take() -> None:
        await heir.claims.take([("t", 0)], fence)

    try:
        await ledger.claims.take([("t", 0)], fence)
        async with ledger.transaction([("t", 0)]) as transaction:
            taking = asyncio.create_task(take())
            await waits_for_a_lock(settings)
            await transaction.apply(arrivals([match("m1")]))
            events.append("batch done")
        await taking
    finally:
        await heir.close()
    assert events == ["batch done", f"fenced {settings.transactional_id}"]


async def waits_for_a_lock(settings: Settings) -> None:
    """Wait until some session of the database waits for a lock."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"

        async def waiting() -> bool:
            return bool(await connection.fetchval(query))

        await until(waiting, 10)
    finally:
        await connection.close()


async def test_an_unmigrated_database_is_told_plainly(blank_settings: Settings) -> None:
    """Opening the ledger on an empty database says that it must be migrated, and how."""
    with pytest.raises(LedgerSetupError, match="rating-worker migrate"):
        await Ledger.open(blank_settings, POLICIES)


async def test_a_changed_policy_version_is_refused(settings: Settings, ledger: Ledger) -> None:
    """Loading other content under a version that the ledger knows is refused, and says what to do."""
    async with ledger.pool.acquire() as connection:
        await connection.execute("update policies set digest = 'other' where name = 'yiboard'")
    with pytest.raises(LedgerSetupError, match="yiboard version 1 was changed"):
        await Ledger.open(settings, POLICIES)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("drop table partition_claims", lambda ledger: ledger.claims.take([("match-events", 0)], nobody)),
        ("drop table partition_claims", lambda ledger: ledger.claims.release()),
        ("alter table partition_claims rename owner to holder", lambda ledger: ledger.claims.release()),
        ("drop table partition_claims", lambda ledger: rounds(ledger).may_lead(60)),
        ("drop table rounds", lambda ledger: rounds(ledger).unpublished(0)),
        ("drop table pools cascade", lambda ledger: ledger.references.pool_ids({"nobody's"})),
    ],
)
async def test_what_somebody_must_mend_is_told_wherever_it_is_met(
    ledger: Ledger, statement: str, what: Callable[[Ledger], Awaitable[object]]
) -> None:
    """A table or a column that is gone is no passing fault, which would be tried again for ever."""
    async with ledger.pool.acquire() as connection:
        await connection.execute(statement)
    with pytest.raises(LedgerSetupError, match="rating-worker check"):
        await what(ledger)


def rounds(ledger: Ledger) -> Rounds:
    """Give the rounds of a group's housekeeping."""
    return Rounds(ledger, group="g", owner="o#1", topic="rating-notices")


async def nobody(owner: str) -> None:
    """Fence nobody: there is nobody to be fenced."""
    raise AssertionError(owner)


async def test_migrating_down_and_up_again(blank_settings: Settings) -> None:
    """Every migration can be undone and done again, and migrating twice at once does it once."""
    url = blank_settings.database_url.get_secret_value()
    await asyncio.gather(migrate(url), migrate(url))
    before, after = await migrate(url, revision="base")
    assert (before is not None, after) == (True, None)
    assert (await migrate(url))[0] is None
