"""The table that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable

from tests.benchmarks.contenders import EXACTLY_ONCE
from tests.benchmarks.latency import IDLE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.results import Result, Table

_WIDTH = 190  # where the output is no terminal, so that a log or a file has whole lines
_NONE = "–"


def console(*, stderr: bool = False) -> Console:
    """Make the console that the benchmark writes to."""
    plain = Console(stderr=stderr)
    return plain if plain.is_terminal else Console(stderr=stderr, width=_WIDTH)


def show(table: Table, loads: Sequence[float]) -> None:
    """Print the table."""
    out = console()
    shown = RichTable(title="Side by side, one run, the same stream and stack")
    shown.add_column("contender")
    for heading in ("matches/s", "±", "× floor", "× one", "× 16", "CPU own", "postgres", "kafka", "peak MB"):
        shown.add_column(heading, justify="right")
    measured = any(result.latencies or result.overloads for result in table.results)
    if measured:
        for rate in (IDLE_RATE, *loads):
            shown.add_column("idle ms" if rate == IDLE_RATE else f"{rate:,.0f}/s ms", justify="right")
    for result in table.results:
        ratios = table.ratios(result)
        cells = [
            f"{result.contender.title}{result.note}",
            f"{result.rate:,.0f}",
            f"{result.spread / 2:.0%}",
            *(
                _figure(ratios[name], ".2f" if name == "floor" else ".1f")
                for name in ("floor", "sequential", "sixteen")
            ),
            *(_figure(result.cpu(process), ".3f") for process in ("worker", "postgres", "kafka")),
            _NONE if result.contender.needs_reference else f"{result.peak_mb:.0f}",
        ]
        if measured:
            cells += [_latency(result, rate) for rate in (IDLE_RATE, *loads)]
        shown.add_row(*cells)
    shown.caption = (
        "matches/s: median of the runs, ±: half of their spread. CPU: seconds in 1,000 matches, by process. "
        "ms: p50 / p99 from produced to seen by a read_committed reader."
    )
    out.print(shown)
    _show_stages(table)
    out.print(summary(table))


def summary(table: Table) -> str:
    """Say in one line what counts."""
    ours = [result for result in table.results if result.contender.name == EXACTLY_ONCE]
    if not ours:
        return "Nothing of the worker's was measured."
    best = max(ours, key=lambda result: result.rate)
    ratios = table.ratios(best)
    parts = [f"{best.contender.title}: {best.rate:,.0f} matches/s"]
    for name, text in (("sequential", "one at a time"), ("sixteen", "16 at a time"), ("floor", "the floor")):
        ratio = ratios[name]
        if ratio is not None:
            parts.append(f"{ratio:.2f} of {text}" if name == "floor" else f"{ratio:.1f} x {text}")
    parts.append(f"{best.peak_mb:.0f} MB")
    for result in ours:
        for latency in result.latencies:
            if latency.p50 is not None and latency.p99 is not None:
                load = "idle" if latency.rate == IDLE_RATE else f"{latency.rate:,.0f}/s"
                parts.append(f"{load} p50 {latency.p50:.0f} p99 {latency.p99:.0f} ms")
    return "; ".join(parts)


def _show_stages(table: Table) -> None:
    """Print where the worker's own time goes, as its metrics say."""
    ours = [result for result in table.results if result.contender.is_worker]
    if not ours:
        return
    stages = list(dict.fromkeys(stage for result in ours for stage in result.stages()))
    shown = RichTable(title="The worker's stages, microseconds a match (they overlap and contain each other)")
    shown.add_column("contender")
    for heading in (*stages, "records a batch"):
        shown.add_column(heading, justify="right")
    for result in ours:
        took = result.stages()
        batch = result.runs[-1].mean_batch
        cells = [f"{took.get(stage, 0.0):.1f}" for stage in stages]
        shown.add_row(f"{result.contender.title}{result.note}", *cells, _figure(batch, ",.0f"))
    console().print(shown)


def _latency(result: Result, rate: float) -> str:
    if rate in result.overloads:
        return "too much"
    latency = result.latency_at(rate)
    if latency is None:
        return _NONE
    if latency.p50 is None or latency.p99 is None:
        return "fell behind"
    return f"{latency.p50:.0f} / {latency.p99:.0f}"


def _figure(value: float | None, form: str) -> str:
    return _NONE if value is None else format(value, form)
