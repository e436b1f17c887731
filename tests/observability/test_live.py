"""Every panel and every rule on a real Prometheus that looks at real workers under load."""

from __future__ import annotations

import json
import math
import re
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from deploy.grafana.dashboard import SOURCES, written
from tests.observability.vocabulary import RULES, rules
from tests.support.kafka import Raw, produce, record_of, until_all_committed
from tests.support.load import Load
from tests.support.prometheus import prometheus
from tests.support.waiting import until
from tests.support.workers import working
from worker.events import pair_key
from worker.events.names import MATCH_VOIDED
from worker.rating.model import Match, Side

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support.prometheus import Prometheus
    from worker.settings import Settings

pytestmark = pytest.mark.timeout(900)

JOB = "rating-worker"
LONG_S = 120
# What the load is for: each of these must be seen to be more than nothing.
HAPPENED = (
    'sum(rating_records_total{outcome="rated"})',
    'sum(rating_records_total{outcome="unrated"})',
    'sum(rating_records_total{outcome="recorded", reason="void"})',
    'sum(rating_records_total{outcome="dead-lettered", reason="not-json"})',
    'sum(rating_records_total{outcome="dead-lettered", reason="unknown-pool"})',
    'sum(rating_published_notices_total{kind="integrity-flagged", signal="win-trading"})',
    "count(rating_pool_mean_points) == 3",
    "sum(rating_pool_provisional_ratio)",
    "sum(rating_calibration_actual_score_total)",
    "sum(rating_audited_entries_total)",
    "max(rating_housekeeping_last_finished_timestamp_seconds)",
    "count(rating_ready == 1) == 2",
    "count(rating_component_up == 1) == 4",
    'sum(rating_database_connections{state="busy"} >= 0)',
)


async def test_every_panel_shows_and_every_rule_evaluates(settings: Settings, tmp_path: Path) -> None:
    """Each query of the dashboards has data, each rule evaluates without fault, and what is wrong raises its alert."""
    more = {"RATING_HOUSEKEEPING_INTERVAL_S": "1"}
    async with working(settings, tmp_path, "one", "two", **more) as workers:
        urls = [next(line["url"] for line in worker.events() if "url" in line) for worker in workers]
        targets = [url.removeprefix("http://") for url in urls]
        async with prometheus(tmp_path, targets, RULES, job=JOB) as server:
            # A counter's first step shows only to whoever saw it stand at nought.
            await until_more_than_nothing(server, "count(rating_records_total{outcome='rated'}) == 2")
            async with traffic(settings):
                await pass_time(settings)
                for expression in HAPPENED:
                    await until_more_than_nothing(server, expression)
                await until_every_panel_shows(server)
                assert await unsound_rules(server) == []
                await until_fires(server, "RatingDeadLetters")
            assert not await fires(server, "RatingInvariantBroken")
            await break_a_chain(settings)
            await until_fires(server, "RatingInvariantBroken")
            assert not await fires(server, "RatingWorkersDown")


@asynccontextmanager
async def traffic(settings: Settings) -> AsyncIterator[None]:
    """Keep matches coming, after voids of some, records that can't be taken, and a pair that trades wins."""
    load = Load(settings, seed=70, players=30)
    await load.send(2_000)
    await produce(settings, [void_of(match) for match in load.sent[::50]])
    await produce(settings, [Raw(b"bad", b"{no json"), *map(record_of, misspelt())])
    await produce(settings, map(record_of, traded_wins()))
    async with load.flowing(at_a_time=50, ahead=200):
        yield


def void_of(match: Match) -> Raw:
    """Give the record that takes a match back."""
    players = [side.id for side in match.sides]
    body = {
        "match_id": match.match_id,
        "pool": match.pool,
        "players": players,
        "voided_at": datetime.now(UTC).isoformat(),
        "why": "collusion",
        "by": "ref",
    }
    headers = (("ce_type", MATCH_VOIDED.encode()),)
    return Raw(pair_key(match.pool, *players), json.dumps(body).encode(), headers)


def traded_wins() -> list[Match]:
    """Give the games of a pair that takes turns at winning."""
    now = datetime.now(UTC) - timedelta(hours=2)
    return [
        Match(f"trade-{n}", "yi", now + timedelta(minutes=n), (Side("left", n % 2), Side("right", 1 - n % 2)))
        for n in range(8)
    ]


def misspelt() -> list[Match]:
    """Give games of a pool that nobody knows."""
    return [match._replace(match_id=f"lost-{match.match_id}", pool="tiddlywinks") for match in traded_wins()]


