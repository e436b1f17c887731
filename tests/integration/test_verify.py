"""`verify` on what the worker itself has written: whatever the story, nothing is found, also while it writes."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

import asyncpg
import pytest

from deploy.local import Postgres
from tests.integration.test_ledger import apply, arrivals, fide_falls
from tests.integration.test_rule_book import events_of, in_pieces, swept_by
from tests.support.matches import START, stream
from tests.support.standby import standby_of
from tests.support.stories import POLICIES, Happening, Sweep, story
from tests.unit.cli.processes import cli, role, sql, url_of
from worker.ledger.ledger import Ledger, open_pool
from worker.ledger.migrate import migrate
from worker.policies import load_policies
from worker.rating.model import Lift, Match, Sanction, Void
from worker.rating.policy import Policy
from worker.rating.policy_set import PolicySet
from worker.settings.values import DatabaseUrl
from worker.verify import Name, NoSuchPoolError, Report, snapshot, verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.ledger.values import Arrival
    from worker.settings import Settings


@pytest.fixture
async def settings(blank_settings: Settings) -> Settings:
    """Settings of a fresh database, migrated; no topics."""
    await migrate(blank_settings.database_url.get_secret_value())
    return blank_settings


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database."""
    opened = await Ledger.open(settings, POLICIES)
    yield opened
    await opened.close()


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be read in so small pieces that events are cut in two."""
    monkeypatch.setattr(snapshot, "PIECE", 7)
    monkeypatch.setattr(snapshot, "_STRETCH", 50)


async def tell(ledger: Ledger, seed: int, happenings: list[Happening]) -> None:
    """Let a story happen, in batches and with redeliveries, and sweeps where it says so."""
    chance = random.Random(seed)
    sent: list[Arrival] = []
    while happenings:
        stretch = events_of(list(takewhile(lambda happening: not isinstance(happening, Sweep), happenings)))
        happenings = happenings[len(stretch) :]
        await in_pieces(ledger, chance, sent, arrivals(stretch, first_offset=len(sent)))
        if happenings:
            sweep = happenings.pop(0)
            assert isinstance(sweep, Sweep)
            await swept_by(ledger, sweep)


def played_late(match: Match, late: timedelta, chance: random.Random) -> Match:
    """Make a match come late; some are FIDE's instead, some of shax let the first one win and rise."""
    match = match._replace(finished_at=match.finished_at - late)
    if chance.random() < 0.1:
        match = match._replace(pool="chess/standard", match_type="ranked", tournament_id=None)
    if match.pool == "shax" and chance.random() < 0.3:
        match = match._replace(sides=(match.sides[0]._replace(score=1.0), match.sides[1]._replace(score=0.0)))
    return match


def unruly(seed: int) -> list[Happening]:
    """Make a story whose events come late by anything up to a year, among them matches of FIDE's, with its floor."""
    chance = random.Random(seed)
    happenings: list[Happening] = []
    for happening in story(seed, 350, sweeps=True):
        late = timedelta(days=chance.choice((*(0,) * 8, 1, 30, 100, 200, 400)), seconds=chance.choice((0, 0, 77)))
        match happening:
            case Match():
                moved: Happening = played_late(happening, late, chance)
            case Void():
                moved = happening._replace(voided_at=happening.voided_at - late)
            case Sanction():
                moved = happening._replace(starts_at=happening.starts_at - late)
            case Lift():
                moved = happening._replace(lifted_at=happening.lifted_at - late)
            case _:
                moved = happening
        happenings.append(moved)
    return happenings


async def verified(ledger: Ledger, *pools: str, rebuild: bool = True) -> Report:
    """Verify what a ledger has written."""
    async with ledger.connection() as connection:
        return await verify(connection, pools=pools, rebuild=rebuild)


