"""How commands end: the exit codes, and one clear message for whatever is not a bug.

The numbers above 60 are those of sysexits.h, which orchestrators and shell scripts know.
"""

from __future__ import annotations

import functools
import os
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import structlog
import typer

from worker.cli.output import quiet, say
from worker.rating.errors import PolicyError
from worker.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")

_log = structlog.get_logger(__name__)


class Exit(IntEnum):
    """Every code that a command ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 65
    TEMPORARY = 75
    CONFIG = 78
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS = {
    Exit.OK: "done; for `run`: stopped in order",
    Exit.FAILED: "what was asked for isn't there; or a bug in the worker, logged with its traceback",
    Exit.USAGE: "the command line is wrong",
    Exit.DATA: "some of the input was refused, or the ledger contradicts its own rules; all the rest was done",
    Exit.TEMPORARY: "Kafka or Postgres is away, or too slow: try again later",
    Exit.CONFIG: "somebody must mend something first: a setting, a policy, the database, a topic",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.PIPE_CLOSED: "whoever read the output has closed it, as `head` does",
}


class CommandError(Exception):
    """The end of a command with a message for whoever typed it.

    Args:
        message: What is wrong, and what to do about it.
        code: How the process ends.
    """

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code


def command(function: Callable[_P, None]) -> Callable[_P, None]:
    """Let a command end with a message and a code for every error that is not a bug, and log a bug as an event."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> None:
        quiet()
        try:
            function(*args, **kwargs)
            sys.stdout.flush()  # here, where a closed pipe can still be told from a bug
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except CommandError as error:
            leave(str(error), error.code)
        except PolicyError as error:
            leave("The policies can't be used:\n" + "\n".join(f"  - {fault}" for fault in error.faults), Exit.CONFIG)
        except SettingsError as error:
            leave(str(error), Exit.CONFIG)
        except BrokenPipeError:
            close_pipe()
            raise typer.Exit(Exit.PIPE_CLOSED) from None
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None
        except Exception:  # noqa: BLE001 - whatever it is, the log says where
            _log.exception("a bug in rating-worker: please report it, with this line", command=function.__name__)
            raise typer.Exit(Exit.FAILED) from None

    return wrapped


def leave(message: str, code: Exit) -> NoReturn:
    """End the command with a message on standard error."""
    say(message)
    raise typer.Exit(code)


def close_pipe() -> None:
    """Point standard output at nothing, so that the interpreter's own last flush does not fail as well."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
