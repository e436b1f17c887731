from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.events.documents import DOCUMENTS, refusal, take, typed
from tests.unit.events.samples import raw
from worker.events import (
    ENTRIES_CLOSED,
    INCOMING,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    TOURNAMENT_FINISHED,
    TOURNAMENT_OPENED,
    BadEventError,
    Reject,
    name_of,
)

MANY = [f"player-{number}" for number in range(10_000)]
TYPES = list(DOCUMENTS)
TIMES = {
    MATCH_VOIDED: "voided_at",
    SANCTION_LIFTED: "lifted_at",
    TOURNAMENT_OPENED: "opened_at",
    ENTRIES_CLOSED: "closed_at",
    TOURNAMENT_FINISHED: "finished_at",
    PLAYER_SANCTIONED: "starts_at",
}
HAPPENED = [(ce_type, field) for ce_type, field in TIMES.items() if ce_type != PLAYER_SANCTIONED]

# The event and the fields that spoil it → the reason, and what the sentence must name.
FAULTS: dict[str, tuple[str, dict[str, Any], Reject, str]] = {
    "self-void": (
        MATCH_VOIDED,
        {"players": ["ann", "ann"]},
        Reject.SELF_PLAY,
        "$.players[0] and $.players[1] are both 'ann'; they must differ",
    ),
    "a void of three": (MATCH_VOIDED, {"players": ["a", "b", "c"]}, Reject.SCHEMA, "it must be exactly two ids"),
    "a void with scores": (
        MATCH_VOIDED,
        {"players": [{"id": "ann", "score": 1}, "bob"]},
        Reject.BAD_ID,
        '$.players[0] is {"id":"ann","score":1}; it must be a string of 1 to 128',
    ),
    "a void of an empty name": (MATCH_VOIDED, {"players": ["", "bob"]}, Reject.BAD_ID, "$.players[0] is ''"),
    "a void with a bar in its pool": (MATCH_VOIDED, {"pool": "a|b"}, Reject.BAD_ID, "or '|'"),
    "a void without pool": (MATCH_VOIDED, {"pool": None}, Reject.BAD_ID, "$.pool is null"),
    "no reason": (MATCH_VOIDED, {"why": ""}, Reject.SCHEMA, "$.why is ''; it must be a text of 1 to 1,000 characters"),
    "a blank reason": (MATCH_VOIDED, {"why": " \t\r\n\u2003"}, Reject.SCHEMA, r"$.why is ' \t\r\n\u2003'"),
    "1001 characters": (MATCH_VOIDED, {"why": "x" * 1001}, Reject.SCHEMA, "1 to 1,000 characters"),
    "60,000 characters": (MATCH_VOIDED, {"why": "x" * 60_000}, Reject.SCHEMA, "1 to 1,000 characters"),
    "a NUL in a reason": (MATCH_VOIDED, {"why": "a\0b"}, Reject.SCHEMA, r"$.why is 'a\x00b'"),
    "an escape in a reason": (SANCTION_LIFTED, {"why": "\x1b[31mred"}, Reject.SCHEMA, r"'\x1b[31mred'"),
    "a C1 control in a reason": (SANCTION_LIFTED, {"why": "a\x85"}, Reject.SCHEMA, r"'a\x85'"),
    "a reason as number": (SANCTION_LIFTED, {"why": 5}, Reject.SCHEMA, "$.why is 5"),
    "nobody": (SANCTION_LIFTED, {"by": ""}, Reject.BAD_ID, "$.by is ''"),
    "null as judge": (PLAYER_SANCTIONED, {"by": None}, Reject.BAD_ID, "$.by is null"),
    "two judges": (PLAYER_SANCTIONED, {"by": ["a", "b"]}, Reject.BAD_ID, '$.by is ["a","b"]'),
    "an end before the start": (
        PLAYER_SANCTIONED,
        {"ends_at": "2026-11-30T08:51:12.345677Z"},
        Reject.BAD_TIME,
        "Z' and $.starts_at '2026-11-30T11:51:12.345678+03:00'; a sanction must end after it starts",
    ),
    "an end at the start": (
        PLAYER_SANCTIONED,
        {"ends_at": "2026-11-30T08:51:12.345678Z"},
        Reject.BAD_TIME,
        "must end after it starts",
    ),
    "a reset with an end": (
        PLAYER_SANCTIONED,
        {"kind": "rating-reset"},
        Reject.BAD_TIME,
        "an offset, such as 2026-11-30T08:51:12.345Z, or null, and null for a rating-reset",
    ),
    "a reset to come": (
        PLAYER_SANCTIONED,
        {"kind": "rating-reset", "ends_at": None, "starts_at": "2026-12-01T12:00:01Z"},
        Reject.FUTURE,
        "$.starts_at is '2026-12-01T12:00:01Z', 1 day 1 s ahead",
    ),
    "an end on no day": (
        PLAYER_SANCTIONED,
        {"ends_at": "2027-02-29T00:00:00Z"},
        Reject.BAD_TIME,
        "$.ends_at is '2027-02-29T00:00:00Z': day ",
    ),
    "an end that is a number": (PLAYER_SANCTIONED, {"ends_at": 5}, Reject.BAD_TIME, "$.ends_at is 5"),
    "an end that never comes": (PLAYER_SANCTIONED, {"ends_at": ""}, Reject.BAD_TIME, "or null"),
    "another kind": (PLAYER_SANCTIONED, {"kind": "reset"}, Reject.SCHEMA, "$.kind is 'reset'; it must be one of 'rati"),
    "no kind": (PLAYER_SANCTIONED, {"kind": None}, Reject.SCHEMA, "$.kind is null"),
    "every pool as text": (PLAYER_SANCTIONED, {"pool": ""}, Reject.BAD_ID, "$.pool is ''; it must be a string of 1"),
    "a list of pools": (PLAYER_SANCTIONED, {"pool": ["a"]}, Reject.BAD_ID, "or '|', or null"),
    "a player as object": (PLAYER_SANCTIONED, {"player_id": {"id": "a"}}, Reject.BAD_ID, '$.player_id is {"id":"a"}'),
    "a sanction too long": (SANCTION_LIFTED, {"sanction_id": "s" * 129}, Reject.BAD_ID, "$.sanction_id is 'sss"),
    "a tournament as number": (TOURNAMENT_OPENED, {"tournament_id": 7}, Reject.BAD_ID, "$.tournament_id is 7"),
    "a tournament null": (
        TOURNAMENT_OPENED,
        {"tournament_id": None},
        Reject.BAD_ID,
        "$.tournament_id is null; it must be a string of 1 to 128 characters, none of them a control character",
    ),
    "no entrants": (ENTRIES_CLOSED, {"entrants": []}, Reject.SCHEMA, "it must be a list of 1 to 10,000 ids"),
    "entrants in one string": (ENTRIES_CLOSED, {"entrants": "a,b"}, Reject.SCHEMA, "$.entrants is 'a,b'"),
    "an entrant twice": (
        ENTRIES_CLOSED,
        {"entrants": ["ann", "bob", "ann"]},
        Reject.SCHEMA,
        "$.entrants[0] and $.entrants[2] are both 'ann'; they must differ",
    ),
    "an entrant twice, far in": (
        ENTRIES_CLOSED,
        {"entrants": [*MANY[:9_999], MANY[7]]},
        Reject.SCHEMA,
        "$.entrants[7] and $.entrants[9999] are both 'player-7'",
    ),
    "10,001 entrants": (ENTRIES_CLOSED, {"entrants": [*MANY, "x"]}, Reject.SCHEMA, "a list of 1 to 10,000 ids"),
    "an empty entrant": (ENTRIES_CLOSED, {"entrants": ["ann", ""]}, Reject.BAD_ID, "$.entrants[1] is ''"),
    "an empty entrant, far in": (
        ENTRIES_CLOSED,
        {"entrants": [*MANY[:9_999], ""]},
        Reject.BAD_ID,
        "$.entrants[9999] is ''; it must be a string of 1 to 128 characters",
    ),
    "equal numbers": (ENTRIES_CLOSED, {"entrants": ["a", "b", "c", 1, 1.0]}, Reject.SCHEMA, "10,000 ids, each once"),
    "lists in lists": (ENTRIES_CLOSED, {"entrants": [["a"], ["a"]]}, Reject.BAD_ID, '$.entrants[0] is ["a"]'),
    "entrants with ratings": (
        ENTRIES_CLOSED,
        {"entrants": [{"id": "a"}]},
        Reject.BAD_ID,
        '$.entrants[0] is {"id":"a"}',
    ),
    "a control character": (ENTRIES_CLOSED, {"entrants": ["a\x9f"]}, Reject.BAD_ID, r"'a\x9f'"),
    "standings by place": (TOURNAMENT_FINISHED, {"standings": {"1": "ann"}}, Reject.SCHEMA, "a list of at most 10,000"),
    "a place for two": (TOURNAMENT_FINISHED, {"standings": [["ann", "bob"]]}, Reject.BAD_ID, "$.standings[0] is ["),
    "two places for one": (TOURNAMENT_FINISHED, {"standings": ["ann", "ann"]}, Reject.SCHEMA, "are both 'ann'"),
    "10,001 places": (TOURNAMENT_FINISHED, {"standings": [*MANY, "x"]}, Reject.SCHEMA, "at most 10,000 ids"),
}


