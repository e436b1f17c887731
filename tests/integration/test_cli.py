"""The command line on a real Kafka and a real Postgres: making ready, and what goes wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from tests.support.matches import stream
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process, role, seen, sql, start, url_of
from worker.events import encode_match
from worker.ledger.revision import head_revision
from worker.stream.topics import wanted

if TYPE_CHECKING:
    from deploy.local import Stack
    from worker.settings import Settings


@pytest.fixture
async def ready(settings: Settings) -> Settings:
    """Settings whose topics the broker shows."""
    return await seen(settings)


async def test_migrate(blank_settings: Settings) -> None:
    """migrate says before and after, does nothing twice, and goes back only when told that data may go."""
    head = head_revision()
    first = await cli(blank_settings, "migrate")
    assert (first.code, first.err) == (0, f"The database was empty and is {head} now.\n")
    again = await cli(blank_settings, "migrate")
    assert (again.code, again.err) == (0, f"Nothing to do: the database is {head}.\n")
    refused = await cli(blank_settings, "migrate", "--revision", "base")
    assert refused.code == 2
    assert "going back to base destroys data. If that is meant, add --yes." in refused.err
    assert await sql(blank_settings, "select version_num from alembic_version") == head
    unknown = await cli(blank_settings, "migrate", "--revision", "9999")
    assert unknown.code == 2
    assert "no migration '9999'" in unknown.err
    back = await cli(blank_settings, "migrate", "--revision", "base", "--yes")
    assert (back.code, back.err) == (0, f"The database was {head} and is empty now.\n")


async def test_migrate_a_database_of_a_newer_version(settings: Settings) -> None:
    """A revision that this version does not know is told as what it is."""
    await sql(settings, "update alembic_version set version_num = 'zzzz'")
    ended = await cli(settings, "migrate")
    assert ended.code == 78
    assert "The database's revision zzzz is none that this version of the worker knows" in ended.err


async def test_migrate_without_the_right_to(blank_settings: Settings) -> None:
    """A role that may not create tables is told so, and nothing was changed."""
    await sql(blank_settings, f"create role {role(blank_settings)} login")
    ended = await cli(blank_settings, "migrate", RATING_DATABASE_URL=url_of(blank_settings, login=role(blank_settings)))
    assert ended.code == 78
    assert "permission denied" in ended.err
    assert f"refuses role {role(blank_settings)}" in ended.err


async def test_topics(blank_settings: Settings) -> None:
    """topics shows what is missing and ends with 78, creates it when told to, and then has nothing to do."""
    names = wanted(blank_settings)
    missing = await cli(blank_settings, "topics", "--json")
    assert missing.code == 78
    assert missing.json() == {"topics": [], "missing": names, "created": []}
    made = await cli(blank_settings, "topics", "--create", "--partitions", 3)
    assert made.code == 0
    assert made.out.count("created") == len(names)
    again = await cli(blank_settings, "topics", "--create", "--json")
    assert again.code == 0
    assert again.json()["created"] == []
    partitions = {topic["name"]: topic["partitions"] for topic in again.json()["topics"]}
    assert partitions == dict.fromkeys(names, 3) | dict.fromkeys(blank_settings.dead_letter_topics.values(), 1)


async def test_topics_that_the_broker_refuses(blank_settings: Settings) -> None:
    """More replicas than brokers is something to mend, in the broker's words and with the option to mend it by."""
    ended = await cli(blank_settings, "topics", "--create", "--replicas", 3)
    assert ended.code == 78
    assert "can't be created" in ended.err
    assert "--replicas 1" in ended.err
    assert "Error" not in ended.err


@pytest.mark.parametrize("command", ["check", "migrate", "leaderboard yi", "demo"])
async def test_no_such_database(settings: Settings, command: str) -> None:
    """A database that is not there is told, with what to do, by every command that needs it."""
    ended = await cli(settings, *command.split(), RATING_DATABASE_URL=url_of(settings, database="nowhere"))
    assert ended.code == 78
    assert 'database "nowhere" does not exist' in ended.out + ended.err


