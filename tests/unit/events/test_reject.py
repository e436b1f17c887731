from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.events.samples import MAX_BYTES, NOW, decode, event, players, raw
from worker.events import MATCH_FINISHED, BadEventError, Headers, Reject, decode_match

ANN, BOB = {"id": "ann", "score": 1}, {"id": "bob", "score": 0}
GOOD = raw(event())

# What comes in → the reason, and what the sentence must name.
BYTES: dict[str, tuple[bytes | None, Reject, str]] = {
    "tombstone": (None, Reject.TOMBSTONE, "no value"),
    "no bytes": (b"", Reject.EMPTY, "empty"),
    "white space": (b" \r\n\t", Reject.EMPTY, "empty"),
    "1 MB": (raw(event(match_id="m" * 1_000_000)), Reject.TOO_LARGE, "at most 65536"),
    "text": (b"hello", Reject.NOT_JSON, "'hello'"),
    "cut off": (GOOD[:100], Reject.NOT_JSON, "isn't JSON"),
    "two documents": (GOOD + GOOD, Reject.NOT_JSON, "isn't JSON"),
    "comma at the end": (GOOD[:-1] + b",}", Reject.NOT_JSON, "true,}"),
    "NaN": (GOOD.replace(b'"score": 1', b'"score": NaN'), Reject.NOT_JSON, '"score": NaN'),
    "infinity": (GOOD.replace(b'"score": 1', b'"score": -Infinity'), Reject.NOT_JSON, "-Infinity"),
    "1e999": (GOOD.replace(b'"score": 1', b'"score": 1e999'), Reject.NOT_JSON, "1e999"),
    "5000 digits": (GOOD.replace(b'"score": 1', b'"score": ' + b"9" * 5000), Reject.NOT_JSON, "infinity"),
    "a raw NUL": (GOOD.replace(b"m-1", b"m\0-1"), Reject.NOT_JSON, r"m\x00-1"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, Reject.NOT_JSON, "byte order mark"),
    "UTF-16": (GOOD.decode().encode("utf-16"), Reject.NOT_UTF8, "at byte 0"),
    "Latin-1": (GOOD.replace(b"ann", b"\xe9va"), Reject.NOT_UTF8, "isn't UTF-8"),
    "a surrogate in UTF-8": (GOOD.replace(b"ann", b"\xed\xa0\x80"), Reject.NOT_UTF8, "isn't UTF-8"),
    "an overlong slash": (GOOD.replace(b"/", b"\xc0\xaf"), Reject.NOT_UTF8, "isn't UTF-8"),
    "half a surrogate pair": (GOOD.replace(b"ann", b"\\ud800"), Reject.NOT_UTF8, "surrogate"),
    "the other half": (GOOD.replace(b"ann", b"\\udc00"), Reject.NOT_UTF8, "surrogate"),
    "half a pair in an unknown field": (GOOD[:-1] + b', "x": "\\ud800"}', Reject.NOT_UTF8, "surrogate"),
    "60,000 brackets": (b"[" * 60_000, Reject.TOO_DEEP, "250 levels"),
    "60,000 closed brackets": (b"[" * 30_000 + b"]" * 30_000, Reject.TOO_DEEP, "250 levels"),
    "deep in an unknown field": (raw(event(x=json.loads("[" * 300 + "]" * 300))), Reject.TOO_DEEP, "250 levels"),
    "30,000 objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, Reject.TOO_DEEP, "250 levels"),
    "a key twice": (GOOD[:-1] + b', "pool": "shax"}', Reject.DUPLICATE_KEY, "'pool'"),
    "a key twice, same value": (GOOD[:-1] + b', "verified": true}', Reject.DUPLICATE_KEY, "'verified'"),
    "a key twice within": (GOOD.replace(b'"score": 0', b'"score": 0, "score": 1'), Reject.DUPLICATE_KEY, "'score'"),
    "a key twice, escaped": (GOOD[:-1] + b', "p\\u006fol": "shax"}', Reject.DUPLICATE_KEY, "'pool'"),
    "a key twice, escaped quote": (GOOD[:-1] + b', "\\"": 1, "\\"": 2}', Reject.DUPLICATE_KEY, """'"'"""),
    "a key twice, backslash": (GOOD[:-1] + b', "\\\\": 1, "\\\\": 2}', Reject.DUPLICATE_KEY, r"'\\'"),
    "a key twice, unknown": (GOOD[:-1] + b', "x": {"y": 1, "y": 1}}', Reject.DUPLICATE_KEY, "'y'"),
    "a key twice, made up for by escapes": (
        GOOD[:-1] + b', "x": 1, "x": 2, "y": "\\u0022\\u0022"}',
        Reject.DUPLICATE_KEY,
        "'x'",
    ),
}
EVENTS: dict[str, tuple[Any, Reject, str]] = {
    "a list": ([event()], Reject.SCHEMA, "it must be a JSON object"),
    "null": (None, Reject.SCHEMA, "$ is null"),
    "a number": (7, Reject.SCHEMA, "$ is 7"),
    "nothing": ({}, Reject.SCHEMA, "$.match_id is missing"),
    "no time": ({k: v for k, v in event().items() if k != "finished_at"}, Reject.SCHEMA, "$.finished_at is missing"),
    "no score": (event(**players({"id": "ann"}, BOB)), Reject.SCHEMA, "$.players[0].score is missing"),
    "one player": (event(players=[ANN]), Reject.SCHEMA, "$.players is"),
    "three players": (event(players=[ANN, BOB, {"id": "eve", "score": 0}]), Reject.SCHEMA, "exactly two"),
    "players by name": (event(players={"ann": 1, "bob": 0}), Reject.SCHEMA, "$.players is {"),
    "a player as text": (event(**players("ann", BOB)), Reject.SCHEMA, "$.players[0] is 'ann'"),
    "20,000 players": (event(players=[1] * 20_000), Reject.SCHEMA, "$.players[0] is 1"),
    "attributes as text": (
        event(**players(ANN | {"attributes": "young"}, BOB)),
        Reject.SCHEMA,
        "attributes is 'young'",
    ),
    "born long ago": (event(**players(ANN | {"attributes": {"birth_year": 0}}, BOB)), Reject.SCHEMA, "birth_year is 0"),
    "born in a huge year": (
        event(**players(ANN | {"attributes": {"birth_year": 10**300}}, BOB)),
        Reject.SCHEMA,
        "birth_year is 1e+300",
    ),
    "half a year": (event(**players(ANN | {"attributes": {"birth_year": 1999.5}}, BOB)), Reject.SCHEMA, "is 1999.5"),
    "another match type": (event(match_type="friendly"), Reject.SCHEMA, "'friendly'; it must be one of 'ranked'"),
    "match type null": (event(match_type=None), Reject.SCHEMA, "$.match_type is null"),
    "verified as text": (event(verified="true"), Reject.SCHEMA, "$.verified is 'true'; it must be true or false"),
    "verified as number": (event(verified=1), Reject.SCHEMA, "$.verified is 1"),
    "an id as number": (event(match_id=12), Reject.BAD_ID, "$.match_id is 12; it must be a string"),
    "an empty id": (event(**players(ANN | {"id": ""}, BOB)), Reject.BAD_ID, "$.players[0].id is ''"),
    "an id too long": (event(match_id="m" * 129), Reject.BAD_ID, "1 to 128 characters"),
    "a huge id": (event(match_id="m" * 60_000), Reject.BAD_ID, "1 to 128 characters"),
    "a NUL in an id": (event(match_id="a\0b"), Reject.BAD_ID, r"'a\x00b'"),
    "a NUL in a player": (event(**players(ANN, BOB | {"id": "b\0b"})), Reject.BAD_ID, r"$.players[1].id is 'b\x00b'"),
    "a line feed at the end": (event(match_id="m-1\n"), Reject.BAD_ID, r"'m-1\n'"),
    "a C1 control": (event(tournament_id="t\x85"), Reject.BAD_ID, r"'t\x85'"),
    "a DEL": (event(pool="chess\x7f"), Reject.BAD_ID, r"'chess\x7f'"),
    "a bar in a pool": (event(pool="chess|blitz"), Reject.BAD_ID, "'chess|blitz'"),
    "an empty tournament": (event(tournament_id=""), Reject.BAD_ID, "or null"),
    "self-play": (event(**players(ANN, BOB | {"id": "ann"})), Reject.SELF_PLAY, "both 'ann'"),
    "both win": (event(**players(ANN, BOB | {"score": 1})), Reject.BAD_SCORES, "1 and 1; they must add up to 1"),
    "both lose": (event(**players(ANN | {"score": 0}, BOB)), Reject.BAD_SCORES, "0 and 0"),
    "win and draw": (event(**players(ANN, BOB | {"score": 0.5})), Reject.BAD_SCORES, "1 and 0.5"),
    "a score of 3": (
        event(**players(ANN | {"score": 3}, BOB)),
        Reject.BAD_SCORES,
        "score is 3; it must be 0, 0.5 or 1",
    ),
    "a third of a point": (event(**players(ANN | {"score": 0.3}, BOB)), Reject.BAD_SCORES, "score is 0.3"),
    "a score as boolean": (event(**players(ANN | {"score": True}, BOB)), Reject.BAD_SCORES, "score is true"),
    "a score as text": (event(**players(ANN | {"score": "1"}, BOB)), Reject.BAD_SCORES, "score is '1'"),
    "a huge score": (event(**players(ANN | {"score": 10**30}, BOB)), Reject.BAD_SCORES, "score is 1e+30"),
    "a score as list": (event(**players(ANN | {"score": [1] * 999}, BOB)), Reject.BAD_SCORES, "score is [1,1,"),
    "2 days ahead": (event(finished_at="2026-12-02T12:00:00Z"), Reject.FUTURE, "2 days ahead"),
    "a microsecond too far": (event(finished_at="2026-12-01T12:00:00.000001Z"), Reject.FUTURE, "at most 1 day"),
    "the last year": (event(finished_at="9999-12-31T23:59:59Z"), Reject.FUTURE, "ahead of the worker's clock"),
}
TIMES = {
    "year 0": "0000-01-01T00:00:00Z",
    "year 10000": "10000-01-01T00:00:00Z",
    "before year 1 in UTC": "0001-01-01T00:00:00+00:01",
    "after year 9999 in UTC": "9999-12-31T23:59:59-00:01",
    "no offset": "2026-11-30T08:51:12",
    "a date": "2026-11-30",
    "a blank for the T": "2026-11-30 08:51:12Z",
    "a week date": "2026-W48-1T08:51:12Z",
    "without dashes": "20261130T085112Z",
    "without seconds": "2026-11-30T08:51Z",
    "a comma": "2026-11-30T08:51:12,5Z",
    "a bare point": "2026-11-30T08:51:12.Z",
    "an offset without colon": "2026-11-30T08:51:12+0530",
    "an offset in hours": "2026-11-30T08:51:12+05",
    "an offset with seconds": "2026-11-30T08:51:12+05:30:15",
    "an offset of a day": "2026-11-30T08:51:12+24:00",
    "an offset of 75 minutes": "2026-11-30T08:51:12+05:75",
    "a named zone": "2026-11-30T08:51:12 UTC",
    "hour 24": "2026-11-30T24:00:00Z",
    "minute 60": "2026-11-30T08:60:00Z",
    "second 61": "2026-12-31T23:59:61Z",
    "a leap second at noon": "2026-12-31T12:00:60Z",
    "a leap second in mid-month": "2026-11-15T23:59:60Z",
    "a leap second of the local day": "2026-12-31T23:59:60+01:00",
    "a leap second at the end of time": "9999-12-31T23:59:60Z",
    "month 13": "2026-13-01T00:00:00Z",
    "30 February": "2026-02-30T00:00:00Z",
    "29 February in a common year": "2026-02-29T00:00:00Z",
    "Arabic digits": "٢٠٢٦-11-30T08:51:12Z",
    "a line feed at the end": "2026-11-30T08:51:12Z\n",
    "a long fraction": "2026-11-30T08:51:12." + "1" * 60_000 + "Z",
    "nothing": "",
}


