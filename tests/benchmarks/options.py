"""What can be asked for on the command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.contenders import contenders
from tests.benchmarks.stream import MOST
from tests.benchmarks.throughput import WARM_UP
from tests.support.processes import ROOT

_DEFAULT_OUT = ROOT / ".local" / "bench" / "result.json"


@dataclass(frozen=True)
class Options:
    """The command line, with `--quick` already applied."""

    out: Path
    only: tuple[str, ...]
    matches: int
    runs: int
    batches: tuple[int, ...]
    players: int
    latency: bool
    loads: tuple[float, ...]
    load_seconds: float
    growth: bool
    full: bool
    workers: tuple[int, ...]
    profile: bool


def parse(arguments: list[str] | None = None) -> Options:
    """Read the command line; ends the process where it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=(
            "Measure this worker against the floor (the same rows and records with nothing of ours) and against a "
            "straightforward consumer, side by side in one run, on the stack that the environment names."
        ),
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="a couple of minutes: fewer matches, one run, one batch size, short loads")
    add(
        "--out", type=Path, default=_DEFAULT_OUT, help="JSON file; the plot is written beside it (default: %(default)s)"
    )
    add("--only", action="append", default=[], metavar="NAME", help="contenders with this in their name; repeatable")
    add("--matches", type=int, help="timed matches a run (default: 100,000; quick: 20,000); slow contenders get fewer")
    add("--runs", type=int, help="runs of each contender, interleaved; the median counts (default: 3; quick: 1)")
    add("--batch-sizes", type=_ints, help="records in a batch, separated by commas (default: 2000,5000; quick: 2000)")
    add("--players", type=int, default=20_000, help="players in the stream (default: %(default)s)")
    add(
        "--latency", action=argparse.BooleanOptionalAction, default=True, help="measure latency at steady loads as well"
    )
    add("--loads", type=_floats, default=(500.0, 2_000.0), help="matches a second, beside idle (default: 500,2000)")
    add("--growth", action="store_true", help="instead: the worker on tables that are large already")
    add("--full", action="store_true", help="with --growth: up to 10^7 rows (many minutes, 30 GB of disk)")
    add("--workers", type=_ints, default=(), help="instead: so many workers on one database, such as 1,2,4")
    add("--profile", action="store_true", help="run the worker under cProfile; the .pstats lie beside the logs")
    given = parser.parse_args(arguments)
    batches = given.batch_sizes or ((2_000,) if given.quick else (2_000, 5_000))
    for name in given.only:
        if not contenders(batches, (name,)):
            parser.error(f"--only {name}: there are {', '.join(one.title for one in contenders(batches))}")
    matches = given.matches or (20_000 if given.quick else 100_000)
    most = (MOST - WARM_UP) // (2 if given.growth else 1)  # growth warms up with as many
    if matches > most:
        parser.error(f"--matches {matches}: at most {most}, or the first players are inactive by now")
    return Options(
        out=given.out,
        only=tuple(given.only),
        matches=matches,
        runs=given.runs or (1 if given.quick else 3),
        batches=batches,
        players=given.players,
        latency=given.latency,
        loads=given.loads,
        load_seconds=5.0 if given.quick else 15.0,
        growth=given.growth,
        full=given.full,
        workers=given.workers,
        profile=given.profile,
    )


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _floats(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))
