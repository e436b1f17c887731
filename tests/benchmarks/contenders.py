"""Who runs against whom."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.settings import Settings

SEQUENTIAL, SIXTEEN = "one at a time", "16 at a time"
OVERLAPPED = "overlapped floor"
FLOOR, EXACTLY_ONCE, AT_LEAST_ONCE = "floor", "exactly-once", "at-least-once"


@dataclass(frozen=True)
class Contender:
    """One way to consume the stream.

    Attributes:
        name: In the table.
        command: What follows `python`.
        batch: Records in a batch, None where it has no batches.
        overrides: Settings on top.
        slower: It gets a match for every `slower` that the others get.
        needs_reference: It writes again what a worker wrote before, so it is told where that is.
        processes: How many of it run at once, in one group.
        changes_table: Where it records what it publishes.
    """

    name: str
    command: tuple[str, ...]
    batch: int | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    slower: int = 1
    needs_reference: bool = False
    processes: int = 1
    changes_table: str = "ledger"

    @property
    def title(self) -> str:
        """Name and batch size."""
        return self.name if self.batch is None else f"{self.name} {self.batch:,}"

    @property
    def label(self) -> str:
        """Its name as part of a database's name."""
        return "".join(letter if letter.isalnum() else "_" for letter in self.title)

    @property
    def is_worker(self) -> bool:
        """Whether it is this worker."""
        return self.name in {EXACTLY_ONCE, AT_LEAST_ONCE}

    def arguments(self, reference: Settings | None) -> list[str]:
        """Give the command line."""
        extra = []
        if self.needs_reference and reference is not None:
            where = {"database_url": reference.database_url.get_secret_value(), "topic": reference.rating_topic}
            extra = [json.dumps(where)]
        return [sys.executable, *self.command, *extra]


def worker(delivery: str, batch: int, *, processes: int = 1, profiled: bool = False) -> Contender:
    """This worker in one delivery mode."""
    command = ("-m", "tests.benchmarks.profiled_worker") if profiled else ("-m", "worker", "run")
    overrides = {"delivery": delivery, "batch_max_records": batch}
    return Contender(delivery, command, batch, overrides, processes=processes)


def contenders(batches: Sequence[int], only: Sequence[str] = (), *, profiled: bool = False) -> list[Contender]:
    """List all contenders, or those whose title contains one of `only`."""
    simple = ("-m", "tests.benchmarks.straightforward")
    everyone = [
        Contender(SEQUENTIAL, (*simple, "1"), slower=20, changes_table="changes"),
        Contender(SIXTEEN, (*simple, "16"), slower=8, changes_table="changes"),
    ]
    for batch in batches:
        size = {"batch_max_records": batch}
        floor = ("-m", "tests.benchmarks.floor")
        everyone += [
            Contender(OVERLAPPED, (*floor, "overlapped"), batch, size, needs_reference=True),
            Contender(FLOOR, (*floor, "plain"), batch, size, needs_reference=True),
            worker(EXACTLY_ONCE, batch, profiled=profiled),
            worker(AT_LEAST_ONCE, batch, profiled=profiled),
        ]
    return [one for one in everyone if not only or any(part in one.title for part in only)]
