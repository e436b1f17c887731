"""`integrity`: the evidence behind signals of manipulation, for whoever decides."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from typing import Annotated

import typer

from worker.cli.exits import command
from worker.cli.output import console, print_json
from worker.cli.render_integrity import print_review, review_json
from worker.cli.review import review
from worker.cli.running import run
from worker.rating.signals import Signal
from worker.settings import load_settings


@command
def integrity(
    player_id: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    kind: Annotated[
        Signal | None, typer.Option(metavar="SIGNAL", help=f"Only this one of {', '.join(Signal)}.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, max=100, help="How many published signals at most.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every number exact.")] = False,
) -> None:
    """Show what looks like manipulation around a player: the figures, the thresholds, and the matches behind them.

    First what the ledger gives now, by the rules of now and the player's latest games, whether it has been published
    or not. Then the signals that were published: those about the player, and those that name them as the other one.

    A signal is no verdict. The worker changes no rating for it; verdicts come in on the verdict topic.
    """
    settings = load_settings()
    found = run(review(settings, player_id, pool, kind, limit))
    if as_json:
        print_json(review_json(player_id, found))
    else:
        print_review(console(), player_id, found)
