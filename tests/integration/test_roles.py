"""The roles of deploy/roles.sql: each can do its work, and nothing else."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from tests.integration.test_ledger import apply, arrivals
from tests.integration.test_rule_book import events_of
from tests.support.checker import check
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.processes import ROOT
from tests.support.running import running
from tests.support.stories import POLICIES, story
from tests.unit.cli.processes import cli, url_of
from worker.cli.exits import Exit
from worker.ledger.ledger import Ledger
from worker.ledger.rights import Kind, grant, missing_rights
from worker.settings import DatabaseUrl, Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from deploy.local import Stack

OWNER, WORKER, READER, STRANGER = "rating_owner", "rating_worker", "rating_reader", "rating_stranger"
MIGRATE = ("migrate", "--grant-worker", WORKER, "--grant-reader", READER)


def by(settings: Settings, login: str) -> Settings:
    """Give the same settings with another login to the database."""
    return settings.model_copy(update={"database_url": DatabaseUrl(url_of(settings, login=login))})


@asynccontextmanager
async def logged_in(settings: Settings, login: str = "rating") -> AsyncIterator[asyncpg.Connection[Any]]:
    """Connect as somebody."""
    connection = await asyncpg.connect(url_of(settings, login=login))
    try:
        yield connection
    finally:
        await connection.close()


async def with_roles(settings: Settings) -> Settings:
    """Make the three roles in a database, and let its owner migrate it."""
    statements = (ROOT / "deploy" / "roles.sql").read_text(encoding="utf-8")
    async with logged_in(settings) as connection:
        for _ in range(2):  # a second time changes nothing
            await connection.execute(statements)
    ended = await cli(by(settings, OWNER), *MIGRATE)
    assert ended.code == 0, ended.err
    assert f"The role {WORKER} may do what a worker does, and nothing else." in ended.err
    return settings


@pytest.fixture
async def settings(blank_settings: Settings) -> Settings:
    """Settings of a database of the test's own with the three roles; they name the superuser of the tests."""
    return await with_roles(blank_settings)


@pytest.fixture(scope="module")
async def shared(stack: Stack) -> Settings:
    """The same, of a database for all tests that leave it as it was."""
    return await with_roles(Settings(database_url=stack.create_database("roles"), kafka_bootstrap=stack.bootstrap))


async def test_each_role_does_its_work(settings: Settings) -> None:
    """A worker rates and publishes under its own role, `check` is content, and whoever looks needs another alone."""
    await create_topics(settings, partitions=3)
    matches = stream(500, players=60, seed=31)
    async with running(by(settings, WORKER)):
        await produce(settings, map(record_of, matches))
        await until_all_committed(settings)
    assert (await check(settings, matches)).wrong() == {}
    checked = await cli(by(settings, WORKER), "check", "--json")
    assert checked.code == 0, checked.out
    player = matches[0].sides[0].id
    for command in (
        ("leaderboard", matches[0].pool),
        ("player", player),
        ("explain", matches[0].match_id),
        ("sanctions", player),
        ("integrity", player),
        ("policy", "list", "--database"),
        ("verify",),
    ):
        looked = await cli(by(settings, READER), *command)
        assert looked.code == 0, (command, looked.out, looked.err)
        assert looked.out
    async with logged_in(settings, READER) as connection:
        for view in ("leaderboard", "match_history"):
            assert await connection.fetchval(f"select count(*) from {view}") >= 0


async def test_a_worker_may_do_all_that_the_rule_book_asks(settings: Settings) -> None:
    """Matches, voids that come first, sanctions and their lifting, tournaments: no statement is refused."""
    ledger = await Ledger.open(by(settings, WORKER), POLICIES)
    try:
        for offset, event in enumerate(events_of(story(7))):
            await apply(ledger, arrivals([event], first_offset=offset))
    finally:
        await ledger.close()
    async with logged_in(settings) as connection:
        for table in ("ledger", "matches", "events", "sanctions", "tournaments", "entries", "notices"):
            assert await connection.fetchval(f"select count(*) from {table}") > 0, table


