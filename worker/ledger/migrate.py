"""Migrations: numbered SQL files under migrations/versions, run in order by Alembic.

Each revision is a pair of .sql files and a few lines of Python that name them. Alembic keeps the version in
`alembic_version`; a Postgres advisory lock keeps two migrating processes apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
from alembic import command, op
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_FOLDER = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x72617465  # "rate": any number that no other program on this database uses


async def migrate(database_url: str, *, revision: str = "head") -> tuple[str | None, str | None]:
    """Bring the database's schema to `revision`.

    Args:
        database_url: A postgresql:// URL of a role that may create tables.
        revision: A revision such as `0001`, `base`, or `head` for the newest.

    Returns:
        The revisions before and after; None stands for an empty database.
    """

    def run(connection: Connection) -> tuple[str | None, str | None]:
        connection.execute(text("select pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
        connection.commit()
        config = _config()
        config.attributes["connection"] = connection
        before = MigrationContext.configure(connection).get_current_revision()
        if revision == "head" or _is_ahead(revision, before):
            command.upgrade(config, revision)
        else:
            command.downgrade(config, revision)
        connection.commit()
        return before, MigrationContext.configure(connection).get_current_revision()

    # asyncpg reads the URL itself, so that TLS and the like mean here what they mean to the worker.
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(database_url), poolclass=NullPool
    )
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(run)  # closing the connection lets the advisory lock go
    finally:
        await engine.dispose()


def run_sql_file(name: str) -> None:
    """Run one .sql file of migrations/versions, whole, inside Alembic's transaction (called by the revisions)."""
    sql = (_FOLDER / "versions" / name).read_text(encoding="utf-8")
    connection = op.get_bind().connection.dbapi_connection
    if connection is None:
        raise RuntimeError("a migration needs a live connection")
    # asyncpg's own execute takes many statements at once; SQLAlchemy's prepares one.
    connection.run_async(lambda raw: raw.execute(sql))


def _is_ahead(revision: str, current: str | None) -> bool:
    if revision == "base":
        return False
    order = [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]
    if revision not in order:
        raise ValueError(f"no migration {revision!r}: there are {', '.join(order)}, `base` and `head`")
    return current is None or order.index(revision) > order.index(current)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
