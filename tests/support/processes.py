"""Worker processes, as an operator runs them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.support.waiting import until

if TYPE_CHECKING:
    import signal

    from worker.settings import Settings

ROOT = Path(__file__).parents[2]


class WorkerProcess:
    """A worker in a process of its own, its log in a file. Leaving the `async with` block kills what still runs.

    Args:
        settings: Become its environment, whole.
        log: The file that its log lines go to.
        freeze_at: A step of `tests/support/freezing_worker.py` at which it stops itself (SIGSTOP), once.
        overrides: Environment on top, such as another RATING_INSTANCE_ID.
    """

    def __init__(self, settings: Settings, log: Path, *, freeze_at: str | None = None, **overrides: str) -> None:
        self._log = log
        module = ["-m", "worker", "run"] if freeze_at is None else ["-m", "tests.support.freezing_worker", freeze_at]
        self._command = [sys.executable, *module]
        self._environment = os.environ | environment_of(settings) | overrides
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The process itself."""
        assert self._process is not None
        return self._process

    def events(self) -> list[dict[str, Any]]:
        """Give the log lines so far, parsed; lines that are not JSON come as {"event": line}."""
        parsed = []
        for line in self._log.read_text(errors="replace").splitlines():
            try:
                parsed.append(json.loads(line))
            except ValueError:
                parsed.append({"event": line})
        return parsed

    def has_logged(self, event: str) -> bool:
        """Tell whether a log line with this event (or its beginning) was written."""
        return self.times_logged(event) > 0

    def times_logged(self, event: str) -> int:
        """Give how many log lines with this event (or its beginning) were written."""
        return sum(str(line.get("event", "")).startswith(event) for line in self.events())

    async def until_logged(self, event: str, timeout_s: float = 60) -> None:
        """Wait for a log line; fails with the log if the process ends or the time runs out."""

        def logged() -> bool:
            if self.has_logged(event):
                return True
            assert self.process.returncode is None, f"ended with {self.process.returncode}: {self.tail()}"
            return False

        await until(logged, timeout_s, lambda: f"{event!r} was not logged: {self.tail()}")

    def is_frozen(self) -> bool:
        """Tell whether the process is stopped (SIGSTOP); fails with the log if it has ended."""
        assert self.process.returncode is None, f"ended with {self.process.returncode}: {self.tail()}"
        stat = Path(f"/proc/{self.process.pid}/stat")
        return stat.read_text().rsplit(")", 1)[1].split()[0] == "T"

    async def until_frozen(self, timeout_s: float = 60) -> None:
        """Wait until the process is stopped (SIGSTOP)."""
        await until(self.is_frozen, timeout_s, lambda: f"not frozen: {self.tail()}")

    async def until_ended(self, timeout_s: float = 60) -> int:
        """Wait for the end; gives the exit code."""
        async with asyncio.timeout(timeout_s):
            return await self.process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal; fails with the log if the process has ended."""
        assert self.process.returncode is None, f"ended with {self.process.returncode}: {self.tail()}"
        self.process.send_signal(number)

    def lines(self) -> list[str]:
        """Give its log so far."""
        return self._log.read_text(errors="replace").splitlines()

    def tail(self, lines: int = 15) -> str:
        """Give the end of its log."""
        return "\n".join(self.lines()[-lines:])


def environment_of(settings: Settings) -> dict[str, str]:
    """Give the environment variables that make a process load these settings."""
    values: dict[str, str] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        value = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if isinstance(value, tuple):
            value = ",".join(map(str, value))
        if value is not None:
            values[f"RATING_{name.upper()}"] = str(value)
    return values
