from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.events import Headers, Reject, dead_letter_headers, validator

ORIGINAL: Headers = [("ce_id", b"7f3c"), ("x", None), ("x", b"\xff\x00")]


def headers_of(original: Headers = (), **fields: Any) -> list[tuple[str, bytes | None]]:
    usual: dict[str, Any] = {
        "reason": Reject.SELF_PLAY,
        "detail": "both are 'ann'",
        "topic": "match-events",
        "partition": 3,
        "offset": 48_213,
        "timestamp_ms": 1_796_028_672_345,
        "group": "rating-worker",
        "failed_at": datetime(2026, 11, 30, 8, 51, 13, tzinfo=UTC),
        "worker_version": "0.1.0",
    }
    return dead_letter_headers(original, **usual | fields)


def test_a_dead_letter_says_why_and_where_from_in_text() -> None:
    """Every header of ours is UTF-8 text, so that any tool shows it."""
    assert headers_of() == [
        ("dlq.reason", b"self-play"),
        ("dlq.detail", b"both are 'ann'"),
        ("dlq.topic", b"match-events"),
        ("dlq.partition", b"3"),
        ("dlq.offset", b"48213"),
        ("dlq.timestamp", b"1796028672345"),
        ("dlq.consumer-group", b"rating-worker"),
        ("dlq.failed-at", b"2026-11-30T08:51:13Z"),
        ("dlq.worker-version", b"0.1.0"),
    ]


def test_the_original_headers_come_first_and_untouched() -> None:
    """Not a byte of what came is lost, also on the second round through the dead letters."""
    once = headers_of(ORIGINAL)
    twice = headers_of(once, reason=Reject.CONFLICT)
    assert once[:3] == ORIGINAL
    assert twice[: len(once)] == once
    assert dict(twice)["dlq.reason"] == b"conflict"


@pytest.mark.parametrize("timestamp", [None, -1])
def test_a_record_without_a_timestamp_has_no_such_header(timestamp: int | None) -> None:
    """Kafka says -1 where there is none."""
    assert "dlq.timestamp" not in dict(headers_of(timestamp_ms=timestamp))


@given(st.sampled_from(Reject), st.text(min_size=1), st.datetimes(timezones=st.just(UTC)))
def test_our_headers_fit_their_schema(reason: Reject, detail: str, failed_at: datetime) -> None:
    """Whatever the detail holds, lone surrogates included, the header is text that the schema accepts."""
    ours = headers_of(reason=reason, detail=detail, failed_at=failed_at)
    validator("dead-letter-headers").validate({name: (value or b"").decode() for name, value in ours})


def test_a_long_detail_is_cut() -> None:
    """A database's essay doesn't make the record too large for its topic."""
    detail = dict(headers_of(detail="x" * 100_000))["dlq.detail"]
    assert detail is not None
    assert detail.decode() == "x" * 1000 + "…"