async def pass_time(settings: Settings) -> None:
    """Wait until the pair's games are recorded, then let all have been so for ten minutes longer, and be settled."""
    async with database(settings) as connection:

        async def recorded() -> bool:
            return bool(await connection.fetchval("select count(*) = 8 from matches where match_id like 'trade-%'"))

        await until(recorded, LONG_S)
        await connection.execute("update ledger set recorded_at = recorded_at - interval '10 minutes'")


async def break_a_chain(settings: Settings) -> None:
    """Write into the ledger by hand, at the newest entry, which housekeeping has not seen yet."""
    await until_all_committed(settings)
    async with database(settings) as connection:
        await connection.execute(
            "with newest as (select max(entry_id) as entry_id from ledger) "
            "update ledger set before = before + 1 from newest where ledger.entry_id = newest.entry_id"
        )
        await connection.execute("update ledger set recorded_at = recorded_at - interval '10 minutes'")


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[Any]:
    """Connect as the owner of the tables."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        yield connection
    finally:
        await connection.close()


async def until_every_panel_shows(server: Prometheus) -> None:
    """Ask what each panel asks, its variables filled in as Grafana does, until each query had data."""
    empty: dict[str, str] = {}
    for source in SOURCES:
        dashboard = json.loads(written(source).read_text("utf-8"))
        variables = await filled(server, dashboard["templating"]["list"])
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                name = f"{dashboard['title']}: {panel['title']} {target['refId']}"
                empty[name] = substituted(target["expr"], variables)
    assert len(empty) > 60

    async def all_show() -> bool:
        for name, expression in [*empty.items()]:
            if await has_data(server, expression):
                del empty[name]
        return not empty

    await until(all_show, LONG_S, lambda: f"no data: {empty}")


async def filled(server: Prometheus, variables: list[dict[str, Any]]) -> dict[str, str]:
    """Give each variable the values that its query finds, all of them at once where several may be chosen."""
    values = {"__rate_interval": "30s", "__range": "5m"}
    for variable in variables:
        if variable["type"] == "query":
            found = await values_of(server, variable["query"]["query"], values)
            values[variable["name"]] = "|".join(map(re.escape, found)) if variable["multi"] else found[0]
    return values


async def values_of(server: Prometheus, query: str, variables: dict[str, str]) -> list[str]:
    """Give what `label_values(selector, label)` finds, once it finds something."""
    selector, _, label = query.removeprefix("label_values(").removesuffix(")").rpartition(", ")
    found: list[str] = []

    async def known() -> bool:
        found[:] = await server.get(f"label/{label}/values", **{"match[]": substituted(selector, variables)})
        return bool(found)

    await until(known, LONG_S, lambda: f"no value: {query}")
    return found


def substituted(expression: str, variables: dict[str, str]) -> str:
    """Fill in an expression's variables; within quotes a backslash is doubled, as Grafana does."""
    for name, value in variables.items():
        expression = expression.replace(f"${name}", value.replace("\\", "\\\\"))
    assert "$" not in expression, expression
    return expression


async def has_data(server: Prometheus, expression: str) -> bool:
    """Tell whether an expression has a series with a number."""
    return any(not math.isnan(float(series["value"][1])) for series in await server.query(expression))


async def until_more_than_nothing(server: Prometheus, expression: str) -> None:
    """Wait until an expression is more than 0."""

    async def more() -> bool:
        return bool(await server.value(expression))

    await until(more, LONG_S, lambda: f"nothing: {expression}")


async def fires(server: Prometheus, alert: str) -> bool:
    """Tell whether an alert fires."""
    return bool(await server.query(f'ALERTS{{alertname="{alert}", alertstate="firing"}}'))


async def until_fires(server: Prometheus, alert: str) -> None:
    """Wait until an alert fires."""
    await until(lambda: fires(server, alert), LONG_S, lambda: f"{alert} does not fire: {server.tail()}")


async def unsound_rules(server: Prometheus) -> list[str]:
    """Wait until each rule was evaluated; gives those that failed, are not loaded, or recorded nothing."""
    loaded: dict[str, dict[str, Any]] = {}

    async def evaluated() -> bool:
        groups = (await server.get("rules"))["groups"]
        loaded.update({rule["name"]: rule for group in groups for rule in group["rules"]})
        return all(rule["health"] != "unknown" for rule in loaded.values())

    await until(evaluated, LONG_S, server.tail)
    unsound = [f"{rule.name}: not loaded" for rule in rules() if rule.name not in loaded]
    unsound += [f"{name}: {rule.get('lastError')}" for name, rule in loaded.items() if rule["health"] != "ok"]
    for rule in rules():
        if not rule.alert and not await has_data(server, rule.name):
            unsound.append(f"{rule.name}: records nothing")
    return unsound