@pytest.mark.parametrize(("ce_type", "fields", "reason", "names"), FAULTS.values(), ids=FAULTS)
def test_an_event_that_breaks_a_rule_is_refused(ce_type: str, fields: Any, reason: Reject, names: str) -> None:
    """Each rule of the contract has its reason; the sentence is short and names the path, the value and the rule."""
    bad = refusal(raw(DOCUMENTS[ce_type] | fields), typed(ce_type))
    assert bad.reason is reason
    assert names in bad.detail
    assert bad.detail.isprintable()
    assert len(bad.detail) < 400


@pytest.mark.parametrize(
    ("ce_type", "field"),
    [
        (t, f)
        for t, document in DOCUMENTS.items()
        for f in document
        if f != "ends_at" and (t, f) != (PLAYER_SANCTIONED, "pool")
    ],
)
def test_what_is_missing_is_named(ce_type: str, field: str) -> None:
    """Every field but a sanction's end and pool is required."""
    bad = refusal(raw({key: value for key, value in DOCUMENTS[ce_type].items() if key != field}), typed(ce_type))
    assert bad.reason is Reject.SCHEMA
    assert bad.detail.startswith(f"$.{field} is missing; it must be ")
    assert "a JSON object" not in bad.detail


@pytest.mark.parametrize(("ce_type", "field"), TIMES.items())
@pytest.mark.parametrize("text", ["2026-11-30", "2026-11-31T00:00:00Z", "2026-12-31T12:00:60Z", 1_796_028_672, None])
def test_each_time_must_be_one(ce_type: str, field: str, text: Any) -> None:
    """By the pattern of the schema or by the calendar, each as in a match."""
    bad = refusal(raw(DOCUMENTS[ce_type] | {field: text}), typed(ce_type))
    assert bad.reason is Reject.BAD_TIME
    assert bad.detail.startswith(f"$.{field} is ")
    assert "it must be an RFC 3339 time with an offset" in bad.detail


