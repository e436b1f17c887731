"""The desk on a real Postgres: it only reads, one question at a time, and never for long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson
import pytest

from tests.support.waiting import until
from tests.unit.cli.processes import sql
from worker.ledger.reads.desk import Desk, Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Desk]:
    desk = Desk(settings)
    yield desk
    await desk.close()


@pytest.mark.parametrize(
    "statement",
    [
        "insert into pools (name) values ('x')",
        "create table x ()",
        "create temporary table x ()",
        "update ratings set rating = 0",
        "select nextval('ratings_rating_id_seq')",
    ],
)
async def test_it_changes_nothing(desk: Desk, statement: str) -> None:
    """Whatever would write is refused by Postgres itself, in the transaction and out of it."""
    refused: list[str] = []

    async def question(connection: asyncpg.Connection[Any]) -> Any:
        assert await connection.fetchval("show default_transaction_read_only") == "on"
        try:
            async with connection.transaction():
                await connection.execute(statement)
        except (asyncpg.ReadOnlySQLTransactionError, asyncpg.UndefinedFunctionError) as error:
            refused.append(str(error))
        return {}

    assert (await desk.ask("x", question)).found == "found"
    assert len(refused) == 1 or statement.startswith("create temporary"), "a temporary table is nobody else's"


async def test_a_slow_statement_is_stopped(desk: Desk) -> None:
    """A statement that takes long is cut off by Postgres, and that is said; the next question is answered."""

    async def slow(connection: asyncpg.Connection[Any]) -> Any:
        await connection.execute("select pg_sleep(60)")

    async def quick(connection: asyncpg.Connection[Any]) -> Any:
        return await connection.fetchval("select 1")

    answer = await desk.ask("slow", slow)
    assert answer.found == "away"
    assert "longer than 1 s" in orjson.loads(answer.body)["error"]

    async def answered() -> bool:
        return (await desk.ask("quick", quick)).body == b"1"

    await until(answered, 30)


async def test_one_at_a_time_and_few_wait(desk: Desk) -> None:
    """However many ask, one question is with Postgres; more than may wait are told so at once, and nobody hangs."""
    at_once, most = 0, 0

    async def question(connection: asyncpg.Connection[Any]) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await connection.execute("select pg_sleep(0.05)")
        at_once -= 1
        return {}

    answers = await asyncio.gather(*(desk.ask(number, question) for number in range(100)))
    assert most == 1
    found = [answer.found for answer in answers]
    assert set(found) == {"found", "busy"}
    assert found.count("found") <= 16


async def test_the_same_question_is_asked_once(desk: Desk) -> None:
    """All who ask the same at once, or right after, get one answer; who goes away takes it from nobody."""
    asked = 0

    async def question(connection: asyncpg.Connection[Any]) -> Any:
        nonlocal asked
        asked += 1
        await connection.execute("select pg_sleep(0.05)")
        return {"asked": asked}

    impatient = asyncio.create_task(desk.ask("same", question))
    others = [asyncio.create_task(desk.ask("same", question)) for _ in range(50)]
    await asyncio.sleep(0)
    impatient.cancel()
    answers = await asyncio.gather(*others)
    assert {answer.body for answer in answers} == {b'{"asked":1}'}
    assert (await desk.ask("same", question)).body == b'{"asked":1}'


async def test_what_is_not_there_and_what_is_too_much(desk: Desk) -> None:
    """A question's own refusal is the answer; a document beyond all bounds is refused."""

    async def nothing(_connection: asyncpg.Connection[Any]) -> Any:
        raise Refusal("unknown", "No such <thing>.")

    async def much(_connection: asyncpg.Connection[Any]) -> Any:
        return ["x" * 1000] * 2000

    assert await desk.ask("nothing", nothing) == ("unknown", b'{"error":"No such <thing>."}')
    assert (await desk.ask("much", much)).found == "wrong"


async def test_closing_while_it_is_asked(settings: Settings) -> None:
    """The end of a worker does not wait for people's questions, and leaves no connection behind."""
    desk = Desk(settings)
    begun = asyncio.Event()

    async def slow(connection: asyncpg.Connection[Any]) -> Any:
        begun.set()
        await connection.execute("select pg_sleep(60)")

    asking = asyncio.create_task(desk.ask("slow", slow))
    await begun.wait()
    await desk.close()
    [ended] = await asyncio.gather(asking, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError) or ended[0] == "away"  # type: ignore[index]  # or an answer
    left = (
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and application_name like 'rating-page %'"
    )

    async def gone() -> bool:
        return bool(await sql(settings, left) == 0)

    await until(gone, 30)
