"""A contender as processes of its own: started, waited for, measured, stopped."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

from deploy.local.ports import Port
from tests.benchmarks import facts
from tests.benchmarks.broker import send
from tests.support.processes import ROOT, environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.benchmarks.broker import Watch
    from tests.benchmarks.contenders import Contender
    from tests.benchmarks.stream import Record
    from worker.settings import Settings

_POLL_S = 0.02
_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 30.0
_STAGE = re.compile(r'^rating_(?:stage_seconds_sum\{stage="(\w+)"\}|(batch_records_count)) (\S+)$', re.MULTILINE)


class RunFailedError(Exception):
    """A contender ended, or did not get on, when it should have."""


class _One(NamedTuple):
    process: subprocess.Popen[bytes]
    log: Path
    metrics_url: str


class Running:
    """The living processes of one contender."""

    def __init__(self, contender: Contender, members: Sequence[_One]) -> None:
        self._contender = contender
        self._members = members

    def cpu(self) -> float:
        """CPU seconds so far."""
        return sum(facts.cpu_seconds(one.process.pid) for one in self._members)

    def peak_mb(self) -> float:
        """The largest resident size that any of them had."""
        return max(facts.peak_mb(one.process.pid) for one in self._members)

    def resident_mb(self) -> float:
        """The resident size of the largest."""
        return max(facts.resident_mb(one.process.pid) for one in self._members)

    def stages(self) -> dict[str, float]:
        """Seconds by stage and batches so far, as the worker's own metrics say; nothing for others."""
        totals: dict[str, float] = {}
        if self._contender.is_worker:
            for one in self._members:
                with urlopen(one.metrics_url, timeout=10) as answer:  # noqa: S310 - our own worker
                    for stage, batches, value in _STAGE.findall(answer.read().decode()):
                        name = stage or batches
                        totals[name] = totals.get(name, 0.0) + float(value)
        return totals

    def until(self, condition: Callable[[], bool], timeout_s: float, what: str, step_s: float = _POLL_S) -> None:
        """Wait until a condition holds.

        Raises:
            RunFailedError: It does not in time, or a process ended; with the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        while not condition():
            ended = [one for one in self._members if one.process.poll() is not None]
            if ended or time.monotonic() > deadline:
                log = (ended or self._members)[0].log.read_text(errors="replace")
                reason = f"ended with {ended[0].process.returncode}" if ended else f"took over {timeout_s} s"
                raise RunFailedError(f"{self._contender.title} {reason}, {what}; its log ends:\n{log[-3000:]}")
            time.sleep(step_s)

    def warm_up(self, settings: Settings, watch: Watch, records: Sequence[Record]) -> None:
        """Wait until some records have gone all the way: then every member is connected, assigned and has worked."""
        # They are sent only now, so that several members share them: a member alone would have them all by itself.
        self.until(lambda: watch.members() == self._contender.processes, _START_TIMEOUT_S, "joining the group")
        send(settings.kafka_bootstrap, settings.match_topic, records)
        watch.note_ends()
        self.until(lambda: watch.left() == 0 and watch.published(), _START_TIMEOUT_S, "warming up")


@contextmanager
def running(
    contender: Contender, settings: Settings, logs: Path, reference: Settings | None = None
) -> Iterator[Running]:
    """Run a contender's processes while the block runs."""
    logs.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        members = []
        for number in range(contender.processes):
            port = Port()
            stack.callback(port.release)
            environment = os.environ | environment_of(settings)
            environment |= {"RATING_INSTANCE_ID": f"{contender.label}-{number}", "RATING_HTTP_PORT": str(port.number)}
            log = logs / f"{contender.label}-{number}.log"
            environment["BENCH_PROFILE"] = str(log.with_suffix(".pstats"))  # read by profiled_worker alone
            with log.open("wb") as output:
                process = subprocess.Popen(  # noqa: S603 - our own modules
                    contender.arguments(reference), cwd=ROOT, env=environment, stdout=output, stderr=output
                )
            stack.callback(_stop, process)
            members.append(_One(process, log, f"http://{port.address}/metrics"))
        yield Running(contender, members)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
