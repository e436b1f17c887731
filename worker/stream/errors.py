"""What can go wrong with Kafka, sorted by what to do about it."""

from __future__ import annotations

from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced

# Another producer was started with our transactional id: on purpose by who took our partitions, by mistake by a second
# worker with our instance id, or by the broker when a transaction timed out. aiokafka names it by either.
FENCED: tuple[type[Exception], ...] = (ProducerFenced, InvalidProducerEpoch)


class BatchLostError(Exception):
    """This batch is no longer ours to finish, or may be finished already: drop it, go on from committed offsets.

    Attributes:
        kind: `fenced`, `commit-unknown` or `reassigned`; for the log and the metric.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StreamSetupError(Exception):
    """Kafka can't be worked with until somebody mends it: says what is wrong and what to do."""


# What Kafka or the way to it can say that passes by itself.
PASSING_FAULTS: tuple[type[Exception], ...] = (KafkaError, OSError, TimeoutError)
