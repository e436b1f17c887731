"""Looking after the ratings as a whole, on a real Postgres: what is broken is found; figures are those of the table."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tests.integration.test_housekeeping import housekeeper
from tests.integration.test_ledger import apply, arrivals
from tests.integration.test_roles import WORKER, by, with_roles
from tests.support.matches import stream
from worker.housekeeping import sanity
from worker.housekeeping.integrity import Integrity
from worker.housekeeping.sanity import Audit, Figures
from worker.ledger.ledger import Ledger
from worker.ledger.rounds import Rounds
from worker.ops.labels import Invariant
from worker.ops.metrics import Metrics
from worker.policies import load_policies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.housekeeping.tasks import Task
    from worker.ledger.rounds import Done, Round
    from worker.settings import Settings

POLICIES = load_policies(None, ())
LATER = datetime.now(UTC) + timedelta(days=1)  # settled by then is whatever a test records, however long the run lasts


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger of 600 matches in three pools, followed by the signals' task."""
    opened = await Ledger.open(settings, POLICIES)
    await apply(opened, arrivals(stream(600, players=10, seed=8)))
    async with turn(opened) as round_:
        await follow(round_)
    yield opened
    await opened.close()


@asynccontextmanager
async def turn(ledger: Ledger) -> AsyncIterator[Round]:
    """Open a round as the housekeeping of some worker."""
    await ledger.claims.take([("notices", 0)], _nobody)
    rounds = Rounds(ledger, group=ledger.claims.group, owner=ledger.claims.owner, topic="notices")
    async with rounds.open() as round_:
        yield round_


async def follow(round_: Round) -> None:
    """Let the signals' task follow the ledger to its end."""
    while (done := await Integrity(POLICIES).piece(round_, LATER)) is not None:
        await round_.record(Integrity.name, done)


async def do(ledger: Ledger, task: Task) -> None:
    """Do a turn of a task, which records nothing."""
    async with turn(ledger) as round_:
        assert await task.piece(round_, LATER) is None


async def rows(ledger: Ledger, query: str) -> list[Any]:
    """Ask the database."""
    async with ledger.connection() as connection:
        return list(await connection.fetch(query))


async def test_a_sound_ledger_breaks_nothing(ledger: Ledger) -> None:
    """All entries are looked over, once, and none is found to be broken."""
    metrics = Metrics(CollectorRegistry())
    audit = Audit(metrics.housekeeping)
    await do(ledger, audit)
    [(entries,)] = await rows(ledger, "select count(*) from ledger")
    assert entries > 900
    assert counted(metrics) == (entries, {"chain": 0, "sum": 0, "standing": 0})
    await do(ledger, audit)
    assert counted(metrics)[0] == entries


@pytest.mark.parametrize(
    ("damage", "broken"),
    [
        # One step of the middle ends elsewhere: the sum is off, and the next step starts where it did not end.
        ("update ledger set after = after + 1e-9 where {middle}", {"chain": 1, "sum": 1}),
        # A step that never was.
        ("delete from ledger where {middle}", {"chain": 1}),
        # Players stand elsewhere than their last step says: each of their entries shows it.
        ("update ratings set rating = rating + 1 where rating_id = {player}", {"standing": None}),
        # A step too many, that the player's standing knows nothing of.
        ("update ratings set version = version - 1 where rating_id = {player}", {"standing": None}),
    ],
    ids=["another-end", "a-gap", "another-standing", "a-step-too-many"],
)
async def test_what_is_broken_is_counted(ledger: Ledger, damage: str, broken: dict[str, int | None]) -> None:
    """A stray hand in the tables shows under the invariant that it broke, and under no other."""
    [(player, entries)] = await rows(
        ledger, "select rating_id, count(*) from ledger group by 1 order by 2 desc, 1 limit 1"
    )
    middle = f"rating_id = {player} and version = {entries // 2}"
    await rows(ledger, damage.format(player=player, middle=middle))
    metrics = Metrics(CollectorRegistry())
    await do(ledger, Audit(metrics.housekeeping))
    expected = {"chain": 0, "sum": 0, "standing": 0} | {
        name: entries if count is None else count for name, count in broken.items()
    }
    assert counted(metrics)[1] == expected


async def test_what_came_since_is_looked_over(ledger: Ledger) -> None:
    """A turn looks at what the one before it did not; no more than 2,000 entries, the newest."""
    metrics = Metrics(CollectorRegistry())
    audit = Audit(metrics.housekeeping)
    await do(ledger, audit)
    before, _ = counted(metrics)
    await apply(ledger, arrivals(stream(100, players=10, seed=9, prefix="more"), first_offset=1_000))
    await do(ledger, audit)
    assert counted(metrics)[0] == before, "not settled yet: the signals' task has not followed it"
    async with turn(ledger) as round_:
        await follow(round_)
    await do(ledger, audit)
    [(entries,)] = await rows(ledger, "select count(*) from ledger")
    assert counted(metrics)[0] == entries
    await apply(ledger, arrivals(stream(1_500, players=10, seed=10, prefix="most"), first_offset=2_000))
    async with turn(ledger) as round_:
        await follow(round_)
    await do(ledger, audit)
    assert counted(metrics)[0] == entries + 2_000


