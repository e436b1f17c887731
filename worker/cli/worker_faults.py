"""What ends a worker, in words and with an exit code."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from worker.cli.exits import CommandError, Exit
from worker.cli.reaching import sentence_of
from worker.ledger.errors import LedgerSetupError
from worker.ops.http import HttpServerError
from worker.ops.tracing import TracingSetupError
from worker.service import StopOverdueError
from worker.stream.errors import StreamSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def worker_faults() -> Iterator[None]:
    """Turn what keeps a worker from working, until somebody mends it, into the end of the command."""
    try:
        yield
    except (LedgerSetupError, StreamSetupError, HttpServerError, TracingSetupError) as error:
        raise CommandError(sentence_of(error), Exit.CONFIG) from error
    except StopOverdueError as error:
        raise CommandError(sentence_of(error), Exit.TEMPORARY) from error
