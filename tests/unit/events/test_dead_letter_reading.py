from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.events.test_dead_letter import ORIGINAL, headers_of
from worker.events import (
    Failure,
    Headers,
    Place,
    Reject,
    load_schema,
    mark_headers,
    original_headers,
    read_failure,
    read_mark,
    replay_headers,
    validator,
)

LETTER = Place("match-events.dlq", 0, 17)
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

NAMES = st.text(max_size=8) | st.sampled_from([name for name, _ in headers_of()])
HEADERS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=30)))


def test_what_is_written_is_read() -> None:
    """Every fact of a dead letter's headers comes back with its type."""
    assert read_failure(headers_of(ORIGINAL)) == Failure(
        reason="self-play",
        detail="both are 'ann'",
        origin=Place("match-events", 3, 48_213),
        timestamp_ms=1_796_028_672_345,
        group="rating-worker",
        failed_at=datetime(2026, 11, 30, 8, 51, 13, tzinfo=UTC),
        worker_version="0.1.0",
        left_out=None,
        attempt=1,
        replayed_from=None,
    )


def test_of_names_that_come_twice_the_last_ones_are_ours() -> None:
    """What a producer or another tool wrote under our names does not pass for what this worker says."""
    told = read_failure(headers_of([("dlq.value-left-out", b"9 bytes"), *headers_of(topic="elsewhere")], offset=5))
    assert told is not None
    assert (told.origin, told.left_out) == (Place("match-events", 3, 5), None)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ORIGINAL,
        headers_of()[:-1],
        headers_of(topic="a/b"),
        headers_of(offset=-1),
        [*headers_of(), ("dlq.failed-at", b"yesterday")],
        [*headers_of(), ("dlq.failed-at", b"0001-01-01T00:00:00+14:00")],
        [*headers_of(), ("dlq.reason", b"schema")],
        mark_headers(LETTER, 2, NOW, Place("match-events", 0, 1)),
    ],
    ids=str,
)
def test_what_no_worker_wrote_is_no_dead_letter(headers: Headers) -> None:
    """A record without our headers, with some of them or with senseless ones is not taken for a letter."""
    assert read_failure(headers) is None


@given(HEADERS)
def test_any_headers_can_be_read(headers: Headers) -> None:
    """Whatever a record in a dead-letter topic says of itself, reading it breaks nothing."""
    read_failure(headers)
    read_mark(headers)
    read_failure([*headers_of(), *headers])


@given(HEADERS.map(original_headers))
def test_a_record_goes_back_with_the_headers_that_it_came_with(original: Headers) -> None:
    """Over any number of rounds: to the byte, in their order, names that come twice included."""
    sent: Headers = original
    for attempt in range(2, 5):
        letter = headers_of(sent)
        assert original_headers(letter) == original
        sent = replay_headers(letter, LETTER, attempt, NOW)
        assert sent[: len(original)] == original
        assert len(sent) == len(original) + 3


def test_no_header_of_ours_goes_back() -> None:
    """Whatever the contract names is ours, and none of it stays on a record that is sent back."""
    assert original_headers([(name, b"x") for name in load_schema("dead-letter-headers")["properties"]]) == []
    assert original_headers(mark_headers(LETTER, 2, NOW, LETTER)) == []


def test_a_record_that_fails_again_carries_its_attempt() -> None:
    """Its letter tells which attempt it was and which letter it was before; the contract holds for it."""
    again = headers_of(replay_headers(headers_of(ORIGINAL), LETTER, 2, NOW), reason=Reject.CONFLICT)
    failure = read_failure(again)
    assert failure is not None
    assert (failure.reason, failure.attempt, failure.replayed_from) == ("conflict", 2, LETTER)
    ours = {name: (value or b"").decode() for name, value in again if name.startswith("dlq.")}
    validator("dead-letter-headers").validate(ours)


@pytest.mark.parametrize(
    ("written", "attempt"),
    [(b"", 1), (b"0", 1), (b"-3", 1), (b"2", 2), (b"many", 1), (b"9" * 30, 1), (b"9" * 12, 10**6)],
)
def test_attempts_that_somebody_made_up(written: bytes, attempt: int) -> None:
    """A count is a count, from one."""
    failure = read_failure(headers_of([("dlq.attempt", written)]))
    assert failure is not None
    assert failure.attempt == attempt


def test_a_mark_says_what_was_sent_back_and_to_where() -> None:
    """It is read back as it was written, and a dead letter never passes for one."""
    to, at = Place("match-events", 3, 48_300), NOW + timedelta(microseconds=1)
    mark = read_mark(mark_headers(LETTER, 2, at, to))
    assert mark is not None
    assert (mark.letter, mark.to, mark.at, mark.attempt) == (LETTER, to, at, 2)
    assert read_mark(replay_headers([], LETTER, 2, at)) is None
    assert read_mark(headers_of(mark_headers(LETTER, 2, at, to))) is None


@pytest.mark.parametrize(
    "text", ["", "a/0", "a/0/-1", "a/x/1", "a b/0/1", "a/0/1/2", "a/0/1\n", "a/٣/1", "a/0/" + "9" * 30]
)
def test_what_is_no_place(text: str) -> None:
    """A place is a topic's name, a partition and an offset."""
    with pytest.raises(ValueError, match="TOPIC/PARTITION/OFFSET"):
        Place.parse(text)


def test_a_place_as_text() -> None:
    """What is printed can be typed."""
    assert Place.parse(str(LETTER)) == LETTER == ("match-events.dlq", 0, 17)
