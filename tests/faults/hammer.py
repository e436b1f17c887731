"""`python -m tests.faults.hammer`: two workers over the same ten players, every batch of each against the other's.

All matches are of one pool, so each batch locks nearly all of the ten, and the workers wait for each other again and
again. What is looked for: a deadlock that anybody gets to see, and what the waiting costs.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
from rich.console import Console
from rich.table import Table

from deploy.local import Stack
from tests.support.checker import Findings, check
from tests.support.kafka import until_all_committed
from tests.support.load import Load
from tests.support.places import prepared
from tests.support.processes import WorkerProcess
from tests.support.workers import stop

if TYPE_CHECKING:
    from worker.settings import Settings

_PLAYERS = 10
_RETRIES = re.compile(r'^rating_retries_total\{kind="([a-z]+)"\} (\S+)$', re.MULTILINE)
_LOUD = {"warning", "error", "critical"}


@dataclass(frozen=True)
class Hammered:
    """What came of it.

    Attributes:
        matches: How many were rated while it was measured.
        seconds: How long that took.
        retries: How often a batch was tried again, by kind.
        deadlocks: The log lines at warning or above that speak of one.
        findings: The checker's.
    """

    matches: int
    seconds: float
    retries: Counter[str]
    deadlocks: list[str]
    findings: Findings


async def hammer(settings: Settings, logs: Path, seconds: float, batch: int = 100) -> Hammered:
    """Let two workers rate matches of the same ten players for some seconds, then check all of it."""
    load = Load(settings, seed=71, players=_PLAYERS, pools=("yi",))
    running = [
        WorkerProcess(
            settings,
            logs / f"{number}.log",
            RATING_INSTANCE_ID=f"hammer-{number}",
            RATING_BATCH_MAX_RECORDS=str(batch),
        )
        for number in range(2)
    ]
    async with running[0], running[1]:
        for worker in running:
            await worker.until_logged("partitions assigned")
        await load.send(batch)
        await until_all_committed(settings)
        started, before = time.monotonic(), len(load.sent)
        async with load.flowing(at_a_time=10 * batch, ahead=40 * batch):
            await asyncio.sleep(seconds)  # the length of the run
        await until_all_committed(settings)
        took, matches = time.monotonic() - started, len(load.sent) - before
        retries = sum([await _retries(worker) for worker in running], Counter())
        await stop(*running)
    deadlocks = [
        str(line)
        for worker in running
        for line in worker.events()
        if line.get("level") in _LOUD and "deadlock" in str(line).lower()
    ]
    return Hammered(matches, took, retries, deadlocks, await check(settings, load.sent))


async def _retries(worker: WorkerProcess) -> Counter[str]:
    url = next(line["url"] for line in worker.events() if "url" in line)
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        text = await answer.text()
    return Counter({kind: int(float(count)) for kind, count in _RETRIES.findall(text)})


async def _run(seconds: float, batch: int) -> Hammered:
    with Stack() as stack:
        settings = await prepared(stack.bootstrap, stack.create_database("hammer"), "hammer")
        return await hammer(settings, Path(tempfile.mkdtemp(prefix="hammer-")), seconds, batch=batch)


def main() -> int:
    """Hammer, and print what came of it; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.hammer", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--batch", type=int, default=100, help="RATING_BATCH_MAX_RECORDS")
    given = parser.parse_args()
    done = asyncio.run(_run(given.seconds, given.batch))
    wrong = done.findings.wrong()
    table = Table("what", "figure", title=f"two workers, {_PLAYERS} players")
    for name, figure in (
        ("matches", done.matches),
        ("seconds", f"{done.seconds:.0f}"),
        ("matches/s", f"{done.matches / done.seconds:.0f}"),
        *((f"tried again: {kind}", count) for kind, count in sorted(done.retries.items())),
        ("deadlocks in logs", len(done.deadlocks)),
        ("findings", wrong or "none"),
    ):
        table.add_row(name, str(figure))
    Console().print(table)
    return bool(wrong or done.deadlocks)


if __name__ == "__main__":
    sys.exit(main())
