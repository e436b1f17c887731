"""The commands, put together; the module of each is imported when it is asked for.

Some stand on much (Alembic, aiohttp, aiokafka) and take a second to import; `rate` stands on little and need not wait.
"""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from worker import __version__
from worker.cli.exits import MEANINGS, writing
from worker.cli.parameters import in_words

_EXIT_CODES = "\n\n".join(["Exit codes:", *(f"- {code.value}: {meaning}" for code, meaning in MEANINGS.items())])
_OPTIONS = {"help_option_names": ["-h", "--help"]}
_STYLE: dict[str, Any] = {
    "context_settings": _OPTIONS,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",  # which fills paragraphs to the terminal's width
}


class _Where(NamedTuple):
    panel: str
    module: str
    name: str


_WORK, _SETUP, _LOOK = "The worker", "Before it starts", "Looking at ratings"
_RULES, _TRY = "Rules and verdicts", "Trying things out"
_COMMANDS = {
    "run": _Where(_WORK, "serve", "run_worker"),
    "dead-letters": _Where(_WORK, "dead_letters", "dead_letters"),
    "migrate": _Where(_SETUP, "migrate", "migrate_database"),
    "topics": _Where(_SETUP, "topics", "topics"),
    "check": _Where(_SETUP, "check", "check"),
    "settings": _Where(_SETUP, "describe", "describe_settings"),
    "leaderboard": _Where(_LOOK, "look", "leaderboard"),
    "player": _Where(_LOOK, "look", "player"),
    "explain": _Where(_LOOK, "look", "explain_match"),
    "verify": _Where(_LOOK, "verify", "verify_database"),
    "policy": _Where(_RULES, "policy", "policy"),
    "sanctions": _Where(_RULES, "sanctions", "sanctions"),
    "integrity": _Where(_RULES, "integrity", "integrity"),
    "rate": _Where(_TRY, "rate", "rate"),
    "produce": _Where(_TRY, "produce", "produce"),
    "generate": _Where(_TRY, "generate", "generate"),
    "demo": _Where(_TRY, "demo", "demo"),
    "dev": _Where(_TRY, "dev", "dev"),
}


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = in_words(error)
            raise

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: Any, name: str) -> Any:
        where = _COMMANDS.get(name)
        if where is None:
            return None
        found = getattr(import_module(f"worker.cli.{where.module}"), where.name)
        if isinstance(found, typer.Typer):  # a group of commands
            alone = typer.Typer(**_STYLE)
            alone.add_typer(found, name=name, rich_help_panel=where.panel, context_settings=_OPTIONS)
            return typer.main.get_group(alone).commands[name]
        alone = typer.Typer(add_completion=False, **_STYLE)
        alone.command(name, rich_help_panel=where.panel)(found)
        return typer.main.get_command(alone)


app = typer.Typer(cls=_Commands, no_args_is_help=True, epilog=_EXIT_CODES, **_STYLE)


def _version(wanted: bool) -> None:
    if wanted:
        with writing():
            sys.stdout.write(f"rating-worker {__version__}\n")
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
