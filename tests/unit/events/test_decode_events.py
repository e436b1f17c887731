from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given

from tests.unit.events.documents import DOCUMENTS, MEANINGS, events, take, typed
from tests.unit.events.samples import MAX_BYTES, NOW, TRACE, by_player, decode, event, raw
from worker.events import (
    ENTRIES_CLOSED,
    INCOMING,
    MATCH_FINISHED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    TOURNAMENT_FINISHED,
    BadEventError,
    Reject,
    encode_event,
    event_digest,
    event_key,
    incoming_id,
    name_of,
    validator,
)
from worker.events import decode as decode_any
from worker.rating.model import Event, Match, Sanction

STRUCTURED = ("content-type", b"application/cloudevents+json")
TYPES = [ce_type for ce_type in INCOMING if ce_type != MATCH_FINISHED]


@pytest.mark.parametrize("ce_type", TYPES, ids=name_of)
def test_a_full_event_becomes_what_it_says(ce_type: str) -> None:
    """Every field arrives, lists in the order in which they came, times in UTC."""
    decoded = take(raw(DOCUMENTS[ce_type]), typed(ce_type))
    assert decoded.event == MEANINGS[ce_type]
    assert type(decoded.event) is type(MEANINGS[ce_type])
    assert decoded.id == incoming_id(decoded.event)
    assert decoded.digest == event_digest(decoded.event)
    assert decoded.traceparent is None


def test_a_trace_context_is_carried() -> None:
    """From an envelope or, rather, a header, as with matches; a malformed one is dropped."""
    document, envelope = DOCUMENTS[MATCH_VOIDED], {"type": MATCH_VOIDED, "data": DOCUMENTS[MATCH_VOIDED]}
    assert take(raw(document), [*typed(MATCH_VOIDED), ("traceparent", TRACE.encode())]).traceparent == TRACE
    assert take(raw(envelope | {"traceparent": TRACE}), [STRUCTURED]).traceparent == TRACE
    later = TRACE.replace("00-", "01-", 1)
    both = [STRUCTURED, ("traceparent", later.encode())]
    assert take(raw(envelope | {"traceparent": TRACE}), both).traceparent == later
    assert take(raw(document), [*typed(MATCH_VOIDED), ("traceparent", b"yes")]).traceparent is None


def sanction(**fields: Any) -> Sanction:
    taken = take(raw(DOCUMENTS[PLAYER_SANCTIONED] | fields), typed(PLAYER_SANCTIONED)).event
    assert isinstance(taken, Sanction)
    return taken


def test_a_sanction_without_end_and_pool_has_none() -> None:
    """Left out and null are the same."""
    least = {key: value for key, value in DOCUMENTS[PLAYER_SANCTIONED].items() if key not in {"ends_at", "pool"}}
    taken = take(raw(least), typed(PLAYER_SANCTIONED))
    assert taken.event == sanction(ends_at=None, pool=None)
    assert sanction(ends_at=None, pool=None)[4:6] == (None, None)


@pytest.mark.parametrize("kind", ["suspension", "tournament-ban"])
def test_a_sanction_may_be_set_for_a_time_to_come(kind: str) -> None:
    """What will be in force next year can be said today, and a microsecond is long enough."""
    future = {"starts_at": "2027-05-01T00:00:00Z", "ends_at": "2027-05-01T00:00:00.000001Z"}
    taken = sanction(kind=kind, **future)
    assert taken.starts_at == datetime(2027, 5, 1, tzinfo=UTC)
    assert taken.ends_at == datetime(2027, 5, 1, 0, 0, 0, 1, tzinfo=UTC)


def test_the_farthest_allowed_future_is_allowed() -> None:
    """Exactly 24 hours ahead of the clock is still taken, and the limit is the caller's."""
    document = DOCUMENTS[MATCH_VOIDED] | {"voided_at": "2026-12-01T12:00:00Z"}
    assert take(raw(document), typed(MATCH_VOIDED))
    with pytest.raises(BadEventError) as caught:
        decode_any(
            raw(document), typed(MATCH_VOIDED), now=NOW, max_bytes=MAX_BYTES, max_ahead=timedelta(hours=23, minutes=59)
        )
    assert caught.value.reason is Reject.FUTURE


@pytest.mark.parametrize("why", ["x", "x" * 1000, "\U0001f469" * 1000, "a\r\n\tb", "\u00a0.", "نص\u202e"])
def test_a_reason_may_be_any_text_that_people_write(why: str) -> None:
    """Lines and tabs are fine in a text for people; length counts characters, not bytes."""
    assert sanction(why=why).why == why


def test_ten_thousand_long_names_are_taken_within_the_limit_of_the_caller() -> None:
    """The largest tournament that the contract allows: 5 MB of ids of 128 characters with 4 bytes each."""
    players = [f"{number:05}".ljust(128, "\U0001f469") for number in range(10_000)]
    for ce_type, field in ((ENTRIES_CLOSED, "entrants"), (TOURNAMENT_FINISHED, "standings")):
        value = raw(DOCUMENTS[ce_type] | {field: players})
        taken = take(value, typed(ce_type), max_bytes=len(value))
        assert taken.event[3] == tuple(players)
        with pytest.raises(BadEventError) as caught:
            take(value, typed(ce_type))
        assert caught.value.reason is Reject.TOO_LARGE


def test_a_tournament_that_nobody_played_has_empty_standings() -> None:
    """All entrants may have been refused; the end of the tournament is still a fact."""
    document = DOCUMENTS[TOURNAMENT_FINISHED] | {"standings": []}
    assert take(raw(document), typed(TOURNAMENT_FINISHED)).event[3] == ()


@given(events)
def test_an_event_comes_back_from_its_bytes(event: Event) -> None:
    """`decode` takes back what `encode_event` wrote, and its schema accepts it."""
    value = encode_event(event)
    document = orjson.loads(value)
    validator(document.get("type", "match-finished")).validate(document)
    decoded = take(value, default_type=MATCH_FINISHED)
    if isinstance(event, Match):
        event = by_player(event)
    assert decoded.event == event
    assert type(decoded.event) is type(event)
    if isinstance(event, Match):
        assert decoded[::2] == (event, decode(value).digest)


def test_what_belongs_together_has_one_key() -> None:
    """A match and its void, a sanction and its lift, and all of a tournament lie on one partition each."""
    keys = {name_of(ce_type): event_key(meaning) for ce_type, meaning in MEANINGS.items()}
    assert keys == {
        "match-voided": b"chess/blitz|ann|bob",
        "player-sanctioned": b"ann",
        "sanction-lifted": b"ann",
        "tournament-opened": b"t-1",
        "entries-closed": b"t-1",
        "tournament-finished": b"t-1",
    }
    assert event_key(decode(raw(event())).match) == keys["match-voided"]
