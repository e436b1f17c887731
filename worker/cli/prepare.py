"""`migrate`, `topics` and `settings`: what an operator does before the first worker runs."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import re
import sys
from typing import Annotated

import asyncpg
import typer
from alembic.util import CommandError as AlembicError
from sqlalchemy.exc import DBAPIError

from worker.cli.exits import CommandError, Exit, command, described, reaching_kafka
from worker.cli.output import cell, console, print_json, say, table
from worker.cli.running import postgres, run
from worker.cli.topic_facts import TopicFact, topic_facts
from worker.ledger.migrate import migrate
from worker.settings import Settings, load_settings, settings_table
from worker.stream.topics import create_topics, wanted

_BASE = "base"
_CELL = re.compile(r"(?<!\\)\|")  # a bar inside a cell is escaped


@command
def migrate_database(
    revision: Annotated[
        str, typer.Option(help="Migrate to this revision, such as 0001; `base` takes every table away.")
    ] = "head",
    yes: Annotated[
        bool, typer.Option("--yes", help="Go back to an older revision, and lose what it has no room for.")
    ] = False,
) -> None:
    """Bring the database's tables to what this version of the worker needs.

    The role in RATING_DATABASE_URL must be allowed to create tables. Run twice, or by two at once, it does its work
    once.
    """
    settings = load_settings()
    before, after = run(_migrate(settings, revision, allowed_back=yes))
    say(
        f"The database was {before or 'empty'} and is {after or 'empty'} now."
        if before != after
        else f"Nothing to do: the database is {after or 'empty'}."
    )


async def _migrate(settings: Settings, revision: str, *, allowed_back: bool) -> tuple[str | None, str | None]:
    async with postgres(settings, migrated=False) as connection:  # says what is wrong with the way there
        try:
            current = await connection.fetchval("select version_num from alembic_version")
        except asyncpg.UndefinedTableError:
            current = None
    if current is not None and not allowed_back and (revision == _BASE or revision < current):
        raise CommandError(
            f"The database is {current}: going back to {revision} destroys data. If that is meant, add --yes.",
            Exit.USAGE,
        )
    try:
        return await migrate(settings.database_url.get_secret_value(), revision=revision)
    except ValueError as error:
        raise CommandError(described(error), Exit.USAGE) from error
    except AlembicError as error:
        raise CommandError(
            f"The database's revision {current} is none that this version of the worker knows: {described(error)}. "
            "Use the version of the worker that migrated it, or a newer one.",
            Exit.CONFIG,
        ) from error
    except (asyncpg.PostgresError, DBAPIError) as error:
        raise CommandError(
            f"Postgres refuses the migration: {described(error)}. Nothing was changed.", Exit.CONFIG
        ) from error


@command
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create the topics that are missing.")] = False,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of the match and rating topics, when created.")
    ] = 12,
    replicas: Annotated[int, typer.Option(min=1, help="Replicas of each topic, when created.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the topics that the worker needs, or create those that are missing.

    Ends with 78 while one is missing.
    """
    settings = load_settings()
    made, facts = run(_topics(settings, partitions if create else None, replicas))
    missing = [name for name in wanted(settings) if name not in facts]
    if as_json:
        print_json({"topics": [fact.as_json() for fact in facts.values()], "missing": missing, "created": made})
    else:
        shown = table("topic", "partitions", "replicas", "", numbers=("partitions", "replicas"))
        for name in wanted(settings):
            fact = facts.get(name)
            state = "created" if name in made else "missing" if fact is None else ""
            shown.add_row(
                cell(name),
                cell(fact.partitions if fact else "-"),
                cell(fact.replicas if fact else "-"),
                cell(state, "red" if fact is None else "green"),
            )
        console().print(shown)
    if missing:
        raise CommandError(f"Missing: {', '.join(missing)}. `rating-worker topics --create` makes them.", Exit.CONFIG)


async def _topics(settings: Settings, partitions: int | None, replicas: int) -> tuple[list[str], dict[str, TopicFact]]:
    with reaching_kafka(settings):
        made = [] if partitions is None else await create_topics(settings, partitions=partitions, replicas=replicas)
        return made, await topic_facts(settings)


@command
def settings_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print every setting: its variable, default, what is allowed and what it means, as a Markdown table."""
    markdown = settings_table()
    if not as_json:
        sys.stdout.write(markdown)
        return
    header, _, *rows = ([cell.strip(" `") for cell in _CELL.split(line)[1:-1]] for line in markdown.splitlines())
    names = [name.lower() for name in header]
    print_json([dict(zip(names, row, strict=True)) for row in rows])
