"""Between records and events: what a batch of records means, and what goes out for what it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from worker import __version__
from worker.events import (
    MATCH_FINISHED,
    BadEventError,
    Clock,
    Reject,
    dead_letter_headers,
    decode_by,
    encode_change,
    encode_notice,
)
from worker.ledger.values import Arrival, Origin, Refusal
from worker.rating.errors import UnknownPoolError
from worker.rating.model import Change
from worker.rating.named import new
from worker.stream.outbox import Outgoing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aiokafka.structs import ConsumerRecord

    from worker.ledger.values import Publication
    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

# Of a dead letter's value, below what the dead-letter topic takes with our headers on top.
_LARGEST_DEAD_LETTER = 1_900_000
# Of a tournament's event, which lists its entrants: what a topic takes by default.
_LARGEST_LIST = 1_000_000


class Translator:
    """Makes arrivals of records, and records of what they did.

    A value that the dead-letter topic does not take is left out of its dead letter, which names where it still is.
    """

    def __init__(self, settings: Settings, policies: PolicySet) -> None:
        self._settings = settings
        self._policies = policies
        self._max_ahead = timedelta(seconds=settings.max_future_s)
        self._left_out_from = _LARGEST_DEAD_LETTER + 1

    def arrivals(self, records: Iterable[ConsumerRecord[bytes, bytes]]) -> tuple[list[Arrival], list[Refusal]]:
        """Decode records; those that can't be are refused, each with its reason."""
        clock = Clock(datetime.now(UTC), self._max_ahead)
        arrivals: list[Arrival] = []
        refusals: list[Refusal] = []
        default_type = {self._settings.match_topic: MATCH_FINISHED}.get
        max_bytes = {self._settings.tournament_topic: max(self._settings.max_event_bytes, _LARGEST_LIST)}.get
        usual, versions = self._settings.max_event_bytes, self._policies.versions
        for record in records:
            topic = record.topic
            origin = new(Origin, (topic, record.partition, record.offset))
            try:
                decoded = decode_by(clock, record.value, record.headers, max_bytes(topic, usual), default_type(topic))
                pool = getattr(decoded.event, "pool", None)
                if pool is not None:
                    versions(pool)
                arrivals.append(new(Arrival, (origin, decoded)))
            except BadEventError as bad:
                refusals.append(Refusal(origin, bad.reason, bad.detail))
            except UnknownPoolError as unknown:
                refusals.append(Refusal(origin, Reject.UNKNOWN_POOL, str(unknown)))
        return arrivals, refusals

    def outgoing(self, publications: Iterable[Publication]) -> Iterator[Outgoing]:
        """Encode changes for the rating topic and notices for theirs, each when it is asked for."""
        changes, notices = self._settings.rating_topic, self._settings.notice_topic
        for what, traceparent in publications:
            if isinstance(what, Change):
                yield new(Outgoing, (changes, *encode_change(what, traceparent=traceparent)))
            else:
                yield Outgoing(notices, *encode_notice(what, traceparent=traceparent))

    def leave_out_from(self, size: int) -> None:
        """Leave values of this size and above, in bytes, out of dead letters: the topic turned out not to take one."""
        self._left_out_from = min(self._left_out_from, max(1, size))

    def dead_letters(
        self, refusals: Sequence[Refusal], records: Iterable[ConsumerRecord[bytes, bytes]]
    ) -> list[Outgoing]:
        """Make the dead letters of refused records: as they came, with the reason in their headers."""
        if not refusals:
            return []
        originals = {(record.topic, record.partition, record.offset): record for record in records}
        failed_at = datetime.now(UTC)
        letters: list[Outgoing] = []
        for origin, reason, detail in refusals:
            record = originals[origin]
            headers = dead_letter_headers(
                record.headers,
                reason=reason,
                detail=detail,
                topic=origin.topic,
                partition=origin.partition,
                offset=origin.offset,
                timestamp_ms=record.timestamp,
                group=self._settings.consumer_group,
                failed_at=failed_at,
                worker_version=__version__,
            )
            value = record.value
            if value is not None and len(value) >= self._left_out_from:
                headers.append(("dlq.value-left-out", f"{len(value)} bytes, too large for this topic".encode()))
                value = None
            letters.append(Outgoing(self._settings.dead_letter_topics[origin.topic], record.key, value, headers))
        return letters
