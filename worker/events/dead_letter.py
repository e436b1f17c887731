"""The headers that say why a record is in the dead-letter topic, and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.events.rfc3339 import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from worker.events.reject import Reject

_DETAIL = 1000


def dead_letter_headers(
    original: Sequence[tuple[str, bytes | None]],
    *,
    reason: Reject,
    detail: str,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int | None,
    group: str,
    failed_at: datetime,
    worker_version: str,
) -> list[tuple[str, bytes | None]]:
    """Return the headers of a dead letter: the original ones untouched and first, then ours under `dlq.`.

    All of ours are text. Of a record that was sent again with them and failed again, the last ones hold; a replay
    (`dead_letter_reading`) takes the old ones off, and leaves those that count its attempts.

    Args:
        original: The record's headers.
        reason: Why it was refused; a small closed set.
        detail: The same as a sentence; cut after 1,000 characters.
        topic: Where the record came from, with its `partition` and `offset`.
        partition: See `topic`.
        offset: See `topic`.
        timestamp_ms: The record's Kafka timestamp in milliseconds since 1970, None or -1 where it has none.
        group: The consumer group that refused it.
        failed_at: When it did, aware.
        worker_version: The version of the worker that did.
    """
    ours = {
        "dlq.reason": reason.value,
        "dlq.detail": detail if len(detail) <= _DETAIL else f"{detail[:_DETAIL]}…",
        "dlq.topic": topic,
        "dlq.partition": str(partition),
        "dlq.offset": str(offset),
        "dlq.timestamp": None if timestamp_ms is None or timestamp_ms < 0 else str(timestamp_ms),
        "dlq.consumer-group": group,
        "dlq.failed-at": format_time(failed_at),
        "dlq.worker-version": worker_version,
    }
    added = [(name, text.encode(errors="backslashreplace")) for name, text in ours.items() if text is not None]
    return [*original, *added]