def found(report: Report) -> dict[str, list[str]]:
    """Give what a report found, by check."""
    return {check.name: [one.what for one in check.examples] for check in report.checks if check.findings}


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_is_found_in_what_the_worker_wrote(ledger: Ledger, seed: int) -> None:
    """Of stories with everything in them, every check finds things to look at and nothing that is wrong."""
    await tell(ledger, seed, [*story(seed, 200, sweeps=True), *fide_falls()])
    report = await verified(ledger)
    assert found(report) == {}
    assert {check.name: check.looked_at for check in report.checks if not check.looked_at} == {}
    assert [check.name for check in report.checks] == list(Name)
    async with ledger.connection() as connection:
        for table, count in (("ledger", report.entries), ("matches", report.matches), ("ratings", report.players)):
            assert await connection.fetchval(f"select count(*) from {table}") == count


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("seed", [10, 24, 38, 49])
async def test_late_events_and_cut_pieces_change_nothing(ledger: Ledger, seed: int) -> None:
    """What comes months late, to players whose absence was swept before, is rebuilt like everything else."""
    await tell(ledger, seed, unruly(seed))
    assert found(await verified(ledger)) == {}


async def test_what_older_releases_did_not_record(ledger: Ledger) -> None:
    """Entries of before a column was there lack it, and are in order."""
    await tell(ledger, 8, story(8, 60))
    async with ledger.connection() as connection:
        await connection.execute("update ledger set opponent_before = null where entry_id < 60")
    assert found(await verified(ledger)) == {}


async def test_an_empty_database_is_in_order(ledger: Ledger) -> None:
    """Before the first match there is nothing to find."""
    report = await verified(ledger)
    assert (found(report), report.entries, report.matches, report.players) == ({}, 0, 0, 0)


@pytest.mark.usefixtures("in_small_pieces")
async def test_a_database_that_is_written_to(ledger: Ledger) -> None:
    """All that is read is of one moment: what is committed meanwhile is not half seen."""
    happenings = events_of(story(3, 900))
    batches = [arrivals(happenings[at : at + 12], first_offset=at) for at in range(0, len(happenings), 12)]
    for batch in batches[:12]:
        await apply(ledger, batch)
    written = 12

    async def write() -> None:
        nonlocal written
        for batch in batches[12:]:
            await apply(ledger, batch)
            written += 1

    overlapped = 0
    writing = asyncio.create_task(write())
    while not writing.done():
        before = written
        report = await verified(ledger)
        overlapped += written > before
        assert found(report) == {}
    await writing
    assert overlapped > 0
    assert found(await verified(ledger)) == {}


async def test_one_pool_alone(ledger: Ledger) -> None:
    """Only the ratings of the pools that are asked for are looked at; one that nobody has played in is named."""
    await tell(ledger, 5, [*story(5, 200, sweeps=True)])
    reports = {pool: await verified(ledger, pool) for pool in ("yi", "shax", "chess/blitz")}
    whole = await verified(ledger)
    assert [found(report) for report in reports.values()] == [{}, {}, {}]
    assert sum(report.entries for report in reports.values()) == whole.entries
    assert sum(report.matches for report in reports.values()) == whole.matches
    assert all(0 < report.players < whole.players for report in reports.values())
    with pytest.raises(NoSuchPoolError, match="go"):
        await verified(ledger, "yi", "go")


async def test_without_rebuilding(ledger: Ledger) -> None:
    """Counting and adding can be had alone."""
    await tell(ledger, 6, story(6, sweeps=True))
    report = await verified(ledger, rebuild=False)
    assert found(report) == {}
    assert report.not_rebuilt == "not asked for"
    assert {check.name for check in report.checks} == set(Name) - {Name.REBUILT_ENTRIES, Name.REBUILT_RATINGS}


def late_policies() -> PolicySet:
    """Give the policies after a version was added that says it had held since before the first match."""
    (yiboard,) = (one for one in POLICIES.policies if one.name == "yiboard")
    changed = {"version": 2, "valid_from": START - timedelta(days=9), "reason": "a test", "start": 1300}
    later = Policy.model_validate(yiboard.model_dump() | changed)
    return PolicySet([*POLICIES.policies, later], POLICIES.pools)


def other_policies() -> PolicySet:
    """Give the policies after an operator let another one rate yi."""
    return PolicySet(load_policies(None, ()).policies, {**POLICIES.pools, "yi": "biciid"})


