from __future__ import annotations

import math
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.events.documents import notices
from tests.unit.events.samples import TRACE, ids, zones
from worker.events import OUTGOING, RATING_CHANGED, encode_notice, name_of, notice_id, validator
from worker.rating.model import Notice, NoticeKind

INACTIVE = Notice(
    kind=NoticeKind.PLAYER_INACTIVE,
    key="shax\x1fann\x1f2026-11-28",
    subject="shax|ann",
    occurred_at=datetime(2026, 11, 28, 17, 3, 9, 250_000, tzinfo=UTC),
    body={
        "player_id": "ann",
        "pool": "shax",
        "policy": {"name": "biciid", "version": 1, "digest": "d1"},
        "last_played_at": datetime(2026, 8, 30, 17, 3, 9, 250_000, tzinfo=UTC),
    },
)


def like(notice: Notice, **fields: Any) -> Notice:
    """Return a notice that differs in some fields."""
    names = ("kind", "key", "subject", "occurred_at", "body")
    return Notice(**{name: fields.get(name, getattr(notice, name)) for name in names})


def as_jsonb(value: Any) -> Any:
    """Return a body as Postgres gives it back: keys by length, times and days as text, tuples as lists."""
    if isinstance(value, dict):
        return {key: as_jsonb(value[key]) for key in sorted(value, key=lambda key: (len(key), key))}
    if isinstance(value, list):
        return [as_jsonb(item) for item in value]
    return value


@given(notices)
def test_every_notice_fits_its_closed_schema(notice: Notice) -> None:
    """What is published is what the contract says, and nothing beside it."""
    encoded = encode_notice(notice)
    value = orjson.loads(encoded.value)
    validator(notice.kind).validate(value)
    headers = dict(encoded.headers)
    assert headers["ce_type"] == f"org.rating-worker.{notice.kind}.v1".encode()
    assert headers["ce_id"].decode() == value["event_id"] == notice_id(notice.kind, notice.key)
    assert headers["ce_time"].decode() == value["occurred_at"]
    assert datetime.fromisoformat(value["occurred_at"]) == notice.occurred_at
    assert headers["ce_subject"] == encoded.key == notice.subject.encode()


@given(notices, zones)
def test_equal_notices_have_equal_bytes(notice: Notice, zone: Any) -> None:
    """A notice read back from the ledger is the event that was published before, to the byte."""
    encoded = encode_notice(notice)
    kept = as_jsonb(orjson.loads(encoded.value))
    del kept["event_id"], kept["occurred_at"]
    again = like(
        notice, kind=notice.kind.value, body=MappingProxyType(kept), occurred_at=notice.occurred_at.astimezone(zone)
    )
    assert encode_notice(again) == encoded


def test_the_record_never_changes() -> None:
    """Consumers deduplicate by it: another worker version writes the same."""
    encoded = encode_notice(INACTIVE, traceparent=TRACE)
    assert encoded.key == b"shax|ann"
    assert encoded.value == (
        b'{"event_id":"7beb738b8edb529de1d101da6924589c","last_played_at":"2026-08-30T17:03:09.250000Z","player_id":"ann",'
        b'"policy":{"digest":"d1","name":"biciid","version":1},"pool":"shax","occurred_at":"2026-11-28T17:03:09.250000Z"}'
    )
    assert encoded.headers == [
        ("ce_specversion", b"1.0"),
        ("ce_type", b"org.rating-worker.player-inactive.v1"),
        ("content-type", b"application/json"),
        ("ce_id", b"7beb738b8edb529de1d101da6924589c"),
        ("ce_source", b"/rating-worker"),
        ("ce_time", b"2026-11-28T17:03:09.250000Z"),
        ("ce_subject", b"shax|ann"),
        ("traceparent", TRACE.encode()),
    ]


def test_a_trace_context_never_comes_from_nowhere() -> None:
    """And the source is the operator's choice."""
    headers = dict(encode_notice(INACTIVE, source="https://elo.example/eu").headers)
    assert "traceparent" not in headers
    assert headers["ce_source"] == b"https://elo.example/eu"


def test_negative_zeros_and_days_have_one_form() -> None:
    """0.0 and -0.0 are one number, and a day is the text that it is kept as."""
    one = like(INACTIVE, body={"a": -0.0, "b": [date(2026, 11, 30)], "c": (True, None, 1, "x")})
    two = like(INACTIVE, body={"c": [True, None, 1, "x"], "b": ["2026-11-30"], "a": 0.0})
    assert encode_notice(one) == encode_notice(two)
    assert b'"a":0.0,"b":["2026-11-30"],"c":[true,null,1,"x"]' in encode_notice(one).value


@pytest.mark.parametrize("rating", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_not_published(rating: float) -> None:
    """JSON would make a null of it, however deep it lies."""
    with pytest.raises(ValueError, match="is no number that an event can hold"):
        encode_notice(like(INACTIVE, body={"seeds": [{"rating": rating}]}))


@given(st.tuples(st.sampled_from(NoticeKind), ids), st.tuples(st.sampled_from(NoticeKind), ids))
@example((NoticeKind.PLAYER_INACTIVE, "a"), (NoticeKind.POLICY_CHANGED, "a"))
def test_another_notice_has_another_id(one: tuple[NoticeKind, str], two: tuple[NoticeKind, str]) -> None:
    """Kind and key name an event."""
    assert (notice_id(*one) == notice_id(*two)) == (one == two)


def test_every_kind_has_a_type() -> None:
    """What the core can tell, the contract knows."""
    assert {name_of(ce_type) for ce_type in OUTGOING if ce_type != RATING_CHANGED} == set(NoticeKind)