@pytest.mark.parametrize(("ce_type", "field"), HAPPENED)
def test_what_happened_cannot_lie_ahead(ce_type: str, field: str) -> None:
    """As with matches; only a sanction may be set for a time to come."""
    bad = refusal(raw(DOCUMENTS[ce_type] | {field: "2026-12-01T12:00:00.000001Z"}), typed(ce_type))
    assert bad.reason is Reject.FUTURE
    assert bad.detail.startswith(f"$.{field} is '2026-12-01T12:00:00.000001Z', 1 day ahead")


@pytest.mark.parametrize(("ce_type", "field"), HAPPENED)
def test_what_happened_cannot_lie_before_there_were_clocks(ce_type: str, field: str) -> None:
    """A time of 1969 comes from a clock that was never set; the first moment of 1970 may be meant."""
    bad = refusal(raw(DOCUMENTS[ce_type] | {field: "1970-01-01T00:00:00+00:01"}), typed(ce_type))
    assert bad.reason is Reject.BAD_TIME
    assert bad.detail.startswith(f"$.{field} is '1970-01-01T00:00:00+00:01'; nothing before 1970-01-01 is taken")
    assert take(raw(DOCUMENTS[ce_type] | {field: "1970-01-01T00:00:00Z"}), typed(ce_type))


