"""`python -m tests.benchmarks`: see `--help`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.benchmarks import facts, growth, latency, plot, report, results, stream, throughput
from tests.benchmarks.arena import Stack, StackMissingError, arena
from tests.benchmarks.broker import BrokerError
from tests.benchmarks.contenders import EXACTLY_ONCE, Contender, contenders, worker
from tests.benchmarks.options import Options, parse
from tests.benchmarks.results import Result, Table
from tests.benchmarks.running import RunFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.benchmarks.stream import Record
    from worker.settings import Settings

_OVERLOAD = 0.9  # of the measured throughput: a steady load above it would only show how long it lasted
_WARM_UP = 20_000


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for, print it and write it down; the exit code."""
    options = parse(arguments)
    say = report.console(stderr=True)
    try:
        stack = Stack.from_environment()
        about = {"machine": facts.machine(), "stack": stack.describe(), "options": vars(options)}
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=say, transient=True
        ) as progress:
            bench = Bench(stack, options, progress)
            if options.growth:
                measured = bench.growth()
            elif options.workers:
                measured = bench.several_workers()
            else:
                measured = bench.side_by_side()
    except (StackMissingError, BrokerError, RunFailedError) as error:
        say.print(str(error), markup=False)
        return 1
    table = Table(measured)
    results.save(options.out, about | {"took_s": bench.took()}, table)
    plot.save(options.out.with_suffix(".svg"), table)
    report.show(table, options.loads)
    say.print(f"written: {options.out} and {options.out.with_suffix('.svg').name}")
    return 0


class Bench:
    """One benchmark on one stack."""

    def __init__(self, stack: Stack, options: Options, progress: Progress) -> None:
        self._stack = stack
        self._options = options
        self._progress = progress
        self._task = progress.add_task("making the stream")
        self._logs = options.out.parent / "logs"
        self._started = time.monotonic()

    def took(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._started

    def side_by_side(self) -> list[Result]:
        """Time every contender, in turns, so that a machine that slows down slows all of them; then their latency."""
        options = self._options
        records = self._records(options.matches, options.players)
        measured = [Result(one) for one in contenders(options.batches, options.only, profiled=options.profile)]
        first = worker(EXACTLY_ONCE, options.batches[0])
        with arena(self._stack, "reference", **first.overrides) as reference:
            self._say("warming up the servers with a run that does not count")
            # What it wrote is what the floor writes; where there is no floor, a few matches are enough.
            written = records if any(one.contender.needs_reference for one in measured) else records[:_WARM_UP]
            throughput.measure_in(self._stack, reference, first, written, self._logs)
            self._in_turns(measured, lambda result: self._run(result.contender, records, reference))
        if options.latency:
            for result in measured:
                self._measure_latency(result, records)
        return measured

    def several_workers(self) -> list[Result]:
        """Time so many workers in one group on one database."""
        options = self._options
        records = self._records(options.matches, options.players)
        measured = []
        for count in options.workers:
            one = worker(EXACTLY_ONCE, options.batches[0], processes=count)
            measured.append(Result(one, note=f", {count} worker{'s' * (count > 1)}"))
        return self._in_turns(measured, lambda result: self._run(result.contender, records))

    def growth(self) -> list[Result]:
        """Time the worker on tables that are large already, after as many matches as are timed.

        A database was just copied: without them, each page would be met for the first time, and since a checkpoint.
        """
        options = self._options
        sizes = growth.sizes(full=options.full)
        measured = [Result(worker(EXACTLY_ONCE, options.batches[0]), note=f", {size.title}") for size in sizes]
        with growth.templates(self._stack, sizes, self._say) as names:
            prepared = {
                result.note: (self._records(2 * options.matches, size.ratings, size.active), names[size])
                for result, size in zip(measured, sizes, strict=True)
            }

            def run(result: Result) -> throughput.Run:
                records, template = prepared[result.note]
                return throughput.measure(
                    self._stack,
                    result.contender,
                    records,
                    self._logs,
                    template=template,
                    warm_up=options.matches,
                    settled=False,
                )

            return self._in_turns(measured, run)

    def _in_turns(self, measured: list[Result], run: Callable[[Result], throughput.Run]) -> list[Result]:
        for number in range(self._options.runs):
            # There and back: nobody comes last in each turn, when the servers have the most behind them.
            for result in reversed(measured) if number % 2 else measured:
                self._say(f"run {number + 1} of {self._options.runs}: {result.contender.title}{result.note}")
                result.runs.append(run(result))
        return measured

    def _run(
        self, contender: Contender, records: Sequence[Record], reference: Settings | None = None
    ) -> throughput.Run:
        part = records[: throughput.WARM_UP + self._options.matches // contender.slower]
        return throughput.measure(self._stack, contender, part, self._logs, reference=reference)

    def _measure_latency(self, result: Result, records: Sequence[Record]) -> None:
        contender, options = result.contender, self._options
        # The floor's records are another run's, so they can't be told by match; larger batches meet no other load.
        if contender.needs_reference or contender.batch not in {None, options.batches[0]}:
            return
        self._say(f"latency: {contender.title}")
        loads = [rate for rate in options.loads if rate <= result.rate * _OVERLOAD]
        result.overloads = [rate for rate in options.loads if rate not in loads]
        steady = [(rate, options.load_seconds) for rate in (latency.IDLE_RATE, *loads)]
        needed = throughput.WARM_UP + int(sum(rate * seconds for rate, seconds in steady))
        if needed > len(records):
            records = self._records(needed, options.players)
        result.latencies = latency.measure(self._stack, contender, records, steady, self._logs)

    def _records(self, matches: int, players: int, active: int | None = None) -> list[Record]:
        self._say(f"making {matches:,} matches of {active or players:,} players")
        return stream.records(throughput.WARM_UP + matches, players=players, active=active)

    def _say(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        if not self._progress.console.is_terminal:
            self._progress.console.print(f"{self.took():6.0f} s  {text}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
