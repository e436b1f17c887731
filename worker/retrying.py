"""Trying again what passes by itself, with jittered backoff that a stop ends at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from worker.ledger.errors import PASSING_FAULTS as LEDGER_FAULTS
from worker.ledger.errors import kind_of
from worker.ops.health import Component
from worker.ops.labels import Retry
from worker.stream.errors import RecordTooLargeError, StreamAwayError

if TYPE_CHECKING:
    from collections.abc import Callable

MET = frozenset({Retry.RACE, Retry.DEADLOCK, Retry.SERIALIZATION})
"""Kinds of faults in which nothing is away: two workers met, and the next try settles it."""

_MET_MAX_WAIT_S = 0.5  # the other one is done with its batch by then

PASSING_FAULTS: tuple[type[Exception], ...] = (*LEDGER_FAULTS, StreamAwayError, RecordTooLargeError)


def retrying(
    *,
    max_wait_s: float,
    stopping: asyncio.Event,
    before_retry: Callable[[BaseException, int], None],
    give_up: Callable[[BaseException], object],
    pointless: Callable[[], bool] = lambda: False,
) -> AsyncRetrying:
    """Give the attempts of something that may have to wait for Kafka or Postgres.

    Args:
        max_wait_s: The longest wait between two tries, in seconds.
        stopping: Once it is set, nothing is tried again.
        before_retry: Is told the fault and how many tries there were.
        give_up: Is told the last fault when a try fails and there is to be no other; raises, or not.
        pointless: Whether there is no use in another try.
    """

    def fault(state: RetryCallState) -> BaseException:
        error = state.outcome.exception() if state.outcome else None
        return error or RuntimeError("no fault to try again for")

    backoff = wait_random_exponential(multiplier=0.05, max=max_wait_s)
    short = wait_random_exponential(multiplier=0.05, max=min(_MET_MAX_WAIT_S, max_wait_s))

    def wait(state: RetryCallState) -> float:
        return (short if culprit(fault(state))[1] in MET else backoff)(state)

    async def pause(seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await stopping.wait()
        except TimeoutError:
            pass

    return AsyncRetrying(
        retry=retry_if_exception_type(PASSING_FAULTS),
        wait=wait,
        stop=lambda _state: stopping.is_set() or pointless(),
        before_sleep=lambda state: before_retry(fault(state), state.attempt_number),
        sleep=pause,
        retry_error_callback=lambda state: give_up(fault(state)),
    )


def culprit(error: BaseException) -> tuple[Component, Retry]:
    """Tell which side a fault is of, and what kind of a retry it asks for."""
    if isinstance(error, StreamAwayError | RecordTooLargeError):
        return Component.KAFKA, Retry.KAFKA
    return Component.DATABASE, Retry(kind_of(error))
