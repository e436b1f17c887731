"""What can go wrong with Kafka, sorted by what to do about it. Outside of stream/ nobody meets aiokafka's errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalOperation,
    InvalidProducerEpoch,
    InvalidSessionTimeoutError,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerFenced,
    RecordListTooLargeError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# Another producer was started with our transactional id: on purpose by who took our partitions, by mistake by a second
# worker with our instance id, or by the broker when a transaction timed out. aiokafka names it by either.
FENCED: tuple[type[Exception], ...] = (ProducerFenced, InvalidProducerEpoch)

# A topic does not take a batch, or our own client does not send it.
TOO_LARGE: tuple[type[Exception], ...] = (MessageSizeTooLargeError, RecordListTooLargeError)

_NOT_ALLOWED: tuple[type[Exception], ...] = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)


class BatchLostError(Exception):
    """This batch is no longer ours to finish, or may be finished already: drop it, go on from committed offsets.

    Attributes:
        kind: `fenced`, `commit-unknown`, `reassigned` or `stopping`; for the log.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StreamAwayError(Exception):
    """Kafka is away or did not answer in time; worth trying again."""


class RecordTooLargeError(Exception):
    """A topic does not take a batch of records, or a single one, for its size; the same again does not help.

    Attributes:
        topic: The topic.
        records: How many records there were in the batch.
        size: How large it was, in bytes.
        first_value: The size of the first record's value, in bytes; of a single record that is all there is to say.
    """

    def __init__(self, topic: str, records: int, size: int, first_value: int) -> None:
        super().__init__(f"topic {topic} takes no batch of {records} records and {size} bytes")
        self.topic = topic
        self.records = records
        self.size = size
        self.first_value = first_value

    def facts(self) -> dict[str, object]:
        """Give what a log line should say."""
        return {"topic": self.topic, "records": self.records, "bytes": self.size}


class StreamSetupError(Exception):
    """Kafka can't be worked with until somebody mends it: says what is wrong and what to do."""


@contextmanager
def stream_faults() -> Iterator[None]:
    """Turn what aiokafka raises into this module's errors.

    Raises:
        StreamAwayError: What passes by itself.
        StreamSetupError: Rights or a login that somebody must mend.
    """
    try:
        yield
    except InvalidSessionTimeoutError as error:
        raise StreamSetupError(
            "The broker refuses RATING_SESSION_TIMEOUT_MS: set it between the broker's group.min.session.timeout.ms "
            "(6000 by default) and group.max.session.timeout.ms."
        ) from error
    except _NOT_ALLOWED as error:
        raise StreamSetupError(f"Kafka refuses: {error!r}. Mend the login, or the rights of this user.") from error
    except (KafkaError, OSError, TimeoutError, AssertionError, IllegalOperation) as error:
        # The last two are how aiokafka says that a producer is in the wrong state after a fault; a new one is started.
        raise StreamAwayError(f"Kafka is away or too slow: {error!r}") from error
