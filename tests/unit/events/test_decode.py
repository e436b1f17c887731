from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.events.samples import MAX_BYTES, NOW, TRACE, decode, event, players, raw
from worker.events import MATCH_FINISHED, BadEventError, Headers, Reject, decode_match
from worker.rating.model import Match, Side

TYPE = MATCH_FINISHED.encode()


def test_a_full_event_becomes_the_match_it_says() -> None:
    """Every field arrives in the match."""
    one = {"id": "ann", "score": 0.5, "attributes": {"birth_year": 2010}}
    value = event(
        match_type="tournament", tournament_id="t-9", verified=False, **players(one, {"id": "bob", "score": 0.5})
    )
    assert decode(raw(value)).match == Match(
        "m-1",
        "chess/blitz",
        datetime(2026, 11, 30, 8, 51, 12, 345678, tzinfo=UTC),
        (Side("ann", 0.5, 2010), Side("bob", 0.5)),
        "tournament",
        "t-9",
        verified=False,
    )


@pytest.mark.parametrize(("lo", "hi"), [("ann", "bob"), ("Zoe", "ann"), ("\uffff", "\U0001f469"), ("a", "a ")])
def test_the_sides_come_by_player_id(lo: str, hi: str) -> None:
    """Whoever is named first: what comes of a match is the same read from the stream or from the ledger."""
    one, two = {"id": lo, "score": 1}, {"id": hi, "score": 0}
    for sides in (players(one, two), players(two, one)):
        assert decode(raw(event(**sides))).match.sides == (Side(lo, 1.0), Side(hi, 0.0))


def test_what_is_left_out_takes_its_default() -> None:
    """The least event is a ranked, verified match outside of tournaments."""
    least = {key: value for key, value in event().items() if key not in {"match_type", "tournament_id", "verified"}}
    assert decode(raw(least)) == decode(raw(event()))


@pytest.mark.parametrize("attributes", [None, {}, {"birth_year": None}, {"country": "SO"}])
def test_attributes_without_a_birth_year_say_nothing(attributes: Any) -> None:
    """An absent birth year is None, however it is absent."""
    value = event(**players({"id": "ann", "score": 1, "attributes": attributes}, {"id": "bob", "score": 0}))
    assert decode(raw(value)).match.sides[0] == Side("ann", 1.0)


@pytest.mark.parametrize("score", ["1", "1.0", "1e0", "10E-1", "1.00000000000000000000000001"])
def test_a_number_may_be_written_in_any_way(score: str) -> None:
    """A score is the number that JSON says, and always comes out as a float."""
    value = raw(event()).replace(b'"score": 1', b'"score": ' + score.encode())
    assert repr(decode(value).match.sides[0].score) == "1.0"


def test_a_negative_zero_is_zero() -> None:
    """-0.0 must not travel on as another double than 0.0, with another digest."""
    value = raw(event()).replace(b'"score": 0', b'"score": -0.0')
    assert repr(decode(value).match.sides[1].score) == "0.0"
    assert decode(value).digest == decode(raw(event())).digest


def test_a_whole_birth_year_with_a_decimal_point_is_an_int() -> None:
    """JSON has one kind of number, Python two."""
    value = event(**players({"id": "ann", "score": 1, "attributes": {"birth_year": 2010.0}}, {"id": "bob", "score": 0}))
    assert repr(decode(raw(value)).match.sides[0].birth_year) == "2010"


@pytest.mark.parametrize(
    ("text", "micros_after_08_51_12"),
    [
        ("2026-11-30T08:51:12Z", 0),
        ("2026-11-30t08:51:12z", 0),
        ("2026-11-30T08:51:12.5Z", 500_000),
        ("2026-11-30T08:51:12.000001Z", 1),
        ("2026-11-30T08:51:12.1234569999Z", 123_456),
        ("2026-11-30T08:51:12.12345678901234567890+00:00", 123_456),
        ("2026-11-30T08:51:12-00:00", 0),
        ("2026-11-30T14:21:12+05:30", 0),
        ("2026-12-01T08:50:12+23:59", 0),
        ("2026-11-29T08:52:12-23:59", 0),
    ],
)
def test_a_time_is_an_instant_in_utc(text: str, micros_after_08_51_12: int) -> None:
    """Whatever RFC 3339 allows is read, to the microsecond, cut off and not rounded."""
    expected = datetime(2026, 11, 30, 8, 51, 12, tzinfo=UTC) + timedelta(microseconds=micros_after_08_51_12)
    finished_at = decode(raw(event(finished_at=text))).match.finished_at
    assert finished_at == expected
    assert finished_at.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["2016-12-31T23:59:60Z", "2016-12-31t23:59:60.999z", "2017-01-01T05:29:60+05:30", "2016-12-31T15:59:60-08:00"],
)
def test_a_leap_second_is_the_start_of_the_next(text: str) -> None:
    """A datetime has no 61st second, and a match must not be lost for it."""
    assert decode(raw(event(finished_at=text))).match.finished_at == datetime(2017, 1, 1, tzinfo=UTC)


