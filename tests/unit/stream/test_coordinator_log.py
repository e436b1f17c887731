"""What aiokafka says of a coordinator that is not there yet is kept back, and comes out when it goes on."""

from __future__ import annotations

import logging

import pytest
from aiokafka.errors import CoordinatorNotAvailableError, GroupAuthorizationFailedError, KafkaError

from worker.stream.coordinator_log import CoordinatorFilter

AWAY = CoordinatorNotAvailableError("")


class Log:
    """A filter at a time that the test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._filter = CoordinatorFilter(lambda: self.now)

    def says(self, message: str, *args: object) -> str | None:
        """Give what comes of a record of aiokafka's; None for nothing."""
        record = logging.LogRecord("aiokafka", logging.ERROR, "", 0, message, args, None)
        return record.getMessage() if self._filter.filter(record) else None

    def failed(self, error: KafkaError = AWAY) -> str | None:
        """Report that looking for the coordinator has failed."""
        return self.says("Group Coordinator Request failed: %s", error)


@pytest.fixture
def log() -> Log:
    """Give a filter that has heard nothing yet."""
    return Log()


def test_a_start_is_quiet(log: Log) -> None:
    """While a coordinator is looked for, and lost once more, nothing is said; a later start is as quiet."""
    for start in (1_000.0, 9_000.0):
        for second in range(0, 30, 2):
            log.now = start + second
            assert log.failed() is None
            assert log.says("Marking the coordinator dead (node %s)for group %s.", 1, "g") is None


def test_what_goes_on_is_told(log: Log) -> None:
    """After half a minute without a break it is told, with what may be the cause."""
    said = []
    for second in range(0, 40, 2):
        log.now = 1_000.0 + second
        said.append(log.failed())
    assert said[:16] == [None] * 16
    assert all(one and "offsets.topic.replication.factor" in one and "[Error 15]" in one for one in said[16:])


def test_all_else_is_told_at_once(log: Log) -> None:
    """A right that lacks, or a coordinator that is lost in the midst of work, is told as ever."""
    assert log.failed(GroupAuthorizationFailedError("g"))
    assert log.says("Marking the coordinator dead (node %s)for group %s.", 1, "g")
    log.failed()
    log.now += 11
    assert log.says("Marking the coordinator dead (node %s)for group %s.", 1, "g")
