"""What aiokafka logs while a group finds its coordinator, which needs nobody unless it goes on.

A broker that is new makes its topic of offsets when the first group asks for it, and one that has just started reads
it; until then it answers that there is no coordinator, and aiokafka reports each answer as an error.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from aiokafka.errors import CoordinatorNotAvailableError, NotCoordinatorForGroupError

if TYPE_CHECKING:
    from collections.abc import Callable

_LOGGER = "aiokafka.consumer.group_coordinator"
_PASSES_WITHIN_S = 30.0
_OVER_AFTER_S = 10.0  # without a word
_PASSING = (CoordinatorNotAvailableError, NotCoordinatorForGroupError)
_LOST = "Marking the coordinator dead"
_ADVICE = (
    "no broker coordinates the consumer group, trying again: %s. If this goes on, look at the brokers: the topic "
    "__consumer_offsets may lack replicas (offsets.topic.replication.factor)"
)


class CoordinatorFilter(logging.Filter):
    """Lets through only what is said of a missing coordinator for longer than a start takes, with what to do about it.

    Args:
        clock: Gives the time, in seconds; for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._first = self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is to be logged."""
        now = self._clock()
        if isinstance(record.args, tuple) and any(isinstance(one, _PASSING) for one in record.args):
            if now - self._last > _OVER_AFTER_S:
                self._first = now
            self._last = now
            record.msg = _ADVICE
        elif not (str(record.msg).startswith(_LOST) and now - self._last <= _OVER_AFTER_S):
            return True
        return now - self._first > _PASSES_WITHIN_S


def install() -> None:
    """Put the filter where aiokafka logs; a second time changes nothing."""
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(one, CoordinatorFilter) for one in logger.filters):
        logger.addFilter(CoordinatorFilter())