FORBIDDEN_TO_WORKERS = (
    "delete from ledger",
    "update ledger set after = after",
    "truncate ledger",
    "delete from matches",
    "delete from ratings",
    "update policies set body = body",
    "delete from sanctions",
    "alter table ledger disable trigger all",
    "drop table ledger",
    "create table mine (x int)",
    "create temporary table mine (x int)",
    "update alembic_version set version_num = '0001'",
    "set role rating_owner",
)
FORBIDDEN_TO_READERS = (
    "insert into sources (topic) values ('x')",
    "update ratings set rating = 3000",
    "delete from ledger",
    "select * from partition_claims",
    "create table mine (x int)",
)


@pytest.mark.parametrize(("login", "statements"), [(WORKER, FORBIDDEN_TO_WORKERS), (READER, FORBIDDEN_TO_READERS)])
async def test_each_role_does_nothing_else(shared: Settings, login: str, statements: tuple[str, ...]) -> None:
    """History can't be rewritten by a worker, nor anything by a reader, whatever a reader sets its session to."""
    async with logged_in(shared, login) as connection:
        await connection.execute("set default_transaction_read_only = off")
        for statement in statements:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)


async def test_nobody_else_comes_in(shared: Settings) -> None:
    """A role that is none of the three can't even connect."""
    async with logged_in(shared) as connection:
        await connection.execute(f"create role {STRANGER} login")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied for database"):
        await asyncpg.connect(url_of(shared, login=STRANGER))


async def test_a_reader_changes_nothing_by_mistake(shared: Settings) -> None:
    """Its sessions are read-only by themselves, so that even a right given by mistake does no harm."""
    async with logged_in(shared, READER) as connection:
        assert await connection.fetchval("show default_transaction_read_only") == "on"
        assert await connection.fetchval("show statement_timeout") == "30s"


async def test_rights_are_exactly_what_is_needed(shared: Settings) -> None:
    """What a role was given besides is taken from it, and what it lacks is given, by the next migration."""
    async with logged_in(shared) as owner, logged_in(shared, WORKER) as worker:
        await owner.execute(f"grant delete on ledger to {WORKER}; revoke insert on ledger from {WORKER}")
        assert await missing_rights(worker) == ["insert on ledger"]
        refused = await cli(by(shared, WORKER), "check")
        assert refused.code == Exit.CONFIG
        assert "the role may not insert on ledger" in refused.out
        assert "--grant-worker ROLE" in refused.out
        again = await cli(by(shared, OWNER), *MIGRATE)
        assert again.code == 0, again.err
        assert await missing_rights(worker) == []
        assert not await worker.fetchval("select has_table_privilege('ledger', 'delete')")


async def test_every_table_is_somebodys_business(shared: Settings) -> None:
    """A table that a migration adds is in the list of rights, or its workers would be refused."""
    async with logged_in(shared) as owner:
        await owner.execute("create role all_that_is_listed")
        await grant(owner, "all_that_is_listed", Kind.WORKER)
        tables = await owner.fetch(
            "select oid::regclass::text as name from pg_class where relkind in ('r', 'p')"
            " and relnamespace = 'public'::regnamespace"
        )
        without = [
            row["name"]
            for row in tables
            if not await owner.fetchval(
                "select has_table_privilege($1::text, $2::text, 'select')", "all_that_is_listed", row["name"]
            )
        ]
    assert without == []


async def test_rights_that_can_not_be_given(shared: Settings) -> None:
    """A role that is not there, and somebody who is not the owner, are told so; the tables stay as they were."""
    nobody = await cli(by(shared, OWNER), "migrate", "--grant-worker", "no_such_role")
    assert nobody.code == Exit.CONFIG
    assert 'role "no_such_role" does not exist' in nobody.err
    assert "deploy/roles.sql" in nobody.err
    other = await cli(by(shared, WORKER), "migrate", "--grant-reader", READER)
    assert other.code == Exit.CONFIG
    assert "permission denied" in other.err
    assert f"names the role {WORKER}, and only {OWNER}, who owns the tables" in other.err
