"""How commands end: the exit codes, and one clear message for whatever is not a bug.

The numbers above 60 are those of sysexits.h, which orchestrators and shell scripts know.
"""

from __future__ import annotations

import errno
import functools
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import structlog
import typer

from worker.cli.output import PIPE_CLOSED, drop_output, quiet, say
from worker.rating.errors import PolicyError
from worker.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_P = ParamSpec("_P")

_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
_log = structlog.get_logger(__name__)


class Exit(IntEnum):
    """Every code that a command ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DATA = 65
    IO = 74
    TEMPORARY = 75
    CONFIG = 78
    INTERRUPTED = 130
    PIPE_CLOSED = PIPE_CLOSED


MEANINGS = {
    Exit.OK: "done; for `run`: stopped in order",
    Exit.FAILED: "what was asked for isn't there; or a bug in the worker, logged with its traceback",
    Exit.USAGE: "the command line is wrong",
    Exit.DATA: "some of the input was refused, or the ledger contradicts its own rules; all the rest was done",
    Exit.IO: "standard output can't be written: the disk is full, say",
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
        with _ending(function.__name__, leave), writing():
            function(*args, **kwargs)

    return wrapped


def service(function: Callable[_P, None]) -> Callable[_P, None]:
    """Do as `command` for one that runs unwatched: the message is an event in its log, as all that it says.

    The log has to be set up by the command itself. What the network or a disk does is no end of a service: an error of
    the operating system that comes through is a bug.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> None:
        with _ending(function.__name__, _log_and_leave):
            function(*args, **kwargs)

    return wrapped


@contextmanager
def writing() -> Iterator[None]:
    """Write what is left of standard output after the block, and end the process where that is not possible.

    Raises:
        SystemExit: Who read it has closed it; or it can't be written, which is told.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, where a closed pipe can still be told from a bug
    except BrokenPipeError:
        drop_output()
        raise SystemExit(Exit.PIPE_CLOSED) from None
    except OSError as error:
        if error.errno not in _OF_DISKS:
            raise
        drop_output()
        say(f"{error.filename or 'Standard output'} can't be written: {error.strerror}. Make room, or write elsewhere.")
        raise SystemExit(Exit.IO) from None


@contextmanager
def _ending(name: str, end: Callable[[str, Exit], NoReturn]) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except CommandError as error:
        end(str(error), error.code)
    except PolicyError as error:
        end("The policies can't be used:\n" + "\n".join(f"  - {fault}" for fault in error.faults), Exit.CONFIG)
    except SettingsError as error:
        end(str(error), Exit.CONFIG)
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    except Exception:  # noqa: BLE001 - whatever it is, the log says where
        _log.exception("a bug in rating-worker: please report it, with this line", command=name)
        raise typer.Exit(Exit.FAILED) from None


def leave(message: str, code: Exit) -> NoReturn:
    """End the command with a message on standard error."""
    say(message)
    raise typer.Exit(code)


def _log_and_leave(message: str, code: Exit) -> NoReturn:
    """End the command with an event in the log, one line in JSON."""
    _log.critical(message, exit_code=code.value)
    raise typer.Exit(code)
