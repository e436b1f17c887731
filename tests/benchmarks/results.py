"""What was measured, put together: medians, ratios, the JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.benchmarks.contenders import FLOOR, SEQUENTIAL, SIXTEEN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.benchmarks.contenders import Contender
    from tests.benchmarks.latency import Latency
    from tests.benchmarks.throughput import Run


@dataclass
class Result:
    """All runs of one contender."""

    contender: Contender
    runs: list[Run] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    overloads: list[float] = field(default_factory=list)
    note: str = ""

    @property
    def rate(self) -> float:
        """Median of matches a second."""
        return median(run.rate for run in self.runs)

    @property
    def spread(self) -> float:
        """From the slowest run to the fastest, as a share of the median."""
        rates = [run.rate for run in self.runs]
        return (max(rates) - min(rates)) / self.rate

    @property
    def peak_mb(self) -> float:
        """The largest of all runs."""
        return max(run.peak_mb for run in self.runs)

    def cpu(self, process: str) -> float | None:
        """Median of CPU seconds in 1,000 matches; None where that process can't be seen."""
        seen = [run.cpu[process] for run in self.runs if process in run.cpu]
        return median(seen) if seen else None

    def stages(self) -> dict[str, float]:
        """Median of microseconds a match, by stage of the worker."""
        return {stage: median(run.stages[stage] for run in self.runs) for stage in self.runs[0].stages}

    def latency_at(self, rate: float) -> Latency | None:
        """What was measured at this load."""
        return next((latency for latency in self.latencies if latency.rate == rate), None)

    def as_json(self) -> dict[str, Any]:
        """Everything, for the file."""
        return {
            "name": self.contender.name,
            "batch": self.contender.batch,
            "processes": self.contender.processes,
            "note": self.note,
            "matches_per_s": self.rate,
            "spread": self.spread,
            "cpu_s_per_1000": {process: self.cpu(process) for process in ("worker", "postgres", "kafka")},
            "peak_mb": self.peak_mb,
            "stages_us_per_match": self.stages(),
            "runs": [run._asdict() | {"matches_per_s": run.rate} for run in self.runs],
            "latency": [latency._asdict() for latency in self.latencies],
            "overloaded_at": self.overloads,
        }


class Table:
    """The results of one benchmark, which know of each other."""

    def __init__(self, results: list[Result]) -> None:
        self.results = [result for result in results if result.runs]

    def find(self, name: str, batch: int | None = None) -> Result | None:
        """Give the result of a contender."""
        wanted = (name, batch)
        return next((r for r in self.results if (r.contender.name, r.contender.batch) == wanted), None)

    def ratios(self, result: Result) -> dict[str, float | None]:
        """Give a result's throughput over that of the floor at its batch size and of each straightforward consumer."""
        others = {
            "floor": self.find(FLOOR, result.contender.batch),
            "sequential": self.find(SEQUENTIAL),
            "sixteen": self.find(SIXTEEN),
        }
        return {name: result.rate / other.rate if other else None for name, other in others.items()}


def save(path: Path, facts: dict[str, Any], table: Table) -> None:
    """Write everything that was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    results = [result.as_json() | {"ratios": table.ratios(result)} for result in table.results]
    path.write_text(json.dumps(facts | {"results": results}, indent=1, default=str) + "\n")
