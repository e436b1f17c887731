"""The page's JSON of a real worker: what it says, what it refuses, and what it does where Postgres is away."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import asyncpg

from tests.page.asking import Visitor, visiting
from tests.page.happenings import HERO, HOSTILE, HOSTILE_POOL, POOL
from tests.support.kafka import produce, record_of
from tests.support.matches import stream
from tests.support.places import address_of
from tests.support.proxy import Proxy
from tests.support.waiting import until
from tests.unit.cli.processes import cli, sql
from worker.ledger.sql import load
from worker.ops.page.assets import Assets
from worker.settings.values import DatabaseUrl

if TYPE_CHECKING:
    from worker.settings import Settings

REFUSED: tuple[tuple[str, dict[str, str], int, str], ...] = (
    ("/api/leaderboard", {}, 400, "pool is missing"),
    ("/api/leaderboard", {"pool": "yi", "limit": "0"}, 400, "limit must be a whole number from 1 to 100"),
    ("/api/leaderboard", {"pool": "yi", "limit": "９"}, 400, "limit must be a whole number"),
    ("/api/leaderboard", {"pool": "yi", "limit": "1e1"}, 400, "limit must be a whole number"),
    ("/api/leaderboard", {"pool": "yi", "after": "junk"}, 400, "no cursor that a leaderboard gave"),
    ("/api/leaderboard", {"pool": "yi"}, 404, "Nobody has played in pool yi."),
    (
        "/api/leaderboard",
        {"pool": "yi", "page": "2"},
        400,
        "There is no parameter page; there are pool, lim",
    ),
    ("/api/player", {"id": ""}, 400, "id is missing"),
    ("/api/player", {"id": "x" * 1001}, 400, "at most 1000 characters"),
    ("/api/player", {"id": "a\0b"}, 400, "id must be text"),
    ("/api/player", {"id": "ann", "before": "99999999999"}, 400, "from 1 to 2147483647"),
    ("/api/player", {"id": "<b>ann"}, 404, "Player <b>ann has no match in any pool."),
    ("/api/history", {"id": "ann"}, 400, "pool is missing"),
    ("/api/history", {"id": "ann", "pool": "yi"}, 404, "Player ann has no match in pool yi."),
    ("/api/match", {"id": "m/1"}, 404, "Match m/1 is not recorded."),
    ("/api/status", {"x": "1"}, 400, "There is no parameter x; there are none."),
    ("/api/players", {}, 404, "There is nothing at /api/players; /api lists what there is."),
    ("/page/../http.py", {}, 404, "There is nothing at /http.py"),
    ("/page/%2e%2e%2fpage.py", {}, 404, "There is nothing at"),
)
FILES = f"/page/{Assets().digest}"
PATHS = ("/", "/api", "/api/status", "/api/pools", f"{FILES}/main.js", f"{FILES}/page.css", f"{FILES}/icon.svg")


async def test_it_says_what_the_commands_say(happened: Settings) -> None:
    """Leaderboards, players and matches are the commands' JSON, also under names that are meant to break it."""
    async with visiting(happened) as page:
        assert await page.json("/api/pools") == {"pools": sorted([POOL, HOSTILE_POOL]), "more": False}
        board = await page.json("/api/leaderboard", pool=HOSTILE_POOL)
        assert board == (await cli(happened, "leaderboard", HOSTILE_POOL, "--limit", 50, "--json")).json()
        assert {one["player_id"] for one in board["players"]} == set(HOSTILE)
        for player in (HERO, *HOSTILE):
            shown = await page.json("/api/player", id=player)
            assert shown == (await cli(happened, "player", "--json", "--", player)).json()
            matches = [step["match_id"] for step in shown["pools"][0]["history"] if step["match_id"] is not None]
            for match in matches[:2]:
                explained = await page.json("/api/match", id=match)
                assert explained == (await cli(happened, "explain", "--json", "--", match)).json()
                assert explained["consistent"] is True


