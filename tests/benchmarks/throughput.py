"""One timed run: every record is there beforehand, and the clock stops when the last one is committed and published."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from tests.benchmarks.arena import arena, run_sql, settle, watch
from tests.benchmarks.broker import Gun
from tests.benchmarks.running import RunFailedError, running
from tests.benchmarks.stream import changes_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.benchmarks.arena import Stack
    from tests.benchmarks.contenders import Contender
    from tests.benchmarks.stream import Record
    from worker.settings import Settings

WARM_UP = 600
_TIMEOUT_S = 3_600.0
_LOOK_EVERY_S = 1.0


class Run(NamedTuple):
    """What one timed run measured.

    Attributes:
        matches: How many were timed.
        seconds: From the starting gun to the last offset committed and the last change to be seen.
        cpu: CPU seconds in 1,000 matches, by `worker` (the contender's own), `postgres` and `kafka`.
        peak_mb: Largest resident size of the contender.
        resident_mb: Its resident size, once a second.
        stages: Microseconds a match by stage, as the worker's own metrics say.
        mean_batch: Records in a batch, likewise.
    """

    matches: int
    seconds: float
    cpu: dict[str, float]
    peak_mb: float
    resident_mb: list[float]
    stages: dict[str, float]
    mean_batch: float | None

    @property
    def rate(self) -> float:
        """Matches a second."""
        return self.matches / self.seconds


def measure(
    stack: Stack,
    contender: Contender,
    records: Sequence[Record],
    logs: Path,
    *,
    reference: Settings | None = None,
    template: str | None = None,
    warm_up: int = WARM_UP,
    settled: bool = True,
) -> Run:
    """Time a contender over the records in an arena of its own; see `measure_in`."""
    with arena(stack, contender.label, template=template, **contender.overrides) as settings:
        return measure_in(
            stack, settings, contender, records, logs, reference=reference, warm_up=warm_up, settled=settled
        )


def measure_in(
    stack: Stack,
    settings: Settings,
    contender: Contender,
    records: Sequence[Record],
    logs: Path,
    *,
    reference: Settings | None = None,
    warm_up: int = WARM_UP,
    settled: bool = True,
) -> Run:
    """Time a contender in an arena that is there already.

    Args:
        stack: The servers.
        settings: Of the arena.
        contender: Who is timed.
        records: What is sent.
        logs: Where the contender's log goes.
        reference: The arena of the run whose rows and records the floor writes again.
        warm_up: The first so many records only warm it up.
        settled: Whether the servers write down what the warm-up left before the clock starts. Otherwise they go on
            from there as they are: with pages in memory, and in the log since the last checkpoint.
    """
    first, timed = records[:warm_up], records[warm_up:]
    kafka = watch(settings)
    before = _rows(settings, "matches"), _rows(settings, "ledger")
    try:
        with running(contender, settings, logs, reference) as processes:
            processes.warm_up(settings, kafka, first)
            gun = Gun(settings.kafka_bootstrap, settings.match_topic, timed)
            kafka.note_ends()
            if settled:
                settle(stack)
            resident = [processes.resident_mb()]
            stages, servers, own = processes.stages(), stack.cpu(), processes.cpu()

            looked = started = time.monotonic()
            gun.fire()

            def done() -> bool:
                nonlocal looked
                if time.monotonic() - looked > _LOOK_EVERY_S:
                    looked = time.monotonic()
                    resident.append(processes.resident_mb())
                return kafka.left() == 0 and kafka.published()

            processes.until(done, _TIMEOUT_S, "consuming")
            seconds = time.monotonic() - started

            own = processes.cpu() - own
            cpu = {"worker": own} | {name: used - servers[name] for name, used in stack.cpu().items()}
            stages = {name: value - stages.get(name, 0.0) for name, value in processes.stages().items()}
            peak = processes.peak_mb()
        _verify(contender, settings, records, before, kafka.count_published())
    finally:
        kafka.close()
    batches = stages.pop("batch_records_count", 0.0)
    return Run(
        matches=len(timed),
        seconds=seconds,
        cpu={name: used * 1000 / len(timed) for name, used in cpu.items()},
        peak_mb=peak,
        resident_mb=resident,
        stages={name: value * 1e6 / len(timed) for name, value in stages.items()},
        mean_batch=len(timed) / batches if batches else None,
    )


def _verify(
    contender: Contender, settings: Settings, records: Sequence[Record], before: tuple[int, int], published: int
) -> None:
    """Check that all was recorded and all was published: a fast run that lost something is no result."""
    matches = _rows(settings, "matches") - before[0]
    changes = _rows(settings, contender.changes_table) - before[1]
    if matches != len(records) or changes != published or changes < changes_of(records):
        raise RunFailedError(
            f"{contender.title}: of {len(records)} records {matches} were recorded, with {changes} changes (there are "
            f"at least {changes_of(records)} in them), of which {published} were published"
        )


def _rows(settings: Settings, table: str) -> int:
    count: int = run_sql(settings.database_url.get_secret_value(), f"select count(*) from {table}")
    return count