def refusal(value: bytes | None, headers: Headers = ()) -> BadEventError:
    with pytest.raises(BadEventError) as caught:
        decode(value, headers)
    return caught.value


@pytest.mark.parametrize(("value", "reason", "names"), BYTES.values(), ids=BYTES)
def test_bytes_that_are_no_json_object_are_refused(value: bytes | None, reason: Reject, names: str) -> None:
    """Each kind of broken bytes has its reason, and the sentence names what is wrong."""
    bad = refusal(value)
    assert bad.reason is reason
    assert names in bad.detail


@pytest.mark.parametrize(("document", "reason", "names"), EVENTS.values(), ids=EVENTS)
def test_json_that_is_no_match_is_refused(document: Any, reason: Reject, names: str) -> None:
    """Each rule of the contract has its reason, and the sentence names the path, the value and what is allowed."""
    bad = refusal(raw(document))
    assert bad.reason is reason
    assert names in bad.detail


@pytest.mark.parametrize("text", [*TIMES.values(), 1_796_028_672, None, True], ids=[*TIMES, "a number", "null", "true"])
def test_what_is_no_time_of_rfc_3339_is_refused(text: Any) -> None:
    """`datetime.fromisoformat` takes more than RFC 3339, and the calendar has fewer days than the pattern."""
    bad = refusal(raw(event(finished_at=text)))
    assert bad.reason is Reject.BAD_TIME
    assert bad.detail.startswith("$.finished_at is ")
    assert "it must be an RFC 3339 time with an offset" in bad.detail