@pytest.mark.parametrize("ce_type", INCOMING)
@pytest.mark.parametrize("document", [None, 7, "x", [], {}])
def test_what_is_no_event_at_all_is_refused(ce_type: str, document: Any) -> None:
    """Whatever JSON there may be where an object should."""
    bad = refusal(raw(document), typed(ce_type))
    assert bad.reason is Reject.SCHEMA
    assert ("is missing" if document == {} else "it must be a JSON object") in bad.detail


@pytest.mark.parametrize("ce_type", TYPES, ids=name_of)
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _: None, Reject.TOMBSTONE),
        (lambda _: b" ", Reject.EMPTY),
        (lambda value: value + b" " * 1_000_000, Reject.TOO_LARGE),
        (lambda value: value[:-1], Reject.NOT_JSON),
        (lambda value: value[:-1] + b', "x": "\xff"}', Reject.NOT_UTF8),
        (lambda value: value[:-1] + b', "x": ' + b"[" * 300 + b"]" * 300 + b"}", Reject.TOO_DEEP),
        (lambda value: value[:-1] + b', "by": "me", "by": "me"}', Reject.DUPLICATE_KEY),
    ],
)
def test_broken_bytes_are_refused_as_for_matches(ce_type: str, spoil: Any, reason: Reject) -> None:
    """The same care for every event."""
    assert refusal(spoil(raw(DOCUMENTS[ce_type])), typed(ce_type)).reason is reason


@pytest.mark.parametrize(
    ("ce_type", "fields", "names"),
    [
        (ENTRIES_CLOSED, {"entrants": ["a", "a"]}, "$.data.entrants[0] and $.data.entrants[1] are both 'a'"),
        (SANCTION_LIFTED, {"why": ""}, "$.data.why is ''"),
        (PLAYER_SANCTIONED, {"ends_at": "2026-01-01T00:00:00Z"}, "$.data.starts_at '2026-11-30"),
        (PLAYER_SANCTIONED, {"starts_at": "2026-11-31T00:00:00Z"}, "$.data.starts_at is '2026-11-31"),
        (PLAYER_SANCTIONED, {"ends_at": "2026-11-31T00:00:00Z"}, "$.data.ends_at is '2026-11-31"),
        *((ce_type, {field: "9999-01-01T00:00:00Z"}, f"$.data.{field} is '9999") for ce_type, field in HAPPENED),
    ],
)
def test_a_path_leads_through_the_envelope(ce_type: str, fields: dict[str, Any], names: str) -> None:
    """In structured mode the sentence names where in the value the fault is."""
    envelope = {"type": ce_type, "data": DOCUMENTS[ce_type] | fields}
    assert names in refusal(raw(envelope), [("content-type", b"application/cloudevents+json")]).detail


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "data", "id"]) | st.text(), inner),
)
_fields = sorted({field for document in DOCUMENTS.values() for field in document})


@given(
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(_fields), _json, max_size=2),
    st.booleans(),
    st.booleans(),
)
@example(ENTRIES_CLOSED, {"entrants": ["a", "b", "c", float("nan"), float("nan")]}, True, True)
@example(TOURNAMENT_FINISHED, {"standings": ["a", "b", "c", {}, {}]}, True, True)
def test_any_spoilt_event_decodes_or_is_refused(
    ce_type: str, fields: dict[str, Any], by_header: bool, ensure_ascii: bool
) -> None:
    """No JSON, nor what Python takes for JSON, raises anything but BadEventError."""
    document = DOCUMENTS[ce_type] | fields | ({} if by_header else {"type": name_of(ce_type)})
    value = json.dumps(document, ensure_ascii=ensure_ascii).encode(errors="surrogatepass")
    try:
        take(value, typed(ce_type) if by_header else ())
    except BadEventError as bad:
        assert bad.detail.isprintable()  # noqa: PT017 - both ways are right
