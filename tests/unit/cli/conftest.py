"""The command line in this process, its streams caught."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from worker.cli import app

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Its standard output, as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = "Callable[..., Ended]"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Run a command with its arguments and what it reads on standard input."""
    # Logging is the process's, not the command's: set up here it would reach into other tests.
    monkeypatch.setattr("worker.cli.exits.quiet", lambda: None)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object, stdin: str | bytes = b"") -> Ended:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run
