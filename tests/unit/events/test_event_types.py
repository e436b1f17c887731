from __future__ import annotations

from typing import Any

import pytest

from tests.unit.events.documents import DOCUMENTS, MEANINGS, refusal, take, typed
from tests.unit.events.samples import decode, event, raw
from worker.events import INCOMING, MATCH_FINISHED, MATCH_VOIDED, RATING_CHANGED, Headers, Reject, name_of

STRUCTURED = ("content-type", b"application/cloudevents+json")
TYPES = list(DOCUMENTS)


@pytest.mark.parametrize("ce_type", TYPES, ids=name_of)
@pytest.mark.parametrize("default_type", [None, MATCH_FINISHED])
def test_what_a_record_is_can_be_said_in_three_ways(ce_type: str, default_type: str | None) -> None:
    """A header, an envelope, or a field `type` with the name of the event; on any topic."""
    document = DOCUMENTS[ce_type]
    said: list[tuple[Any, Headers]] = [
        (document, typed(ce_type)),
        ({"type": ce_type, "data": document}, [STRUCTURED]),
        ({"type": ce_type, "data": document}, [STRUCTURED, *typed(MATCH_FINISHED)]),
        ({"type": name_of(ce_type)} | document, ()),
        ({"type": name_of(ce_type)} | document, [("ce_type", None)]),
        ({"type": "match-finished"} | document, typed(ce_type)),
    ]
    for value, headers in said:
        assert take(raw(value), headers, default_type=default_type).event == MEANINGS[ce_type]


@pytest.mark.parametrize("field", [{}, {"type": "match-finished"}, {"type": "blitz"}, {"type": 7}, {"type": None}])
def test_a_record_without_a_type_is_what_the_topic_carries(field: dict[str, Any]) -> None:
    """On the match topic all is a match that doesn't say otherwise; a backend may have a `type` of its own."""
    value = raw(event(**field))
    match = decode(raw(event())).match
    assert take(value, default_type=MATCH_FINISHED) == (match, "m-1", decode(value).digest, None)


@pytest.mark.parametrize("headers", [typed(MATCH_FINISHED), [*typed("x"), *typed(MATCH_FINISHED)]])
def test_a_match_is_taken_on_every_topic(headers: Headers) -> None:
    """Where its type is said, a match needs no topic of its own."""
    assert take(raw(event()), headers).event == decode(raw(event())).match


@pytest.mark.parametrize("default_type", [None, MATCH_FINISHED])
@pytest.mark.parametrize(
    "ce_type", ["", "match-voided", MATCH_VOIDED.upper(), RATING_CHANGED, "org.rating-worker.match-voided.v2"]
)
def test_a_type_that_is_not_known_is_refused(ce_type: str, default_type: str | None) -> None:
    """A record that says that it is something else isn't read as what it could be; the sentence lists what may come."""
    for value, headers in (
        (DOCUMENTS[MATCH_VOIDED], typed(ce_type)),
        ({"type": ce_type, "data": DOCUMENTS[MATCH_VOIDED]}, [("content-type", b"application/cloudevents+json")]),
    ):
        bad = refusal(raw(value), headers, default_type)
        assert bad.reason is Reject.UNKNOWN_TYPE
        assert f"the CloudEvents type is {ce_type!r}; it must be org.rating-worker.NAME.v1" in bad.detail
        assert all(name_of(known) in bad.detail for known in INCOMING)
        assert (", or left out" in bad.detail) == (default_type is not None)
        assert len(bad.detail) < 400


@pytest.mark.parametrize(
    ("document", "names"),
    [
        (DOCUMENTS[MATCH_VOIDED], "the record has no type; without"),
        (event(), "the record has no type; without"),
        ([], "the record has no type; without"),
        ({"type": "blitz"}, "$.type is 'blitz'; without"),
        ({"type": MATCH_VOIDED}, f"$.type is {MATCH_VOIDED!r}; without"),
        ({"type": ["match-voided"]}, '$.type is ["match-voided"]; without'),
    ],
)
def test_a_record_of_no_type_is_refused_where_none_is_usual(document: Any, names: str) -> None:
    """Nothing is guessed from the fields that a record has."""
    bad = refusal(raw(document))
    assert bad.reason is Reject.UNKNOWN_TYPE
    assert names in bad.detail
    assert "the field type must be one of match-finished, match-voided, " in bad.detail
    assert bad.detail.isprintable()
