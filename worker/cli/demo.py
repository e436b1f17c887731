"""`demo`: the main job from end to end, on the Kafka and the Postgres of the settings."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.progress import Progress

from worker.cli import demo_report
from worker.cli.database import postgres
from worker.cli.demo_report import Report
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, print_json, progress
from worker.cli.reaching import reaching_kafka
from worker.cli.running import run
from worker.cli.sending import CHUNK, Sender
from worker.cli.session import make_ready, new_run, only_here, working
from worker.cli.watching import Watcher, lag
from worker.generator import GAMES, Kind, Record, World, repeated, spoilt
from worker.ledger import reads
from worker.ledger.reads.explanation import explain
from worker.service import Worker
from worker.settings import Settings, load_settings

_PLAYED_OVER = timedelta(days=5)
_MOST_SINGLES = 100  # matches that are sent one by one, to time each
_SINGLES_EVERY_S = 0.01
_REPEATED_EVERY = 200
_BAD_EVERY = 250
_LOOK_EVERY_S = 0.02
_ASK_EVERY_S = 1.0
_TOP = 10


@command
def demo(
    matches: Annotated[int, typer.Option(min=20, help="How many matches to play.")] = 2_000,
    players: Annotated[int, typer.Option(min=2, help="How many players play them.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same players and matches.")] = 1,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the topics, when they are created.")] = 12,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait at most for all matches to be rated.")] = 90,
    yes: Annotated[bool, typer.Option("--yes", help="Also where Kafka or Postgres is not on this machine.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the whole worker at its job, on real Kafka and real Postgres.

    Makes the database and the topics ready, plays made-up matches, sends them through the broker, rates them with a
    worker in this process, reads the changes back as a consumer would, and prints what came out. Some records are
    repeats or no matches at all, on purpose. Run it again: the same players play on.
    """
    settings = load_settings(http_port=0)
    only_here(settings, meant=yes)
    report = run(_play(settings, World(players, seed, new_run()), matches, partitions, timeout))
    if as_json:
        print_json(demo_report.as_json(report))
    else:
        demo_report.print_report(console(), report)
    if faults := list(report.faults()):
        raise CommandError("The demo did not come out as it must: " + "; ".join(faults), Exit.FAILED)


async def _play(settings: Settings, world: World, matches: int, partitions: int, timeout_s: float) -> Report:
    await make_ready(settings, partitions)
    count = min(_MOST_SINGLES, matches // 10)
    backlog = _backlog(world, matches - count)
    with progress() as bar, reaching_kafka(settings):
        async with Watcher.watch(settings, world.run) as watcher, Sender.open(settings) as sender:
            await _send(sender, backlog, bar)
            try:
                async with asyncio.timeout(timeout_s), working(settings) as worker:
                    throughput = await _work_off(settings, worker, len(backlog), bar)
                    singles = await _one_by_one(sender, world, count, bar)
                    records = [*backlog, *(record for record, _ in singles)]
                    outcomes = await _read_back(settings, watcher, records)
            except TimeoutError as error:
                raise CommandError(
                    f"Not all was rated and read back in {timeout_s:g} s: {len(watcher.changes)} changes came. "
                    "Is another worker of this group stuck? --timeout waits for longer.",
                    Exit.TEMPORARY,
                ) from error
    report = Report(
        run=world.run,
        settings=settings,
        sent={kind: sum(record.kind is kind for record in records) for kind in Kind},
        outcomes=outcomes,
        dead_letters=watcher.dead_letters,
        changes=len(watcher.changes),
        twice=watcher.twice,
        throughput=throughput,
        waits_ms=sorted(
            (watcher.seen_at[record.match.match_id] - at) * 1000
            for record, at in singles
            if record.match and record.match.match_id in watcher.seen_at
        ),
    )
    await _look(settings, watcher, report)
    return report


def _backlog(world: World, matches: int) -> list[Record]:
    """Play matches over the last days, and mix a few repeats and a few bad records in."""
    now = datetime.now(UTC)
    good = list(world.records(matches, now - _PLAYED_OVER, now))
    return [*good, *map(repeated, good[::_REPEATED_EVERY]), *spoilt(good[::_BAD_EVERY], world.run)]


async def _send(sender: Sender, records: Sequence[Record], bar: Progress) -> None:
    task = bar.add_task("sending", total=len(records))
    for start in range(0, len(records), CHUNK):
        chunk = records[start : start + CHUNK]
        await sender.send_made_up(chunk)
        bar.advance(task, len(chunk))


async def _work_off(settings: Settings, worker: Worker, records: int, bar: Progress) -> float | None:
    """Wait until the group has committed every record; how many the worker took a second while it was at work."""
    task = bar.add_task("rating", total=records)
    ask_at = time.monotonic() + _ASK_EVERY_S
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        done = worker.pipeline.totals["records"] if worker.pipeline else 0
        bar.update(task, completed=done)
        # Another worker of the group may have its share, so the group's offsets decide.
        if done >= records or time.monotonic() > ask_at:
            if await lag(settings) == 0:
                seconds = worker.metrics.registry.get_sample_value("rating_batch_seconds_sum")
                return worker.pipeline.totals["records"] / seconds if worker.pipeline and seconds else None
            ask_at = time.monotonic() + _ASK_EVERY_S


async def _one_by_one(sender: Sender, world: World, count: int, bar: Progress) -> list[tuple[Record, float]]:
    """Send matches at a steady pace; each record and when it was sent."""
    sent: list[tuple[Record, float]] = []
    for _ in bar.track(range(count), description="one by one"):
        record = world.record(datetime.now(UTC))
        sent.append((record, time.perf_counter()))
        await sender.send_made_up([record])
        await asyncio.sleep(_SINGLES_EVERY_S)
    return sent


async def _read_back(settings: Settings, watcher: Watcher, records: Sequence[Record]) -> dict[str, int]:
    """Wait until every change and every dead letter of the run was read back; what became of the matches."""
    ids = [record.match.match_id for record in records if record.kind is Kind.MATCH and record.match]
    bad = sum(record.kind is Kind.BAD for record in records)
    while await lag(settings):  # noqa: ASYNC110 - what is waited for happens at the broker
        await asyncio.sleep(_LOOK_EVERY_S)
    async with postgres(settings) as connection:
        outcomes = await reads.outcomes(connection, ids)
    await watcher.until(match_changes=2 * outcomes.get("", 0), dead_letters=bad)
    return outcomes


async def _look(settings: Settings, watcher: Watcher, report: Report) -> None:
    """Read leaderboards and a match that shows something from the ledger."""
    async with postgres(settings) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        for game in GAMES:
            if page := await reads.leaderboard(connection, game.pool, limit=_TOP):
                report.leaderboards[game.pool] = page
        if match_id := demo_report.telling(watcher.changes.values()):
            record = await reads.match_record(connection, match_id)
            report.explained = None if record is None else (record, explain(record))
