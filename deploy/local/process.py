"""The asking side of a keeper: a server process whose end is seen to, whatever becomes of us."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from deploy.local.errors import StackError

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence

_KEEPER = Path(__file__).with_name("keeper.py")
_LOG_LINES = 25


@dataclass(frozen=True)
class User:
    """Somebody else to run a server as; only root has that choice."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> Self:
        """Look a user up in the password database."""
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise StackError(f"there is no user {name!r} on this machine to run a server as") from None
        return cls(name, entry.pw_uid, entry.pw_gid)

    def passes(self, path: Path) -> bool:
        """Whether this user can come to `path`: every folder on the way is open to it (access lists aside)."""
        return all(self._may(folder, 0o1) for folder in path.resolve().parents)

    def reads(self, path: Path) -> bool:
        """Whether this user can read and enter the folder `path`."""
        return self.passes(path) and self._may(path, 0o5)

    def _may(self, path: Path, bits: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            bits <<= 6
        elif status.st_gid == self.gid:
            bits <<= 3
        return status.st_mode & bits == bits


class Process:
    """One server's process and folder, in the care of a keeper."""

    def __init__(self, name: str, folder: Path | None, last_signal: signal.Signals, user: User | None = None) -> None:
        self._name = name
        self._user = user
        self._opened = False
        self.temporary = folder is None
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        with theirs:
            self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-I", "-S", str(_KEEPER)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self._lines = ours.makefile("rwb")
        self._socket = ours
        try:
            path = self._ask(
                "open",
                folder=str(folder.absolute()) if folder else None,
                prefix=f"rating-{name.lower()}-",
                base=str(_temporary_base(user)),
                user=user and user.uid,
                last_signal=last_signal,
            )
            self.folder = Path(path)
            self._opened = True
            self._check_way()
        except BaseException:
            self.close()
            raise

    @property
    def log(self) -> Path:
        """The file that takes all that the server says."""
        return self.folder / "log"

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        """The last lines that the server said."""
        return _tail(self.log, lines)

    def run(self, argv: Sequence[str], environment: Mapping[str, str], text: str = "") -> None:
        """Run a command that prepares the folder; StackError with its output if it fails."""
        log = self.folder / "prepare.log"
        code = self._ask("run", text=text, **self._command(argv, environment, log))
        if code:
            raise StackError(self._failure(f"{Path(argv[0]).name} ended with {code}", log))

    def start(self, argv: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start the server; its process id."""
        return int(self._ask("start", **self._command(argv, environment, self.log)))

    def status(self) -> int | None:
        """None while it runs, else the code it ended with."""
        code: int | None = self._ask("status")
        return code

    def stop(self, number: signal.Signals, seconds: float) -> None:
        """Signal the server to end, and kill it if it has not after so many seconds."""
        self._ask("stop", number=number, seconds=seconds)

    def pause(self) -> None:
        """SIGSTOP to the server and its children."""
        self._ask("pause")

    def resume(self) -> None:
        """SIGCONT to the server and its children."""
        self._ask("resume")

    def close(self) -> None:
        """End the server and the keeper; a temporary folder goes too."""
        with self._lock:
            with contextlib.suppress(OSError):  # a keeper that is gone already
                self._lines.close()
            self._socket.close()
            self._keeper.wait()
        if self.temporary and self._opened:
            shutil.rmtree(self.folder, ignore_errors=True)  # the keeper's work, unless it was killed

    def failure(self, why: str) -> str:
        """A message for a StackError: which server, why, and what the server said itself."""
        return self._failure(why, self.log)

    def _failure(self, why: str, log: Path) -> str:
        said = _tail(log, _LOG_LINES)
        return f"{self._name}: {why}" + (f"; its log ends:\n{said}" if said else "; it logged nothing")

    def _check_way(self) -> None:
        if self._user and not self._user.passes(self.folder / "data"):
            raise StackError(
                f"{self._name} runs as {self._user.name}, who can't come to {self.folder}: choose another folder"
            )

    def _command(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> dict[str, Any]:
        command: dict[str, Any] = {"argv": list(argv), "log": str(log), "env": dict(environment)}
        if self._user:
            groups = os.getgrouplist(self._user.name, self._user.gid)
            command |= {"user": self._user.uid, "group": self._user.gid, "extra_groups": groups}
        return command

    def _ask(self, operation: str, **request: Any) -> Any:
        with self._lock:
            try:
                self._lines.write(json.dumps({"operation": operation, **request}).encode() + b"\n")
                self._lines.flush()
                answer = json.loads(self._lines.readline())
            except (OSError, ValueError) as error:
                raise StackError(f"{self._name}: its keeper process is gone, and the server with it") from error
        if "error" in answer:
            raise StackError(f"{self._name}: {operation} failed: {answer['error']}")
        return answer["value"]


def _tail(log: Path, lines: int) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def _temporary_base(user: User | None) -> Path:
    """A folder for temporary folders that the server's user can come to."""
    candidates = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - only mkdtemp writes there
    for candidate in candidates:
        if user is None or user.passes(candidate / "any"):
            return candidate
    raise StackError(f"{user and user.name} can come to none of {', '.join(map(str, candidates))}: set TMPDIR to one")
