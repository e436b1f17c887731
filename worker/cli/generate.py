"""`generate`: made-up matches for a worker that runs elsewhere."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import asyncio
import signal
from typing import Annotated

import typer

from worker.cli.exits import command
from worker.cli.output import say, status
from worker.cli.reaching import reaching_kafka
from worker.cli.running import run
from worker.cli.sending import Sender, require_topics
from worker.cli.session import new_run, only_here
from worker.cli.traffic import send_traffic
from worker.generator import World
from worker.settings import Settings, load_settings


@command
def generate(
    rate: Annotated[float, typer.Option(min=0.1, max=50_000, help="Matches a second.")] = 20,
    players: Annotated[int, typer.Option(min=2, help="How many players play them.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same players.")] = 1,
    matches: Annotated[int | None, typer.Option(min=1, help="End after so many, instead of at Ctrl-C.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Also where Kafka is not on this machine.")] = False,
) -> None:
    """Send steady made-up traffic to the match topic, until Ctrl-C or SIGTERM.

    Matches, and now and then one that comes twice or can't be taken, so that there is something to see in each place.
    The topics have to be there, and workers to rate them are started apart (`dev` does all that by itself).
    """
    settings = load_settings()
    only_here(settings, meant=yes)
    run(_generate(settings, World(players, seed, new_run()), rate, matches))


async def _generate(settings: Settings, world: World, rate: float, matches: int | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with reaching_kafka(settings):
        await require_topics(settings, [settings.match_topic])
        async with Sender.open(settings) as sender:
            say(f"Sending {rate:g} matches a second to {settings.match_topic}; Ctrl-C stops it.")
            with status() as show:
                await send_traffic(world, sender, rate, stop, lambda: show(f"{sender.sent} records sent"), matches)
            say(f"Stopped: {sender.sent} records sent.")
