"""What Linux says about processes: CPU time, memory, who listens on a port. All of it read from /proc."""

from __future__ import annotations

import os
import platform
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_LISTEN = "0A"
_LIBRARIES = ("aiokafka", "asyncpg", "orjson", "uvloop", "jsonschema-rs", "confluent-kafka", "structlog", "pydantic")
_ROOT = Path(__file__).parents[2]


def cpu_seconds(pid: int) -> float:
    """Give the CPU seconds of a process and all below it, of those that have ended as well.

    A Postgres backend that has ended is in the postmaster's count of its children.
    """
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it ended while we looked
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    tree, total = [pid], 0
    while tree:
        one = tree.pop()
        total += used.get(one, 0)
        tree += children.get(one, ())
    return total / _TICKS


def peak_mb(pid: int) -> float:
    """Give the largest resident size that a living process ever had, in MB."""
    return _status_mb(pid, "VmHWM")


def resident_mb(pid: int) -> float:
    """Give the resident size of a living process, in MB."""
    return _status_mb(pid, "VmRSS")


def listener(port: int) -> int | None:
    """Find the process that listens on a TCP port of this machine; None if it can't be seen from here."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return next((pid for pid in pids if sockets & _sockets(pid)), None)


def machine() -> dict[str, Any]:
    """Describe the machine and the versions in use."""
    model = next(
        (line.split(":")[1].strip() for line in _lines(_PROC / "cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory = next((line.split()[1] for line in _lines(_PROC / "meminfo") if line.startswith("MemTotal")), "0")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "cpu": model,
        "memory_mb": int(memory) // 1024,
        "system": platform.platform(),
        "python": platform.python_version(),
        "python_optimised": "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")),
        "load_average_before": os.getloadavg(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": _git("status", "--porcelain", "--untracked-files=no", "worker").splitlines(),
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError:
        return ""
    return done.stdout.strip()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for handle in (_PROC / str(pid) / "fd").iterdir():
            try:
                found.add(str(handle.readlink()))
            except OSError:
                continue
    except OSError:
        pass  # not ours to look at, or ended
    return found


def _status_mb(pid: int, field: str) -> float:
    for line in _lines(_PROC / str(pid) / "status"):
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0