def test_the_farthest_allowed_future_is_allowed() -> None:
    """Exactly 24 hours ahead of the clock is still taken, and the limit is the caller's."""
    assert decode(raw(event(finished_at="2026-12-01T12:00:00Z")))
    value = raw(event(finished_at="2026-12-30T12:00:00Z"))
    assert decode_match(value, (), now=NOW, max_bytes=MAX_BYTES, max_ahead=timedelta(days=30))


def test_a_value_of_exactly_the_limit_is_read() -> None:
    """The limit is the largest that is allowed."""
    value = raw(event())
    assert decode_match(value, (), now=NOW, max_bytes=len(value))
    with pytest.raises(BadEventError) as caught:
        decode_match(value, (), now=NOW, max_bytes=len(value) - 1)
    assert caught.value.reason is Reject.TOO_LARGE


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("match_id", "x" * 128),
        ("match_id", "\U0001f469" * 128),
        ("match_id", 'say "hello" \\ and |'),
        ("match_id", " "),
        ("match_id", "\u00a0\u2028\u202e\ufeff"),
        ("tournament_id", "t" * 128),
        ("pool", "chess/rapid 15+10"),
    ],
)
def test_an_id_may_be_any_text_without_control_characters(field: str, text: str) -> None:
    """Length counts characters, not bytes; quotes, backslashes and bars are as good as letters."""
    for ensure_ascii in (True, False):
        value = json.dumps(event(**{field: text}), ensure_ascii=ensure_ascii).encode()
        assert getattr(decode(value).match, field) == text


@pytest.mark.parametrize(
    "headers",
    [
        [("ce_type", TYPE)],
        [("ce_type", b"something-else"), ("ce_type", TYPE)],
        [
            ("ce_specversion", b"1.0"),
            ("ce_id", b"\xff\xfe"),
            ("ce_source", None),
            ("content-type", b"application/json"),
        ],
        [("content-type", None), ("ce_type", None), ("traceparent", None)],
    ],
)
def test_headers_are_accepted_and_not_required(headers: Headers) -> None:
    """Binary mode reads as a bare record does, and the last of two equal headers holds."""
    assert decode(raw(event()), headers) == decode(raw(event()))


@pytest.mark.parametrize(
    "content_type", [b"application/cloudevents+json", b"Application/CloudEvents+JSON; charset=utf-8"]
)
def test_structured_mode_reads_the_data_of_the_envelope(content_type: bytes) -> None:
    """An envelope means what its data means, and its type counts rather than any header's."""
    envelope = {
        "specversion": "1.0",
        "id": "1",
        "source": "/x",
        "type": MATCH_FINISHED,
        "traceparent": TRACE,
        "data": event(),
    }
    headers = [("content-type", content_type), ("ce_type", b"something-else")]
    decoded = decode(raw(envelope), headers)
    assert decoded == decode(raw(event()), [("traceparent", TRACE.encode())])
    assert decoded.traceparent == TRACE


@pytest.mark.parametrize("name", ["traceparent", "ce_traceparent"])
@pytest.mark.parametrize("trace", [TRACE, f"cc{TRACE[2:]}-what-a-later-version-adds"])
def test_a_trace_context_is_carried(name: str, trace: str) -> None:
    """A well-formed `traceparent`, also of a later version, comes along unchanged."""
    assert decode(raw(event()), [(name, trace.encode())]).traceparent == trace


@pytest.mark.parametrize(
    "trace",
    [
        b"",
        b"\xff",
        TRACE.upper().encode(),
        TRACE.encode() + b"\n",
        b"ff" + TRACE[2:].encode(),
        TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32).encode(),
        TRACE.replace("00f067aa0ba902b7", "0" * 16).encode(),
    ],
)
def test_a_malformed_trace_context_is_dropped(trace: bytes) -> None:
    """Tracing is never a reason to refuse a match, nor to publish rubbish."""
    assert decode(raw(event()), [("traceparent", trace)]).traceparent is None
