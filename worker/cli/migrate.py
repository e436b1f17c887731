"""`migrate`: the database's tables."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from collections.abc import Mapping
from typing import Annotated

import asyncpg
import typer
from alembic.util import CommandError as AlembicError
from sqlalchemy.exc import DBAPIError

from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import plain, say
from worker.cli.reaching import described, reaching_postgres
from worker.cli.running import run
from worker.ledger.migrate import migrate
from worker.ledger.rights import Kind, grant
from worker.settings import Settings, load_settings

_BASE, _HEAD = "base", "head"
_WHO = "select current_user::text, pg_get_userbyid(relowner)::text from pg_class where oid = 'ratings'::regclass"


@command
def migrate_database(
    revision: Annotated[
        str, typer.Option(help="Migrate to this revision, such as 0001; `base` takes every table away.")
    ] = _HEAD,
    yes: Annotated[
        bool, typer.Option("--yes", help="Go back to an older revision, and lose what it has no room for.")
    ] = False,
    grant_worker: Annotated[
        str | None, typer.Option(metavar="ROLE", help="Let this role do what workers do, and nothing else.")
    ] = None,
    grant_reader: Annotated[
        str | None, typer.Option(metavar="ROLE", help="Let this role look at ratings, and nothing else.")
    ] = None,
) -> None:
    """Bring the database's tables to what this version of the worker needs.

    The role in RATING_DATABASE_URL must be allowed to create tables. Run twice, or by two at once, it does its work
    once. Where workers have a role of their own, name it each time: a new version may need new rights.
    """
    settings = load_settings()
    roles = {kind: role for kind, role in ((Kind.WORKER, grant_worker), (Kind.READER, grant_reader)) if role}
    before, after = run(_migrate(settings, revision, roles, allowed_back=yes))
    say(
        f"The database was {before or 'empty'} and is {after or 'empty'} now."
        if before != after
        else f"Nothing to do: the database is {after or 'empty'}."
    )
    for kind, role in roles.items():
        say(f"The role {role} may do what a {kind.value} does, and nothing else.")


async def _migrate(
    settings: Settings, revision: str, roles: Mapping[Kind, str], *, allowed_back: bool
) -> tuple[str | None, str | None]:
    async with postgres(settings, migrated=False) as connection:  # says what is wrong with the way there
        ours = await connection.fetchval("select current_user::text")
        try:
            current = await connection.fetchval("select version_num from alembic_version")
        except asyncpg.UndefinedTableError:
            current = None
    back = revision == _BASE or (revision != _HEAD and current is not None and revision < current)
    if back and current is not None and not allowed_back:
        raise CommandError(
            f"The database is {current}: going back to {revision} destroys data. If that is meant, add --yes.",
            Exit.USAGE,
        )
    try:
        with reaching_postgres(settings):
            moved = await migrate(settings.database_url.get_secret_value(), revision=revision)
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
            f"Postgres refuses role {plain(ours)} the migration: {_words_of(error)}. Nothing was changed. Name a role "
            "that may create tables in RATING_DATABASE_URL, such as rating_owner of deploy/roles.sql, or mend what "
            "Postgres names.",
            Exit.CONFIG,
        ) from error
    for kind, role in roles.items():
        await _grant(settings, role, kind)
    return moved


def _words_of(error: Exception) -> str:
    """Give what Postgres said, without the statement and the links that SQLAlchemy puts around it."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    return described(error if cause is None else cause.__cause__ or cause)


async def _grant(settings: Settings, role: str, kind: Kind) -> None:
    async with postgres(settings, migrated=False) as connection:
        try:
            await grant(connection, role, kind)
        except asyncpg.UndefinedObjectError as error:
            raise CommandError(
                f"The rights were not given: {described(error)}. Create the role (deploy/roles.sql shows how), then do "
                "this again.",
                Exit.CONFIG,
            ) from error
        except asyncpg.InsufficientPrivilegeError as error:
            [(ours, owner)] = await connection.fetch(_WHO)
            raise CommandError(
                f"The rights of {plain(role)} were not given: {described(error)}. RATING_DATABASE_URL names the role "
                f"{plain(ours)}, and only {plain(owner)}, who owns the tables, can give them: name it there.",
                Exit.CONFIG,
            ) from error
