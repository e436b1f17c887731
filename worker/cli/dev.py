"""`dev`: a worker under steady traffic, to develop against."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import asyncio
import signal
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer

from worker.cli.exits import command
from worker.cli.output import say, status
from worker.cli.reaching import reaching_kafka
from worker.cli.running import run
from worker.cli.sending import Sender
from worker.cli.session import make_ready, new_run, only_here, working
from worker.generator import World, repeated, spoilt
from worker.service import Worker
from worker.settings import Settings, load_settings

_STEP_S = 0.1
_REPEATED_EVERY, _BAD_EVERY = 200, 250


@command
def dev(
    rate: Annotated[float, typer.Option(min=0.1, max=50_000, help="Matches a second.")] = 20,
    players: Annotated[int, typer.Option(min=2, help="How many players play them.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same players.")] = 1,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the topics, when they are created.")] = 12,
    yes: Annotated[bool, typer.Option("--yes", help="Also where Kafka or Postgres is not on this machine.")] = False,
) -> None:
    """Run a worker under steady made-up traffic, until Ctrl-C.

    Makes the database and the topics ready first. Metrics and health are served on RATING_HTTP_PORT.
    """
    settings = load_settings()
    only_here(settings, meant=yes)
    run(_serve(settings, World(players, seed, new_run()), rate, partitions))


async def _serve(settings: Settings, world: World, rate: float, partitions: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await make_ready(settings, partitions)
    with reaching_kafka(settings):
        async with Sender.open(settings) as sender, working(settings) as worker:
            say(f"A worker is at work on {rate:g} matches a second; Ctrl-C stops it.")
            say(f"  {worker.http.url}/metrics  {worker.http.url}/readyz")
            say(f"  export RATING_KAFKA_BOOTSTRAP={settings.kafka_bootstrap}")
            say(f"  export RATING_DATABASE_URL={settings.database_url}")
            say("  rating-worker leaderboard yi; rating-worker player amina-01")
            await _traffic(world, sender, worker, rate, stop)
    say(f"Stopped: {_totals(worker)}.")


async def _traffic(world: World, sender: Sender, worker: Worker, rate: float, stop: asyncio.Event) -> None:
    """Send matches at a steady pace, now and then a repeat or a bad record, until asked to stop."""
    clock = asyncio.get_running_loop().time
    started, played = clock(), 0
    with status() as show:
        while not stop.is_set():
            due = int((clock() - started) * rate) - played
            records = [world.record(datetime.now(UTC)) for _ in range(due)]
            for number, record in enumerate(tuple(records), start=played):
                if number % _REPEATED_EVERY == 0:
                    records.append(repeated(record))
                if number % _BAD_EVERY == 0:
                    records += spoilt([record], world.run, first=number // _BAD_EVERY)
            await sender.send_made_up(records)
            played += due
            show(f"{sender.sent} sent, {_totals(worker)}")
            with suppress(TimeoutError):
                async with asyncio.timeout(_STEP_S):
                    await stop.wait()


def _totals(worker: Worker) -> str:
    totals = worker.pipeline.totals if worker.pipeline else {}
    names = {"rated": "rated", "unrated": "not rated", "resent": "repeats", "dead_lettered": "dead letters"}
    return ", ".join(f"{totals.get(key, 0)} {name}" for key, name in names.items())
