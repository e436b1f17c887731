"""A worker that stops itself (SIGSTOP) once, at a named step of its loop: how a zombie is made on purpose.

    python -m tests.support.freezing_worker STEP[:N]

N is how often the step is passed before (0 by default). The worker is the real one; only the call of the step is
wrapped, so nothing of this is in the program.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import asyncpg

from worker.cli import main
from worker.ledger.transaction import BatchTransaction
from worker.stream.publisher import AtLeastOncePublisher, ExactlyOncePublisher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

# Where the rows are being sent: Postgres waits for the rest of them, and no timeout of its own ends that.
WITHIN_WRITE = "within-write"

# step: (the classes, the method, whether to freeze before the call or after it)
STEPS: dict[str, tuple[tuple[type, ...], str, bool]] = {
    "after-claims": ((BatchTransaction,), "rate", True),
    "after-lock": ((BatchTransaction,), "rate", False),
    WITHIN_WRITE: ((asyncpg.Connection,), "copy_records_to_table", True),
    "after-write": ((BatchTransaction,), "write", False),
    "after-flush": ((ExactlyOncePublisher, AtLeastOncePublisher), "stage", False),
    "between-commits": ((ExactlyOncePublisher, AtLeastOncePublisher), "commit", True),
    "after-commits": ((ExactlyOncePublisher, AtLeastOncePublisher), "commit", False),
}


def freeze_at(step: str, passes: int) -> None:
    """Wrap the step so that the process stops itself at it."""
    classes, method, before = STEPS[step]
    left = [passes]

    def freeze() -> None:
        left[0] -= 1
        if left[0] == -1:
            os.kill(os.getpid(), signal.SIGSTOP)

    def freezing(records: Iterable[Any]) -> Iterator[Any]:
        freeze()
        yield from records

    def wrapped(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            if step == WITHIN_WRITE:
                kwargs["records"] = freezing(kwargs["records"])
            elif before:
                freeze()
            result = await call(*args, **kwargs)
            if not before:
                freeze()
            return result

        return wrapper

    for one in classes:
        setattr(one, method, wrapped(getattr(one, method)))


if __name__ == "__main__":
    name, _, count = sys.argv[1].partition(":")
    freeze_at(name, int(count or 0))
    sys.argv = ["rating-worker", "run"]
    main()