@pytest.mark.parametrize(
    "ce_type", [b"", b"\xff", b"org.rating-worker.match-voided.v1", MATCH_FINISHED.upper().encode()]
)
def test_another_type_is_refused(ce_type: bytes) -> None:
    """A record that says that it is something else isn't read as a match, even if it could be."""
    bad = refusal(GOOD, [("ce_type", ce_type)])
    assert bad.reason is Reject.UNKNOWN_TYPE
    assert MATCH_FINISHED in bad.detail


@pytest.mark.parametrize(
    ("envelope", "reason", "names"),
    [
        ([event()], Reject.SCHEMA, "$ is ["),
        ({"data": event()}, Reject.SCHEMA, "$.type is missing"),
        ({"type": MATCH_FINISHED, "data_base64": "e30="}, Reject.SCHEMA, "$.data is missing"),
        ({"type": 5, "data": event()}, Reject.UNKNOWN_TYPE, "$.type is 5"),
        ({"type": "weather", "data": event()}, Reject.UNKNOWN_TYPE, "'weather'"),
        ({"type": MATCH_FINISHED, "data": event(match_id="")}, Reject.BAD_ID, "$.data.match_id"),
        ({"type": MATCH_FINISHED, "data": event(**players(ANN, ANN))}, Reject.SELF_PLAY, "$.data.players[0].id"),
        ({"type": MATCH_FINISHED, "data": "{}"}, Reject.SCHEMA, "$.data is '{}'"),
    ],
)
def test_a_faulty_envelope_is_refused(envelope: Any, reason: Reject, names: str) -> None:
    """In structured mode the path in the sentence leads through the envelope."""
    bad = refusal(raw(envelope), [("content-type", b"application/cloudevents+json")])
    assert bad.reason is reason
    assert names in bad.detail


