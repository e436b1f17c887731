"""The command line under given settings, on the real servers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import urlsplit

import asyncpg
from typer.testing import CliRunner

from tests.support.processes import ROOT, environment_of
from tests.support.waiting import until
from worker.cli import app
from worker.cli.topic_facts import topic_facts
from worker.stream.topics import wanted

if TYPE_CHECKING:
    from worker.settings import Settings


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Parse its standard output."""
        assert self.out, self.err
        return json.loads(self.out)


async def start(settings: Settings, *arguments: object, **overrides: str) -> asyncio.subprocess.Process:
    """Start a command under these settings, in a process of its own."""
    return await start_into(asyncio.subprocess.PIPE, settings, *arguments, **overrides)


async def start_into(
    stdout: int, settings: Settings, *arguments: object, **overrides: str
) -> asyncio.subprocess.Process:
    """Start a command whose standard output is an open file."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker", *map(str, arguments)),
        cwd=ROOT,
        env=os.environ | environment_of(settings) | overrides,
        stdin=asyncio.subprocess.PIPE,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )


async def cli(settings: Settings, *arguments: object, stdin: bytes | str = b"", **overrides: str) -> Ended:
    """Run a command to its end: in a thread of this process, which saves a second of imports."""
    environment = environment_of(settings) | overrides

    def invoke() -> Ended:
        # Logging is the process's, not the command's: set up here it would reach into other tests.
        with patch("worker.cli.exits.quiet"):
            result = CliRunner().invoke(app, [str(one) for one in arguments], input=stdin, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    return await asyncio.to_thread(invoke)


async def cli_process(settings: Settings, *arguments: object, **overrides: str) -> Ended:
    """Run a command to its end in a process of its own; whatever it says, it never shows a traceback alone."""
    process = await start(settings, *arguments, **overrides)
    out, err = await process.communicate()
    assert process.returncode is not None
    assert b"Traceback" not in out + err
    return Ended(process.returncode, out.decode(), err.decode())


async def sql(settings: Settings, statement: str, *values: object) -> Any:
    """Run a statement in the test's database; its first value."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        return await connection.fetchval(statement, *values)
    finally:
        await connection.close()


async def seen(settings: Settings) -> Settings:
    """Wait until the broker shows the topics: it answers that they are made before it does."""

    async def all_there() -> bool:
        return len(await topic_facts(settings)) == len(wanted(settings))

    await until(all_there, 30)
    return settings


def url_of(settings: Settings, *, login: str = "rating", database: str | None = None) -> str:
    """Give the test's database URL with another login or database."""
    parts = urlsplit(settings.database_url.get_secret_value())
    return f"postgresql://{login}@{parts.hostname}:{parts.port}/{database or parts.path[1:]}"


def role(settings: Settings) -> str:
    """Name a role of this test alone: roles are the server's, not the database's."""
    return settings.consumer_group.removesuffix(".group")