async def test_figures_are_those_of_the_table(ledger: Ledger) -> None:
    """Where the table is small all of it is read: players, share provisional, mean and spread are exact."""
    metrics = Metrics(CollectorRegistry())
    await do(ledger, Figures(metrics.housekeeping, 30.0))
    players = await rows(
        ledger, "select p.name, provisional, rating from ratings join pools p using (pool_id) where version > 0"
    )
    pools = {pool for pool, _, _ in players}
    assert len(pools) == 3
    for pool in pools:
        its = [(provisional, rating) for name, provisional, rating in players if name == pool]
        established = [rating for provisional, rating in its if not provisional]
        assert len(established) > 2, pool
        assert shown(metrics, "players", pool) == shown(metrics, "sampled_players", pool) == len(its)
        assert shown(metrics, "provisional_ratio", pool) == pytest.approx(1 - len(established) / len(its))
        assert shown(metrics, "mean_points", pool) == pytest.approx(mean(established))
        assert shown(metrics, "spread_points", pool) == pytest.approx(stdev(established))


async def test_a_large_table_is_sampled(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many pages a part of them is read, and the number of players is reckoned from it."""
    await rows(
        ledger,
        """
        insert into ratings (pool_id, player_id, rating, version, games, wins, draws, losses, peak, provisional, title)
        select pool_id, 'made-up-' || n, 1200 + n % 7, 1, 1, 1, 0, 0, 1200, false, ''
        from pools, generate_series(1, 3000) n where name = 'yi'
        """,
    )
    [(pages,)] = await rows(ledger, "select pg_relation_size('ratings') / current_setting('block_size')::bigint")
    assert pages > 40
    monkeypatch.setattr(sanity, "_PAGES", pages // 2)
    metrics = Metrics(CollectorRegistry())
    await do(ledger, Figures(metrics.housekeeping, 30.0))
    sampled, players = shown(metrics, "sampled_players", "yi"), shown(metrics, "players", "yi")
    assert sampled is not None
    assert 0 < sampled < 3_000
    assert players == round(sampled / (pages // 2 / pages))


async def test_figures_are_read_now_and_then(ledger: Ledger) -> None:
    """Nine turns of ten read nothing: what is shown is that of the tenth."""
    metrics = Metrics(CollectorRegistry())
    figures = Figures(metrics.housekeeping, 30.0)
    await do(ledger, figures)
    before = shown(metrics, "mean_points", "yi")
    assert before is not None
    await rows(ledger, "update ratings set rating = rating + 100")
    for _ in range(9):
        await do(ledger, figures)
        assert shown(metrics, "mean_points", "yi") == before
    await do(ledger, figures)
    assert shown(metrics, "mean_points", "yi") == pytest.approx(before + 100)


async def test_a_turn_shows_when_all_is_done(settings: Settings, ledger: Ledger) -> None:
    """Who leads shows when it was done last; who does not, or fails half-way, shows nothing new."""
    stop = asyncio.Event()
    leads, waits = (housekeeper(settings, ledger, LATER, instance) for instance in ("one", "two"))
    started = time.time()
    await leads.turn(stop)
    await waits.turn(stop)
    done = last_done(leads._metrics)
    assert done >= started
    assert last_done(waits._metrics) == 0
    leads._tasks = [Failing()]
    with pytest.raises(RuntimeError, match="half-way"):
        await leads.turn(stop)
    assert last_done(leads._metrics) == done


class Failing:
    """A task with a bug."""

    name = "failing"

    async def piece(self, _round: Round, _now: datetime) -> Done | None:
        raise RuntimeError("half-way")


async def test_a_worker_may_look_under_a_role_of_its_own(blank_settings: Settings) -> None:
    """No more is needed for it than what a worker may do anyway."""
    ledger = await Ledger.open(by(await with_roles(blank_settings), WORKER), POLICIES)
    try:
        await apply(ledger, arrivals(stream(60, players=4, seed=8, pools=("yi",))))
        async with turn(ledger) as round_:
            await follow(round_)
        metrics = Metrics(CollectorRegistry())
        for task in (Audit(metrics.housekeeping), Figures(metrics.housekeeping, 30.0)):
            await do(ledger, task)
    finally:
        await ledger.close()
    assert counted(metrics)[0] > 100
    assert shown(metrics, "players", "yi") == 4


def counted(metrics: Metrics) -> tuple[float, dict[str, float]]:
    """Give how many entries were looked over, and how many break what."""
    value = metrics.registry.get_sample_value
    entries = value("rating_audited_entries_total")
    assert entries is not None
    return entries, {
        invariant.value: value("rating_broken_invariants_total", {"invariant": invariant}) or 0.0
        for invariant in Invariant
    }


def shown(metrics: Metrics, name: str, pool: str) -> float | None:
    """Give a figure of a pool."""
    return metrics.registry.get_sample_value(f"rating_pool_{name}", {"pool": pool})


def last_done(metrics: Metrics) -> float:
    """Give when a worker's housekeeping was last done."""
    done = metrics.registry.get_sample_value("rating_housekeeping_last_finished_timestamp_seconds")
    assert done is not None
    return done


async def _nobody(owner: str) -> None:
    raise AssertionError(f"{owner} holds nothing that would have to be fenced")