@pytest.mark.parametrize("change", [late_policies, other_policies])
async def test_policies_that_changed_under_the_ledger(ledger: Ledger, settings: Settings, change: object) -> None:
    """What another version rated than would hold today, or another policy, is rebuilt by the one that rated it."""
    matches = stream(300, players=9, seed=8, pools=("yi", "shax"))
    await apply(ledger, arrivals(matches[:150]))
    assert callable(change)
    changed = await Ledger.open(settings, change())
    await apply(changed, arrivals(matches[150:], first_offset=150))
    await changed.close()
    assert found(await verified(ledger)) == {}


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[Settings]:
    """Give settings of a role that may select, and whose transactions are read-only unless told otherwise."""
    name = role(settings)
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute(f"create role {name} login; grant select on all tables in schema public to {name}")
        await connection.execute(f"alter role {name} set default_transaction_read_only = on")
        yield settings.model_copy(update={"database_url": DatabaseUrl(url_of(settings, login=name))})
    finally:
        await connection.execute(f"drop owned by {name}; drop role {name}")
        await connection.close()


async def test_a_role_that_may_only_select(ledger: Ledger, settings: Settings) -> None:
    """No more than select is needed, and no transaction that may write."""
    await tell(ledger, 7, story(7, sweeps=True))
    async with reader(settings) as reading, await open_pool(reading) as pool, pool.acquire() as connection:
        report = await verify(connection)
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute("update ratings set rating = 0")
    assert found(report) == {}
    assert report.entries > 0


async def test_a_standby(blank_settings: Settings) -> None:
    """A server that only follows another one will do."""
    with Postgres() as primary:
        url = DatabaseUrl(primary.create_database("followed"))
        settings = blank_settings.model_copy(update={"database_url": url})
        await migrate(url.get_secret_value())
        ledger = await Ledger.open(settings, POLICIES)
        await tell(ledger, 7, story(7, sweeps=True))
        await ledger.close()
        async with standby_of(primary) as standby:
            there = settings.model_copy(update={"database_url": DatabaseUrl(standby.dsn("followed"))})
            assert await sql(there, "select pg_is_in_recovery()")
            ended = await cli(there, "verify")
    assert (ended.code, ended.err) == (0, "")
    assert "Nothing is wrong." in ended.out


async def test_the_command(ledger: Ledger, settings: Settings) -> None:
    """It says what it looked at and that nothing is wrong; or what is, with ids to look further by, and ends by 65."""
    await tell(ledger, 1, story(1, sweeps=True))
    good = await cli(settings, "verify")
    assert good.code == 0
    assert "rebuilt-entries" in good.out
    assert good.out.rstrip().endswith("Nothing is wrong.")
    async with ledger.connection() as connection:
        match_id = await connection.fetchval(
            "update ledger set k = k + 1 where entry_id = (select max(entry_id) from ledger where reason = 'match') "
            "returning match_id"
        )
    bad = await cli(settings, "verify")
    assert bad.code == 65
    assert f"match {match_id}, player" in bad.out
    assert bad.err.startswith("1 finding in rebuilt-entries: the ledger contradicts its own rules.")
    told = (await cli(settings, "verify", "--json", "--pool", "yi", "--pool", "shax", "--pool", "chess/blitz")).json()
    (check,) = (one for one in told["checks"] if one["findings"])
    (example,) = check["examples"]
    assert (told["ok"], told["rebuilt"], check["name"], example["match_id"]) == (
        False,
        True,
        "rebuilt-entries",
        match_id,
    )
    assert (await cli(settings, "explain", example["match_id"])).code == 65
    assert (await cli(settings, "player", example["player_id"], "--pool", example["pool"])).code == 0
    counted = await cli(settings, "verify", "--no-rebuild")
    assert (counted.code, "Nothing was rated again: not asked for." in counted.out) == (0, True)
    unknown = await cli(settings, "verify", "--pool", "go")
    assert (unknown.code, unknown.err) == (1, "Nobody has played in pool go; there are chess/blitz, shax, yi.\n")