async def test_a_wrong_password(ready: Settings, stack: Stack) -> None:
    """A wrong password is told as such and never shown; the right one is let in."""
    name = role(ready)
    await sql(ready, f"create role {name} login superuser password 'right'")
    rules = stack.postgres.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all {name} all scram-sha-256\n{rules.read_text()}")
    await sql(ready, "select pg_reload_conf()")

    async def asks_for_it() -> bool:
        try:
            await (await asyncpg.connect(url_of(ready, login=name))).close()
        except asyncpg.InvalidPasswordError:
            return True
        return False

    await until(asks_for_it, 60)
    wrong = url_of(ready, login=f"{name}:sesame")
    for command in ("check", "migrate", "player ann", "run"):
        run = cli_process if command == "run" else cli
        ended = await run(ready, *command.split(), RATING_DATABASE_URL=wrong)
        assert ended.code == 78
        assert "password authentication failed" in ended.out + ended.err
        assert "sesame" not in ended.out + ended.err
    assert (await cli(ready, "check", RATING_DATABASE_URL=url_of(ready, login=f"{name}:right"))).code == 0


@pytest.mark.parametrize("command", ["leaderboard yi", "player ann", "explain m"])
async def test_an_unmigrated_database(blank_settings: Settings, command: str) -> None:
    """A database that is not migrated is told, with the command that does it."""
    ended = await cli(blank_settings, *command.split())
    assert ended.code == 78
    assert "Run `rating-worker migrate`" in ended.err


async def test_a_worker_on_an_unmigrated_database(blank_settings: Settings) -> None:
    """A worker does not start on a database that is not migrated; its last log line says what does that."""
    ended = await cli_process(blank_settings, "run")
    assert ended.code == 78
    lines = [json.loads(line) for line in ended.err.splitlines()]
    assert lines[-1]["event"].startswith("The database is not migrated")
    assert (lines[-1]["level"], lines[-1]["exit_code"]) == ("critical", 78)


async def test_a_worker_whose_claims_are_gone(ready: Settings) -> None:
    """A fault that somebody must mend, met after the start, ends a worker too; it leaves Kafka in order before."""
    await sql(ready, "drop table partition_claims")
    ended = await cli_process(ready, "run")
    assert ended.code == 78
    lines = [json.loads(line) for line in ended.err.splitlines()]
    assert "partition_claims" in lines[-1]["event"]
    assert "rating-worker check" in lines[-1]["event"]
    assert (lines[-1]["level"], lines[-1]["exit_code"]) == ("critical", 78)


async def test_missing_topics(blank_settings: Settings) -> None:
    """A worker without its topics, and whoever sends to one, is told which are missing and what makes them."""
    assert (await cli(blank_settings, "migrate")).code == 0
    ended = await cli_process(blank_settings, "run")
    assert ended.code == 78
    assert blank_settings.match_topic in ended.err
    assert "rating-worker topics --create" in ended.err
    for field in ("MATCH", "VERDICT", "TOURNAMENT", "RATING", "NOTICE", "DEAD_LETTER"):
        assert f"RATING_{field}_TOPIC" in ended.err
    sent = await cli(blank_settings, "produce", stdin=encode_match(stream(1, players=2, seed=1)[0]))
    assert sent.code == 78
    assert f"has no topic {blank_settings.match_topic}" in sent.err


async def test_a_port_that_is_taken(ready: Settings) -> None:
    """A worker whose port is taken says so and ends with 78."""
    async with running(ready) as worker:
        ended = await cli_process(ready, "run", RATING_HTTP_PORT=str(worker.http.port))
    assert ended.code == 78
    assert "the port is taken" in ended.err


async def test_a_broker_that_is_away(settings: Settings) -> None:
    """A worker waits for a broker that is away, not ready, and still stops in order when told to."""
    process = await start(settings, "run", RATING_KAFKA_BOOTSTRAP="127.0.0.1:1", RATING_LOG_FORMAT="json")
    assert process.stderr
    said: list[dict[str, Any]] = []
    async for line in process.stderr:
        said.append(json.loads(line))
        if "can't be reached, trying again" in said[-1]["event"]:
            break
    assert "RATING_KAFKA_BOOTSTRAP" in said[-1]["event"]
    process.terminate()
    await process.communicate()
    assert process.returncode == 0
