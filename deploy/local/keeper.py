"""A keeper: the parent process of one server, which outlives whoever asked for the server, but not by long.

Run by path as a program of its own (see `process.py`), with the standard library alone, so that it starts fast. It
owns the server's process and folder. It takes requests, one JSON object a line, on the socket that is its standard
input. When that socket ends, or its parent does, however that came about (SIGKILL included), it stops the server and
removes the folder. It has a session of its own, so Ctrl-C in a terminal reaches neither it nor the server.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0
_SYS_PIDFD_OPEN = 434  # one number on all architectures, as for every system call since Linux 5.1
_STRAY_SECONDS = 5.0
_POLL_SECONDS = 0.005


def main() -> None:
    """Serve requests until told to close, or until nobody is there to tell."""
    control = socket.socket(fileno=0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _leave)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # the children of a killed server become ours
    keeper = _Keeper()
    try:
        # A forked child of the parent may hold a copy of the socket open: hence the watch on the parent itself.
        with contextlib.suppress(OSError), _watch(control) as watch, control.makefile("rwb") as lines:
            while any(key.fileobj is control for key, _ in watch.select()) and (line := lines.readline()):
                lines.write(json.dumps(keeper.answer(json.loads(line))).encode() + b"\n")
                lines.flush()
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        keeper.close()


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit


def _watch(control: socket.socket) -> selectors.BaseSelector:
    watch = selectors.DefaultSelector()
    watch.register(control, selectors.EVENT_READ)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a kernel or a sandbox without pidfds: the socket has to do
            watch.register(_pidfd(os.getppid()), selectors.EVENT_READ)
    return watch


def _pidfd(pid: int) -> int:
    """`os.pidfd_open`, which interpreters that were built on an old Linux (uv's are) do not have."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(_SYS_PIDFD_OPEN, pid, 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "pidfd_open")
    return descriptor


class _Keeper:
    """The server's process and folder, and what can be asked about them."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.temporary = False
        self.last_signal = signal.SIGKILL
        self.server: subprocess.Popen[bytes] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request; a failure is an answer too."""
        operation = getattr(self, f"do_{request.pop('operation')}")
        try:
            return {"value": operation(**request)}
        except Exception as error:  # noqa: BLE001 - whatever it was, the asker can tell its user and we can't
            return {"error": f"{type(error).__name__}: {error}"}

    def do_open(self, folder: str | None, prefix: str, base: str, user: int | None, last_signal: int) -> str:
        """Make the folder, for good if it is named, else a temporary one; hand it to `user`."""
        self.temporary, self.last_signal = folder is None, signal.Signals(last_signal)
        self.folder = Path(folder or tempfile.mkdtemp(prefix=prefix, dir=base))
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if self.temporary:
            self.folder.chmod(0o755)  # the server's user passes through it; what it writes it keeps closed itself
        if user is not None:
            for name in ("data", "tmp"):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
                os.chown(self.folder / name, user, -1)
        return str(self.folder)

    def do_run(self, argv: list[str], log: str, text: str, **identity: Any) -> int:
        """Run a command to its end, `text` its standard input, its output appended to the log."""
        self.server = self._spawn(argv, log, subprocess.PIPE, identity)
        try:
            self.server.communicate(text.encode())
            return self.server.returncode
        finally:
            self._end(signal.SIGKILL, 0)

    def do_start(self, argv: list[str], log: str, **identity: Any) -> int:
        """Start the server; its process id."""
        self._end(signal.SIGKILL, 0)
        self.server = self._spawn(argv, log, subprocess.DEVNULL, identity)
        return self.server.pid

    def do_status(self) -> int | None:
        """None while the server runs (a paused one does), else how it ended; 0 if it never started."""
        return 0 if self.server is None else self.server.poll()

    def do_stop(self, number: int, seconds: float) -> None:
        """Ask the server to end; after so many seconds make it."""
        self._end(signal.Signals(number), seconds)

    def do_pause(self) -> None:
        """Stop the server's processes where they are."""
        self._signal_all(signal.SIGSTOP)

    def do_resume(self) -> None:
        """Let paused processes go on."""
        self._signal_all(signal.SIGCONT)

    def close(self) -> None:
        """End the server, the fast way if nobody can want its data, and leave nothing behind."""
        self._end(self.last_signal if self.temporary else signal.SIGINT, 5 if self.temporary else 30)
        if self.temporary and self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, argv: list[str], log: str, stdin: int, identity: dict[str, Any]) -> subprocess.Popen[bytes]:
        last_signal, me = self.last_signal, os.getpid()

        def die_with_keeper() -> None:
            # Belt to the braces: should the keeper itself be killed, the kernel ends the server.
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(last_signal))
                if os.getppid() != me:
                    os._exit(1)

        with Path(log).open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - the argv is ours
                argv,
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=die_with_keeper,  # noqa: PLW1509 - one thread here, so it is safe
                **identity,
            )

    def _signal_all(self, number: signal.Signals) -> list[int]:
        """Signal the server, then its children: in that order it can't make new ones in between."""
        if self.server is None or self.server.poll() is not None:
            return []
        self.server.send_signal(number)
        children = _descendants(self.server.pid)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        return children

    def _end(self, number: signal.Signals, seconds: float) -> None:
        if self.server is None or self.server.poll() is not None:
            return
        self._signal_all(signal.SIGCONT)  # a paused process would not hear
        if number != signal.SIGKILL:
            self.server.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.wait(seconds)
                return
        children = self._signal_all(signal.SIGSTOP)
        for pid in (self.server.pid, *children):
            os.kill(pid, signal.SIGKILL)
        self.server.wait()
        _wait_gone(children)
        self._release_shared_memory()

    def _release_shared_memory(self) -> None:
        """Drop the System V segment of a killed PostgreSQL, which only its next start would; it guards nothing now."""
        pidfile = (self.folder or Path()) / "data" / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError, IndexError):
            segment = int(pidfile.read_text().splitlines()[6].split()[1])
            ctypes.CDLL(None).shmctl(segment, _IPC_RMID, None)


def _descendants(pid: int) -> list[int]:
    """Every process below `pid`: PostgreSQL's backends have sessions of their own, so no group holds them."""
    parents: dict[int, list[int]] = {}
    for child, parent in _process_table():
        parents.setdefault(parent, []).append(child)
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def _process_table() -> list[tuple[int, int]]:
    """Process id and parent's of all processes."""
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True)  # noqa: S607
        return [(int(row[0]), int(row[1])) for row in map(bytes.split, listing.stdout.splitlines())]
    table = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # gone since it was listed
            # The second field is the name in brackets, and may hold spaces and brackets itself.
            table.append((int(stat.parent.name), int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])))
    return table


def _wait_gone(pids: list[int]) -> None:
    """Wait until the killed server's children, now ours, are no more, so that a restart meets none of them."""
    deadline = time.monotonic() + _STRAY_SECONDS
    while (pids := [pid for pid in pids if not _gone(pid)]) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # not Linux: another process inherited it
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return False
    return True


if __name__ == "__main__":
    main()
