"""The commands, put together."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from typing import Annotated

import typer

from worker import __version__
from worker.cli import check, demo, dev, look, prepare, produce, rate, serve
from worker.cli.exits import MEANINGS

_EXIT_CODES = "\n\n".join(["Exit codes:", *(f"{code.value}: {meaning}" for code, meaning in MEANINGS.items())])

app = typer.Typer(
    name="rating-worker",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)

_WORK, _SETUP, _LOOK, _TRY = "The worker", "Before it starts", "Looking at ratings", "Trying things out"

app.command("run", rich_help_panel=_WORK)(serve.run_worker)
app.command("migrate", rich_help_panel=_SETUP)(prepare.migrate_database)
app.command("topics", rich_help_panel=_SETUP)(prepare.topics)
app.command("settings", rich_help_panel=_SETUP)(prepare.settings_)
app.command("check", rich_help_panel=_SETUP)(check.check)
app.command("leaderboard", rich_help_panel=_LOOK)(look.leaderboard)
app.command("player", rich_help_panel=_LOOK)(look.player)
app.command("explain", rich_help_panel=_LOOK)(look.explain_match)
app.command("produce", rich_help_panel=_TRY)(produce.produce)
app.command("rate", rich_help_panel=_TRY)(rate.rate)
app.command("demo", rich_help_panel=_TRY)(demo.demo)
app.command("dev", rich_help_panel=_TRY)(dev.dev)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rating-worker {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Rate matches that come through Kafka: Elo, exactly once, every number explained.

    Settings come from the environment (`rating-worker settings` lists them).
    """
