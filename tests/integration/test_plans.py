"""How Postgres finds what a batch asks for: by index, in tables that have grown and in those that grow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.integration.test_ledger import POLICIES, arrivals
from tests.support.matches import stream
from worker.ledger import plans, sql
from worker.ledger.ledger import Ledger
from worker.ledger.transaction import BatchTransaction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from worker.rating.model import Match
    from worker.settings import Settings

# As many as any batch has, or few: what does not grow with what was recorded.
_SMALL = {"pools", "sources", "policies", "partition_claims", "rounds", "progress"}
_FILES = ("batch.sql", "rulebook.sql", "reads.sql", "reviews.sql", "verify.sql", "housekeeping.sql", "sanity.sql")
_SCANNED = """
    select relname::text, seq_tup_read from pg_stat_xact_user_tables
    where relname in ('matches', 'ratings', 'ledger')
"""


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a new database whose tables nobody analyzes."""
    opened = await Ledger.open(settings, POLICIES)
    async with opened.pool.acquire() as connection:
        for table in ("matches", "ratings", "ledger"):
            await connection.execute(f"alter table {table} set (autovacuum_enabled = off)")
    yield opened
    await opened.close()


async def test_statements_prepared_on_empty_tables_soon_go_by_index(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans made for empty tables stay until the period is over; then no batch reads a table from end to end."""
    matches = stream(6_040, players=1_000, seed=7)
    few, many, last = matches[:20], matches[20:-20], matches[-20:]
    monkeypatch.setattr(plans, "PERIOD_S", float("inf"))
    for match in few:
        await _scanned(ledger, [match])
    for first in range(0, len(many), 2_000):
        await _scanned(ledger, many[first : first + 2_000])
    assert await _scanned(ledger, last[:10]), "by a plan of the first batches, or the test shows nothing"
    monkeypatch.setattr(plans, "PERIOD_S", 0.0)
    assert await _scanned(ledger, last[10:]) == {}


async def test_statements_stay_prepared_when_plans_are_given_up(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planning again is what is wanted; preparing again would be a round trip for each statement."""
    monkeypatch.setattr(plans, "PERIOD_S", float("inf"))
    matches = stream(60, players=10, seed=8)
    await _scanned(ledger, matches[:20])
    await _scanned(ledger, matches[20:40])
    prepared = await _prepared(ledger)
    monkeypatch.setattr(plans, "PERIOD_S", 0.0)
    await _scanned(ledger, matches[40:])
    assert await _prepared(ledger) == prepared


async def test_a_list_is_looked_for_by_an_index(ledger: Ledger) -> None:
    """By each statement that takes a list, however long that is; where an index can be used at all."""
    scanned = {}
    async with ledger.pool.acquire() as connection, connection.transaction():
        await connection.execute("set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan")
        for file, name, statement in _statements():
            if "unnest($" in statement:
                arguments = ", ".join(["null"] * len(set(re.findall(r"\$\d+", statement))))
                await connection.execute(f"prepare {name} as {statement}")
                plan = await connection.fetchval(f"explain (format json) execute {name}({arguments})")
                await connection.execute(f"deallocate {name}")
                nodes = _nodes(orjson.loads(plan)[0]["Plan"])
                scanned[file, name] = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
    assert len(scanned) > 20
    assert {statement: tables for statement, tables in scanned.items() if tables - _SMALL} == {}


def test_no_list_is_compared_row_by_row() -> None:
    """`= any($1)` without an index costs rows times list: only pools, which are few, are looked for so."""
    found = {
        (file, name, compared)
        for file, name, statement in _statements()
        for compared in re.findall(r"(\S+) = any\(\$", statement)
    }
    assert {compared for _, _, compared in found} <= {"r.pool_id", "lo.pool_id", "p.name"}, found


def _statements() -> Iterator[tuple[str, str, str]]:
    for file in _FILES:
        for name, statement in sql.load(file).items():
            yield file, name, statement


async def _scanned(ledger: Ledger, matches: Sequence[Match]) -> dict[str, int]:
    """Apply matches as a batch; give how many rows of which table it read from end to end of one."""
    async with ledger.claimed_transaction("", "", []) as connection:
        before = dict(await connection.fetch(_SCANNED))  # of transactions just before, not handed in yet
        await BatchTransaction(connection, ledger.policies, ledger.references).apply(arrivals(matches))
        after = dict(await connection.fetch(_SCANNED))
    return {table: rows for table in after if (rows := after[table] - before[table])}


async def _prepared(ledger: Ledger) -> set[tuple[str, str]]:
    async with ledger.pool.acquire() as connection:
        rows = await connection.fetch("select name, statement from pg_prepared_statements")
    return {(name, statement) for name, statement in rows if "pg_prepared_statements" not in statement}


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]
