"""`dev`: a worker under steady traffic, to develop against."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import asyncio
import signal
from typing import Annotated

import typer

from worker.cli.exits import command
from worker.cli.output import say, status
from worker.cli.reaching import reaching_kafka
from worker.cli.running import run
from worker.cli.sending import Sender
from worker.cli.session import make_ready, new_run, only_here, working
from worker.cli.traffic import send_traffic
from worker.generator import World
from worker.service import Worker
from worker.settings import Settings, load_settings


@command
def dev(
    rate: Annotated[float, typer.Option(min=0.1, max=50_000, help="Matches a second.")] = 20,
    players: Annotated[int, typer.Option(min=2, help="How many players play them.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same players.")] = 1,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the topics, when they are created.")] = 12,
    yes: Annotated[bool, typer.Option("--yes", help="Also where Kafka or Postgres is not on this machine.")] = False,
) -> None:
    """Run a worker under steady made-up traffic, until Ctrl-C.

    Makes the database and the topics ready first. The status page, metrics and health are served on RATING_HTTP_PORT.
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
            say(f"  to look at: {worker.http.url}/  (also {worker.http.url}/metrics and {worker.http.url}/readyz)")
            say(f"  export RATING_KAFKA_BOOTSTRAP={settings.kafka_bootstrap}")
            say(f"  export RATING_DATABASE_URL={settings.database_url}")
            say("  rating-worker leaderboard yi; rating-worker player amina-01")
            with status() as show:
                await send_traffic(world, sender, rate, stop, lambda: show(f"{sender.sent} sent, {_totals(worker)}"))
    say(f"Stopped: {_totals(worker)}.")


def _totals(worker: Worker) -> str:
    totals = worker.pipeline.totals if worker.pipeline else {}
    names = {"rated": "rated", "unrated": "not rated", "resent": "repeats", "dead_lettered": "dead letters"}
    return ", ".join(f"{totals.get(key, 0)} {name}" for key, name in names.items())
