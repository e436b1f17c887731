"""Standard output that nobody reads, or that has no room: how commands end, help and version included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.cli.matches import lines

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
COMMANDS = (
    *("--help", "--version", "policy --help"),  # of Typer, of the callback, of a group
    *("check", "policy show fide", "policy list --json", "settings", "rate"),  # tables, JSON, text, lines
)
EVERY = pytest.mark.parametrize("command", COMMANDS)
AWAY = {"RATING_DATABASE_URL": "postgresql://u@127.0.0.1:1/x", "RATING_KAFKA_BOOTSTRAP": "127.0.0.1:1"}


def ended(command: str, stdout: int) -> subprocess.CompletedProcess[bytes]:
    """Run a command with this standard output."""
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "worker", *command.split()],
        cwd=ROOT,
        env=os.environ | AWAY,
        input=lines(("ann", "bob", 1)).encode(),
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )


def closed_pipe() -> int:
    """Give a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full_device() -> int:
    """Give a device that never has room."""
    return os.open("/dev/full", os.O_WRONLY)


def run_with(command: str, opened: Callable[[], int]) -> subprocess.CompletedProcess[bytes]:
    """Run a command, and close what was opened for it."""
    stdout = opened()
    try:
        return ended(command, stdout)
    finally:
        os.close(stdout)


@EVERY
def test_a_closed_pipe(command: str) -> None:
    """A command whose reader has gone ends quietly, with the code that a shell gives for SIGPIPE."""
    done = run_with(command, closed_pipe)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 141, said
    assert said == []


@EVERY
def test_a_full_disk(command: str) -> None:
    """A command whose output can't be written says so in one line, and blames nobody's code."""
    done = run_with(command, full_device)
    said = done.stderr.decode().splitlines()
    assert done.returncode == 74, said
    assert said == ["Standard output can't be written: No space left on device. Make room, or write elsewhere."]
