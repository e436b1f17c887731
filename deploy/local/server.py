"""What the two servers have in common: start, stop, kill, pause, on one port and one folder."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from deploy.local.errors import StackError
from deploy.local.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deploy.local.process import User

_PORT_TRIES = 4
_POLL_SECONDS = 0.03


class Server(ABC):
    """A local server. `start` after `stop` or `kill` brings it back, ports and data the same; `close` is the end."""

    name: str
    start_seconds = 120.0  # on a machine that is busy with other things
    stop_seconds = 30.0
    stop_signal = signal.SIGTERM
    last_signal = signal.SIGKILL

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._process: Process | None = None
        self._prepared = False

    def start(self) -> None:
        """Start and wait until it answers. StackError, with the last log lines, if it doesn't."""
        if self.running:
            return
        if self._prepared:
            self._launch(self._opened)
            return
        for last in (False,) * (_PORT_TRIES - 1) + (True,):
            try:
                self._first_start()
            except BaseException as error:
                lost_port = isinstance(error, StackError) and "ddress already in use" in str(error)
                self.close()
                if last or not lost_port:
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop in an orderly way."""
        if self._process:
            self._process.stop(self.stop_signal, self.stop_seconds)

    def kill(self) -> None:
        """Kill the server and all its children (SIGKILL)."""
        if self._process:
            self._process.stop(signal.SIGKILL, 0)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay, answers don't come."""
        self._opened.pause()

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._opened.resume()

    def close(self) -> None:
        """End it for good: a temporary folder is removed, the ports are given back."""
        if self._process:
            self._process.close()
            self._process = None
        self._prepared = False
        self._release_ports()

    @property
    def running(self) -> bool:
        """Whether the process is there; a paused one is."""
        return self._process is not None and self._process.status() is None

    @property
    def folder(self) -> Path:
        """Where its data and log lie."""
        return self._opened.folder

    def log_tail(self, lines: int = 25) -> str:
        """The last lines of its log."""
        return self._opened.log_tail(lines)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _opened(self) -> Process:
        if self._process is None:
            raise StackError(f"{self.name} is not started")
        return self._process

    def _first_start(self) -> None:
        self._take_ports()
        self._process = Process(self.name, self._folder, self.last_signal, self._user())
        self._prepare(self._process)
        self._launch(self._process)
        self._prepared = True

    def _launch(self, process: Process) -> None:
        pid = process.start(self._command(), self._environment())
        deadline = time.monotonic() + self.start_seconds
        while not self._ready(pid):
            code = process.status()
            if code is not None:
                raise StackError(process.failure(f"ended with {code} while starting"))
            if time.monotonic() > deadline:
                process.stop(signal.SIGKILL, 0)
                raise StackError(process.failure(f"not ready {self.start_seconds:.0f} s after its start"))
            time.sleep(_POLL_SECONDS)  # the pause between two looks at the condition

    def _user(self) -> User | None:
        return None

    @abstractmethod
    def _take_ports(self) -> None: ...

    @abstractmethod
    def _release_ports(self) -> None: ...

    @abstractmethod
    def _prepare(self, process: Process) -> None:
        """Make the data folder, if it is not there yet."""

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _environment(self) -> Mapping[str, str]: ...

    @abstractmethod
    def _ready(self, pid: int) -> bool:
        """Whether the server, started as the process `pid`, answers by now."""