async def test_a_leaderboard_and_a_history_go_on_page_by_page(happened: Settings) -> None:
    """Page after page gives everybody once, and every change once, newest first."""
    async with visiting(happened) as page:
        found, after = [], None
        while True:
            board = await page.json("/api/leaderboard", pool=HOSTILE_POOL, limit=3, after=after)
            found += [one["player_id"] for one in board["players"]]
            after = board["after"]
            if after is None:
                break
        assert sorted(found) == sorted(HOSTILE)
        versions: list[int] = []
        while True:
            before = versions[-1] if versions else None
            [pool] = (await page.json("/api/player", id=HERO, pool=POOL, limit=50, before=before))["pools"]
            versions += [step["version"] for step in pool["history"]]
            if not pool["history"]:
                break
        assert versions == list(range(pool["version"], 0, -1))


async def test_a_rating_over_time(happened: Settings) -> None:
    """It ends where the player stands, has every mark, says the titles, and goes back from a version."""
    async with visiting(happened) as page:
        found = await page.json("/api/history", id=HERO, pool=POOL)
        points = found["points"]
        assert points[-1]["rating"] == found["rating"]
        assert found["changes"] == found["version"] == len(points)
        assert {point["reason"] for point in points} == {"match", "void", "reset", "lift", "inactivity"}
        assert [point["version"] for point in points] == list(range(1, len(points) + 1))
        assert found["titles"][0] == {"title": "Beginner", "lower": 0}
        assert found["before"] is None
        earlier = await page.json("/api/history", id=HERO, pool=POOL, before=points[40]["version"])
        assert earlier["points"] == points[:40]


async def test_what_it_refuses(empty: Visitor) -> None:
    """What is asked for wrongly, and what is not there, is said in words, as JSON and as nothing else."""
    for path, asked, status, words in REFUSED:
        reply = await empty.get(path, **dict[str, Any](asked))
        assert reply.status == status, (path, asked)
        assert words in reply.error(), (path, asked)
        assert reply.headers["Content-Type"].startswith("application/json")


async def test_parameters_that_come_twice_or_are_no_text(empty: Visitor) -> None:
    """They are refused or taken for what they are, never an error of the server."""
    assert (await empty.get("/api/player?id=a&id=b")).error() == "id comes more than once."
    for query in ("id=%FF%FE", "id=%ED%A0%80", "id=%", "id=%zz", "id=+", "%FF=1", "&&=", "id=%F0%9F%98%80"):
        assert (await empty.get(f"/api/player?{query}")).status in {400, 404}, query


async def test_nothing_runs_that_is_not_ours(empty: Visitor) -> None:
    """Every answer forbids scripts, styles and frames from elsewhere and in the markup, and none is sniffed."""
    for path in (*PATHS, "/api/nothing", "/metrics"):
        headers = (await empty.get(path)).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


async def test_it_only_reads(empty: Visitor) -> None:
    """GET and HEAD, and no other method; HEAD has no body."""
    for path in PATHS:
        assert (await empty.get(path)).status == 200, path
        head = await empty.get(path, method="HEAD")
        assert (head.status, head.body) == (200, b""), path
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            assert (await empty.get(path, method=method)).status == 405, path


async def test_files_are_not_fetched_twice(empty: Visitor) -> None:
    """A browser keeps a file for ever, by an address that goes with its content; page and figures are never kept."""
    page = (await empty.get("/")).body.decode()
    named = re.findall(r'(?:src|href)="(/page/[^"]+)"', page)
    assert len(named) == 3
    for path in named:
        kept = await empty.get(path)
        assert (kept.status, kept.headers["Cache-Control"]) == (200, "max-age=31536000, immutable")
        assert (await empty.get(re.sub("/[0-9a-f]{16}/", "/0123456789abcdef/", path))).status == 404
    for path in ("/", "/api/status"):
        assert (await empty.get(path)).headers["Cache-Control"] == "no-store"


