"""A disk that is full, for one server alone: no file of it may grow beyond a size. No right and no mount is needed."""

from __future__ import annotations

import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from deploy.local import Postgres

_LARGEST_FILE = 16 * 1024 * 1024  # as large as those of its log (WAL), which are to find room
_ROOM = 256 * 1024
# What is deleted leaves its room taken, as nobody vacuums.
_FILL = """
    alter table ledger set (autovacuum_enabled = off);
    do $$
    declare
        number bigint = 0;
    begin
        while pg_relation_size('ledger') < {size} loop
            number = number + 1;
            insert into ledger (rating_id, version, match_id, reason, before, after, delta, weight, games, policy_id,
                                occurred_at)
            values (-number, 1, repeat('x', 1900), 'match', 0, 0, 0, 1, 0, 0, now());
        end loop;
    end $$;
    delete from ledger where rating_id < 0;
"""
_REFUSE = """
    create function full_disk() returns trigger language plpgsql as $$
    begin
        raise 'could not extend file: No space left on device' using errcode = 'disk_full';
    end $$;
    create trigger full_disk before insert on ledger for each statement execute function full_disk();
"""


@asynccontextmanager
async def nearly_full_disk(postgres: Postgres, url: str) -> AsyncIterator[None]:
    """Fill the ledger of a database up to a little room, and let no file of the server grow beyond that for the block.

    Args:
        postgres: The server; its other files have room enough.
        url: The database, migrated.
    """
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_FILL.format(size=_LARGEST_FILE - _ROOM))
        assert await connection.fetchval("select pg_relation_size('ledger')") < _LARGEST_FILE
    finally:
        await connection.close()
    _limit(postgres, str(_LARGEST_FILE))
    try:
        yield
    finally:
        _limit(postgres, "unlimited")


@asynccontextmanager
async def nothing_more_fits(url: str) -> AsyncIterator[None]:
    """Have Postgres answer every write to the ledger of a database as it does where a file system has no room left.

    A limit on files gives another error than a file system does.
    """
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_REFUSE)
        yield
        await connection.execute("drop trigger full_disk on ledger")
    finally:
        await connection.close()


def _limit(postgres: Postgres, size: str) -> None:
    """Set the soft limit of every process of the server, as its user: so neither this nor the way back takes a right.

    Later processes inherit it.
    """
    main = (postgres.folder / "data" / "postmaster.pid").read_text().split()[0]
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        server = Path(f"/proc/{main}").stat()
        user = {"user": server.st_uid, "group": server.st_gid, "extra_groups": []}
    for pid in (main, *Path(f"/proc/{main}/task/{main}/children").read_text().split()):
        command = ["prlimit", f"--pid={pid}", f"--fsize={size}:"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **user)  # noqa: S603
        assert done.returncode == 0 or not Path(f"/proc/{pid}").exists(), done.stderr  # a session may end meanwhile
