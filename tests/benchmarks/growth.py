"""Databases that hold many rows already, to see whether the worker slows down as they grow."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import asyncpg

from tests.benchmarks.arena import run_sql
from tests.benchmarks.stream import POOLS
from worker.ledger.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.benchmarks.arena import Stack

_PRELOAD = Path(__file__).with_name("preload.sql")


class Size(NamedTuple):
    """How many rows there are before the first match, and how many players still play.

    Who plays decides how many different players a batch has, and so how many rows it reads and writes, whatever the
    tables hold: with 10^4 of them those of a batch meet again and again, with 10^7 hardly one does.
    """

    ratings: int
    ledger: int
    active: int

    @property
    def title(self) -> str:
        """In powers of ten."""
        return f"{self.ratings:.0e} ratings, {self.ledger:.0e} ledger, {self.active:.0e} play".replace("e+0", "e")


def sizes(*, full: bool) -> list[Size]:
    """List what is measured; the sizes of `full` take minutes and gigabytes to make."""
    small, large = 10**4, 10**7
    some = [Size(small, 10**5, small), Size(10**6, 10**5, small), Size(10**6, 10**5, 10**6)]
    return [*some, Size(large, large, small), Size(large, large, large)] if full else some


@contextmanager
def templates(stack: Stack, wanted: Sequence[Size], say: Callable[[str], None]) -> Iterator[dict[Size, str]]:
    """Make a database for each size, to be copied for each run."""
    names: dict[tuple[int, int], str] = {}
    try:
        for size in wanted:
            if size[:2] in names:
                continue
            say(f"making a database for {size.title}")
            name = f"bench_template_{secrets.token_hex(3)}"
            run_sql(stack.database_url, f'create database "{name}"')
            names[size[:2]] = name
            asyncio.run(_fill(urlsplit(stack.database_url)._replace(path=f"/{name}").geturl(), size))
        yield {size: names[size[:2]] for size in wanted}
    finally:
        for name in names.values():
            run_sql(stack.database_url, f'drop database if exists "{name}" with (force)')


async def _fill(url: str, size: Size) -> None:
    await migrate(url)
    connection = await asyncpg.connect(url)
    try:
        await connection.executemany("insert into pools (name) values ($1)", [(pool,) for pool in POOLS])
        statements = (
            _PRELOAD.read_text("utf-8").replace(":ratings", str(size.ratings)).replace(":ledger", str(size.ledger))
        )
        await connection.execute(statements)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