def test_a_batch_of_cloudevents_is_refused() -> None:
    """Kafka has no batch mode, and half of a batch can't go to the dead letters."""
    bad = refusal(raw([event()]), [("content-type", b"application/cloudevents-batch+json")])
    assert bad.reason is Reject.SCHEMA
    assert "one CloudEvents object" in bad.detail


def test_a_huge_id_is_an_id_fault_where_the_limit_lets_it_through() -> None:
    """With a larger limit a 1 MB id is refused as an id, quickly and in a short sentence."""
    with pytest.raises(BadEventError) as caught:
        decode_match(raw(event(match_id="m" * 1_000_000)), (), now=NOW, max_bytes=2_000_000)
    assert caught.value.reason is Reject.BAD_ID
    assert len(caught.value.detail) < 300


@pytest.mark.parametrize(
    "value", [value for value, _, _ in BYTES.values()] + [raw(case) for case, _, _ in EVENTS.values()]
)
def test_a_detail_is_one_short_printable_line(value: bytes | None) -> None:
    """What a stranger sent can neither flood the log nor forge a line in it."""
    detail = refusal(value).detail
    assert detail.isprintable()
    assert len(detail) < 400


def test_reasons_are_fit_for_labels() -> None:
    """A small closed set of lower-case words."""
    assert len(Reject) < 20
    assert all(reason.value.replace("-", "").isalnum() and reason.value.islower() for reason in Reject)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*event(), "id", "score"]) | st.text(), inner),
)
_faulty = st.builds(
    lambda fields, player: event(**fields) if player is None else event(**players(ANN | player, BOB)) | fields,
    st.dictionaries(st.sampled_from(list(event())), _json, max_size=2),
    st.none() | st.dictionaries(st.sampled_from(["id", "score", "attributes"]), _json, max_size=2),
)
_headers = st.lists(
    st.tuples(
        st.sampled_from(["ce_type", "content-type", "traceparent", "ce_traceparent", "x"]),
        st.none() | st.binary() | st.sampled_from([MATCH_FINISHED.encode(), b"application/cloudevents+json"]),
    )
)


@given(st.binary(), _headers)
def test_any_bytes_decode_or_are_refused(value: bytes, headers: Headers) -> None:
    """No bytes raise anything but BadEventError."""
    try:
        decode(value, headers)
    except BadEventError as bad:
        assert bad.detail.isprintable()  # noqa: PT017 - both ways are right


@given(_json | _faulty, _headers, st.booleans())
@example({"type": MATCH_FINISHED, "data": {}}, [("content-type", b"application/cloudevents+json")], False)
def test_any_json_decodes_or_is_refused(document: Any, headers: Headers, ensure_ascii: bool) -> None:
    """No JSON, nor what Python takes for JSON, raises anything but BadEventError."""
    value = json.dumps(document, ensure_ascii=ensure_ascii).encode(errors="surrogatepass")
    try:
        decode_match(value, headers, now=NOW, max_bytes=MAX_BYTES)
    except BadEventError as bad:
        assert bad.detail.isprintable()  # noqa: PT017 - both ways are right
