"""What the compose file starts of ours, started: its commands with its settings, against real servers."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg

from deploy.local import Stack
from deploy.local.ports import Port
from tests.deploy.composition import FOLDER, SERVICES, environment, mounts
from tests.support.processes import ROOT
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_ENDS_WITHIN_S, _HAPPENS_WITHIN_S = 60, 60
_INIT = "/docker-entrypoint-initdb.d/"


async def test_one_command_and_matches_are_rated() -> None:
    """Roles, tables, topics, a healthy worker and a generator: matches get rated, and all of them stop in order."""
    with Stack() as stack:
        await _initialise(stack)
        for name in ("migrate", "topics"):
            async with _running(name, stack) as process:
                log = await asyncio.wait_for(_log_of(process), _ENDS_WITHIN_S)
                assert process.returncode == 0, log
        port = Port()
        http = {"RATING_HTTP_PORT": str(port.number)}
        async with AsyncExitStack() as started:
            worker = await started.enter_async_context(_running("worker", stack, **http))
            generator = await started.enter_async_context(_running("generator", stack, **http))
            await until(lambda: _well(stack, "/readyz", http), _HAPPENS_WITHIN_S)
            assert await _well(stack, "/healthz", http)
            await until(lambda: _rated(stack, 100), _HAPPENS_WITHIN_S)
            for process in (generator, worker):
                process.send_signal(signal.SIGTERM)
            for process in (generator, worker):
                log = await asyncio.wait_for(_log_of(process), _ENDS_WITHIN_S)
                assert process.returncode == 0, log
                assert "Traceback" not in log
        assert not await _well(stack, "/healthz", http), "the health check would say so of anything"
        port.release()


async def _initialise(stack: Stack) -> None:
    """Run what Postgres' container runs for a new database, in its order."""
    scripts = {there: here for there, here in mounts("postgres").items() if there.startswith(_INIT)}
    connection = await asyncpg.connect(stack.dsn)
    try:
        for _, here in sorted(scripts.items()):
            await connection.execute((FOLDER / here).read_text(encoding="utf-8"))
    finally:
        await connection.close()
    assert len(scripts) == 2


@asynccontextmanager
async def _running(name: str, stack: Stack, **overrides: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a service's command with its settings; it is killed if it still runs after the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker", *SERVICES[name]["command"]),
        cwd=ROOT,
        env=_environment(name, stack) | overrides,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _log_of(process: asyncio.subprocess.Process) -> str:
    log, _ = await process.communicate()
    return log.decode()


def _environment(name: str, stack: Stack) -> dict[str, str]:
    """A service's environment, with our servers in the place of the containers."""
    postgres = urlsplit(stack.dsn).netloc.rpartition("@")[2]
    return os.environ | {
        variable: value.replace("kafka:9092", stack.bootstrap).replace("postgres:5432", postgres)
        for variable, value in environment(name).items()
    }


async def _well(stack: Stack, path: str, http: dict[str, str]) -> bool:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "deploy" / "container" / "healthcheck.py"), path),
        env=_environment("worker", stack) | http,
        stdout=asyncio.subprocess.DEVNULL,
    )
    return await process.wait() == 0


async def _rated(stack: Stack, matches: int) -> bool:
    connection = await asyncpg.connect(stack.dsn, user="rating_reader")
    try:
        return bool(await connection.fetchval("select count(*) >= $1 from matches", matches))
    finally:
        await connection.close()
