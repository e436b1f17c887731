"""`python -m deploy.local run -- python -m tests.benchmarks.leaderboard`: what a page of a large leaderboard costs.

It fills one pool of a database of its own, reads pages of 50 from the top, the middle and the end, by the statement of
`rating-worker leaderboard` and by the view, and prints how long Postgres took and the plan.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import orjson

from worker.ledger import sql
from worker.ledger.migrate import migrate
from worker.ledger.reads import TOP, Cursor, leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

FILL = Path(__file__).with_name("leaderboard.sql")
_POOL, _PAGE, _RUNS = "chess/blitz", 50, 200
_STATEMENT = sql.load("reads.sql")["leaderboard_page"]
_VIEW = (
    "select * from leaderboard where pool_id = (select pool_id from pools where name = 'chess/blitz') "
    "and (rating, rating_id) < ($1::double precision, $2::bigint) order by rating desc, rating_id desc limit 50"
)


def by_statement(after: Cursor) -> tuple[str, list[Any]]:
    """Give the statement of `rating-worker leaderboard` for the page after a place, with its arguments."""
    return _STATEMENT, [1, after.rating, after.rating_id, _POOL, _PAGE]


def by_view(after: Cursor) -> tuple[str, list[Any]]:
    """Give the same page by the view, with its arguments."""
    return _VIEW, [after.rating, after.rating_id]


async def main(players: int) -> int:
    """Fill, read and print; the exit code."""
    url = os.environ.get("RATING_DATABASE_URL")
    if url is None:
        print("RATING_DATABASE_URL is not set; run it under `python -m deploy.local run --`.", file=sys.stderr)  # noqa: T201
        return 1
    name = f"bench_leaderboard_{secrets.token_hex(3)}"
    server = await asyncpg.connect(url)
    await server.execute(f'create database "{name}"')
    try:
        await _measure(urlsplit(url)._replace(path=f"/{name}").geturl(), players)
    finally:
        await server.execute(f'drop database "{name}" with (force)')
        await server.close()
    return 0


async def _measure(url: str, players: int) -> None:
    await migrate(url)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(FILL.read_text("utf-8").replace(":players", str(players)))
        await connection.execute("vacuum analyze")
        say = print
        say(f"{players:,} players in {_POOL}; pages of {_PAGE}, {_RUNS} of each, ms in Postgres")
        for place, cursor in await _places(connection):
            for title, (text, arguments) in (("statement", by_statement(cursor)), ("view", by_view(cursor))):
                times, plan = await _timed(connection, text, arguments)
                say(
                    f"{place:>7} {title:<10} first {times[0]:6.2f}  median {statistics.median(times):6.2f}  "
                    f"p99 {statistics.quantiles(times, n=100)[98]:6.2f}"
                )
                if place == "middle":
                    say(plan)
    finally:
        await connection.close()


async def _places(connection: asyncpg.Connection[Any]) -> list[tuple[str, Cursor]]:
    """Give where pages start: at the top, within the tie at the median rating, among the last."""
    found = [("top", TOP)]
    for place, quantile in (("middle", 0.5), ("end", 0.0001)):
        rating = await connection.fetchval(
            "select percentile_disc($1) within group (order by rating) from ratings where pool_id = 1", quantile
        )
        within = await connection.fetchval(
            "select percentile_disc(0.5) within group (order by rating_id) from ratings where rating = $1", rating
        )
        found.append((place, Cursor(rating, within, 0)))
    page = await leaderboard(connection, _POOL, limit=_PAGE, after=TOP)
    assert page is not None
    assert len(page.standings) == _PAGE
    return found


async def _timed(
    connection: asyncpg.Connection[Any], statement: str, arguments: Sequence[Any]
) -> tuple[list[float], str]:
    times: list[float] = []
    prepared = await connection.prepare("explain (analyze, buffers, format json) " + statement)
    for _ in range(_RUNS):
        (explained,) = orjson.loads(await prepared.fetchval(*arguments))
        times.append(explained["Planning Time"] + explained["Execution Time"])
    lines = await connection.fetch("explain (analyze, buffers, costs off) " + statement, *arguments)
    return times, "\n".join(f"            {line[0]}" for line in lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time pages of a large leaderboard.")
    parser.add_argument("--players", type=int, default=10_000_000)
    sys.exit(asyncio.run(main(parser.parse_args().players)))
