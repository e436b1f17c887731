"""`python -m deploy.local run -- python -m tests.benchmarks.footprint`: what a match leaves on disk.

A worker rates a stream; then Postgres is asked how large each table and its indices are and how much WAL was written,
and Kafka's folder how large the topics are. All in bytes a match.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tests.benchmarks import stream, throughput
from tests.benchmarks.arena import Stack, StackMissingError, arena, run_sql
from tests.benchmarks.contenders import EXACTLY_ONCE, worker
from tests.support.processes import ROOT

if TYPE_CHECKING:
    from worker.settings import Settings

_BATCH = 2_000
_LOGS = ROOT / ".local" / "bench" / "logs"
_SIZES = """
select json_object_agg(relname, json_build_array(pg_relation_size(oid), pg_indexes_size(oid)))
from pg_class
where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_total_relation_size(oid) > 100000
"""


def main() -> int:
    """Run, print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.footprint", description=__doc__)
    parser.add_argument("--matches", type=int, default=200_000)
    parser.add_argument("--players", type=int, default=20_000)
    given = parser.parse_args()
    try:
        stack = Stack.from_environment()
    except StackMissingError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    contender = worker(EXACTLY_ONCE, _BATCH)
    records = stream.records(given.matches, players=given.players)
    with arena(stack, "footprint", **contender.overrides) as settings:
        url = settings.database_url.get_secret_value()
        before = run_sql(url, "select pg_current_wal_lsn()::text")
        throughput.measure_in(stack, settings, contender, records, _LOGS)
        wal = run_sql(url, f"select pg_wal_lsn_diff(pg_current_wal_lsn(), '{before}')::bigint")
        table = Table("what", "bytes a match", title=f"{given.matches:,} matches of {given.players:,} players")
        for name, size in [*_tables(url), ("Postgres: WAL", wal), *_topics(stack, settings)]:
            table.add_row(name, f"{size / given.matches:,.0f}")
    Console().print(table)
    return 0


def _tables(url: str) -> list[tuple[str, int]]:
    found: dict[str, tuple[int, int]] = json.loads(run_sql(url, _SIZES))
    return [
        (f"Postgres: {name}, {kind}", size)
        for name, (rows, indices) in sorted(found.items())
        for kind, size in (("rows", rows), ("indices", indices))
    ]


def _topics(stack: Stack, settings: Settings) -> list[tuple[str, int]]:
    """Give the size of each topic's log, if this machine runs the broker."""
    if stack.kafka_pid is None:
        return []
    process = Path(f"/proc/{stack.kafka_pid}")
    folder = (process / "cwd").resolve()
    given = (process / "cmdline").read_bytes().decode().split("\0")
    properties = folder / next(one for one in reversed(given) if one.endswith(".properties"))
    logs = next(line.split("=", 1)[1] for line in properties.read_text().splitlines() if line.startswith("log.dirs="))
    return [
        (f"Kafka: {what}", sum(file.stat().st_size for file in (folder / logs).glob(f"{topic}-*/*.log")))
        for what, topic in (("matches", settings.match_topic), ("changes", settings.rating_topic))
    ]


if __name__ == "__main__":
    sys.exit(main())