async def test_figures_move(settings: Settings) -> None:
    """Rates, delay, lag and curves follow what the worker does."""
    async with visiting(settings) as page:
        before = await page.json("/api/status")
        assert before["ready"] == {"ok": True, "reasons": []}
        assert before["totals"]["rated"] == 0
        assert before["delay"]["p50_s"] is None
        matches = stream(800, players=30, seed=5)
        await produce(settings, map(record_of, matches))

        async def settled() -> bool:
            status = await page.json("/api/status")
            taken = status["totals"]["rated"] + status["totals"]["unrated"]
            return bool(taken == len(matches) and len(status["lag"]["topics"]) == 3)

        await until(settled, 60)
        after = await page.json("/api/status")
    assert after["totals"]["published"] == 2 * after["totals"]["rated"]
    assert after["per_second"]["rated"] > 0
    assert max(after["history"]["rated_per_second"]) > 0
    assert 0 < after["delay"]["p50_s"] <= after["delay"]["p99_s"]
    assert {one["topic"]: len(one["partitions"]) for one in after["lag"]["topics"]} == dict.fromkeys(
        (settings.match_topic, settings.verdict_topic, settings.tournament_topic), 12
    )
    assert after["worker"]["instance_id"] == settings.instance_id
    assert all(stage["mean_s"] is not None for stage in after["stages"] if stage["stage"] in {"rate", "flush"})


async def test_postgres_away(happened: Settings) -> None:
    """The figures of the worker stay, what the ledger knows is said to be away, in words, and comes back with it."""
    url = happened.database_url.get_secret_value()
    async with Proxy(address_of(url)) as proxy:
        through = DatabaseUrl(url.replace(address_of(url), proxy.address))
        async with visiting(happened.model_copy(update={"database_url": through})) as page:
            assert (await page.json("/api/pools"))["pools"]
            proxy.refuse()
            proxy.cut()

            async def away() -> bool:
                return (await page.get("/api/pools")).status == 503

            await until(away, 30)
            reply = await page.get("/api/pools")
            assert reply.error().startswith("Postgres does not answer (")
            assert int(reply.headers["Retry-After"]) > 0

            async def told() -> bool:
                components = (await page.json("/api/status"))["components"]
                return [one["up"] for one in components if one["name"] == "database"] == [False]

            await until(told, 60)
            await proxy.accept()

            async def back() -> bool:
                return (await page.get("/api/pools")).status == 200

            await until(back, 60)


async def test_it_takes_a_connection_only_when_it_is_asked(settings: Settings) -> None:
    """Nothing goes to Postgres until somebody looks, and then by one connection, however many look."""
    count = (
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and application_name like 'rating-page %'"
    )
    async with visiting(settings) as page:
        for path in PATHS:
            if path != "/api/pools":
                await page.json(path) if path.startswith("/api") else await page.get(path)
        assert await sql(settings, count) == 0
        replies = await asyncio.gather(*(page.get("/api/player", id=f"p{number}") for number in range(30)))
        assert {reply.status for reply in replies} <= {404, 503}
        assert await sql(settings, count) == 1

    async def gone() -> bool:
        return bool(await sql(settings, count) == 0)

    await until(gone, 30)


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Give every node of a plan."""
    return [plan, *(node for part in plan.get("Plans", ()) for node in nodes(part))]


async def test_its_own_statements_go_down_an_index(settings: Settings) -> None:
    """Neither sorts, neither scans, and each reads as many rows as it gives."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.execute("insert into pools (name) select 'pool ' || n from generate_series(1, 5000) n")
        await connection.execute(
            "insert into ledger (rating_id, version, match_id, reason, before, after, delta, weight, games, policy_id, "
            "occurred_at) select r, v, r || '/' || v, 'match', 0, 1, 1, 1, 1, 1, now() "
            "from generate_series(1, 200) r, generate_series(1, 200) v"
        )
        await connection.execute("vacuum analyze")
        for name, arguments, rows in (("some_pools", (501,), 501), ("trace", (7, 150, 100), 100)):
            statement = load("page.sql")[name]
            plan = json.loads(await connection.fetchval(f"explain (analyze, format json) {statement}", *arguments))
            found = nodes(plan[0]["Plan"])
            assert not [node for node in found if node["Node Type"] in {"Seq Scan", "Sort"}], plan
            assert [node["Actual Rows"] for node in found if "Index" in node["Node Type"]][-1] == rows
    finally:
        await connection.close()
