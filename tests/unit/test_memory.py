"""What the process is told about memory, in a process of its own: it can't be taken back."""

from __future__ import annotations

import platform
import subprocess
import sys

# Blocks of 512 kB, each with small ones around that stay: given back, they must leave the process.
PROGRAM = """
import sys
from worker import memory
told = memory.keep_the_heap_whole() if sys.argv[1] == "told" else None
large = bytearray(600_000)
del large  # from here on, glibc left to itself keeps such blocks in its heap
kept, large = [], []
for _ in range(200):
    large.append(bytearray(512 * 1024))
    kept.append(bytearray(1_000))
del large
with open("/proc/self/statm") as file:
    print(told, int(file.read().split()[1]) * 4096 // 2**20)
"""


def resident_mb(how: str) -> tuple[str, int]:
    """Give what the program says, and how many MB it holds at its end."""
    run = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)  # noqa: S603
    told, resident = run.stdout.split()
    return told, int(resident)


def test_large_blocks_leave_the_process() -> None:
    """100 MB of them, where glibc is; elsewhere nothing is told, and nothing fails."""
    told, resident = resident_mb("told")
    assert told == str(platform.libc_ver()[0] == "glibc")
    if told == "True":
        assert resident_mb("left alone")[1] - resident > 50
