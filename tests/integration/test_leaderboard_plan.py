"""How Postgres reads a page of a leaderboard: down the index, so that its cost does not grow with the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import asyncpg
import orjson
import pytest

from tests.benchmarks.leaderboard import FILL, by_statement, by_view
from worker.ledger.reads import TOP, Cursor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings

_PLAYERS = 20_000


@pytest.fixture
async def filled(settings: Settings) -> AsyncIterator[asyncpg.Connection[Any]]:
    """Give a connection to a database with a pool of players, many of them at one rating."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    await connection.execute(FILL.read_text("utf-8").replace(":players", str(_PLAYERS)))
    await connection.execute("vacuum analyze")
    yield connection
    await connection.close()


async def test_a_page_goes_down_the_index(filled: asyncpg.Connection[Any]) -> None:
    """Neither sorts nor scans: the index gives the order, and what it reads is the page and no more."""
    within_a_tie = Cursor(1500.0, _PLAYERS // 2, 0)
    for statement, arguments in (by_statement(TOP), by_view(TOP), by_statement(within_a_tie), by_view(within_a_tie)):
        plan = await filled.fetchval("explain (analyze, format json) " + statement, *arguments)
        nodes = list(_nodes(orjson.loads(plan)[0]["Plan"]))
        by_index = [node for node in nodes if node.get("Index Name") == "ratings_leaderboard"]
        assert len(by_index) == 1
        assert by_index[0]["Actual Rows"] <= 60, "a page of 50, and those suspended"
        assert by_index[0].get("Rows Removed by Filter", 0) == 0
        assert not [node for node in nodes if "Sort" in node["Node Type"]]
        scanned = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
        assert scanned <= {"pools"}, "two rows"


async def test_the_view_and_the_command_show_the_same(filled: asyncpg.Connection[Any]) -> None:
    """Page after page."""
    after = TOP
    for _ in range(5):
        (first, its), (second, others) = by_statement(after), by_view(after)
        page, shown = await filled.fetch(first, *its), await filled.fetch(second, *others)
        assert [row["rating_id"] for row in page] == [row["rating_id"] for row in shown]
        assert len(page) == 50
        after = Cursor(page[-1]["rating"], page[-1]["rating_id"], 0)


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]
