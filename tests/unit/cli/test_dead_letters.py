"""`dead-letters` without Kafka: what its options mean, and how bytes and letters are shown."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from worker.cli.dead_letters_advice import advice
from worker.cli.dead_letters_bytes import bytes_json, shown_bytes, shown_value
from worker.cli.dead_letters_filter import Filter, filter_of
from worker.cli.dead_letters_list import print_list
from worker.cli.dead_letters_reading import Listed
from worker.events import Failure, Place, Reject, ReplayMark
from worker.settings import Settings
from worker.stream.letters import Letter, Replayed, Span, Stranger

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.cli.conftest import Ended

    Cli = Callable[..., Ended]

AT = datetime(2026, 11, 30, 8, 51, 13, tzinfo=UTC)
DLQ = "match-events.dlq"


def letter(offset: int = 0, *, topic: str = "match-events", **changed: Any) -> Letter:
    failure: dict[str, Any] = {
        "reason": "unknown-pool",
        "detail": "no policy for pool 'go'",
        "origin": Place(topic, 3, 100 + offset),
        "timestamp_ms": None,
        "group": "g",
        "failed_at": AT,
        "worker_version": "0.1.0",
        "left_out": None,
        "attempt": 1,
        "replayed_from": None,
    }
    content = {
        name: changed.pop(name, b'{"match_id": "m-1"}' if name == "value" else b"go|a|b") for name in ("key", "value")
    }
    return Letter(Place(f"{topic}.dlq", 0, offset), headers=(), failure=Failure(**failure | changed), **content)


def chosen(**options: Any) -> Filter:
    return filter_of(Settings(), **options)


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({}, True),
        ({"reasons": [Reject.UNKNOWN_POOL, Reject.SCHEMA]}, True),
        ({"reasons": [Reject.SCHEMA]}, False),
        ({"topics": ["match-events"]}, True),
        ({"topics": [DLQ]}, True),
        ({"topics": ["verdict-events"]}, False),
        ({"topics": ["verdict-events", "match-events"]}, True),
        ({"since": "2026-11-30T08:51:13Z"}, True),
        ({"since": "2026-11-30T09:51:13.000001+01:00"}, False),
        ({"until": "2026-11-30 08:51:13z"}, False),
        ({"until": "2026-11-30T08:52Z"}, True),
        ({"key": "go|a|b"}, True),
        ({"key": "go|a"}, False),
        ({"text": "m-1"}, True),
        ({"text": "go|a"}, True),
        ({"text": "m-2"}, False),
        ({"places": [Place(DLQ, 0, 0)]}, True),
        ({"places": [Place("match-events", 3, 100)]}, True),
        ({"places": [Place(DLQ, 0, 1), Place("match-events", 2, 100)]}, False),
    ],
    ids=str,
)
def test_what_a_filter_takes(options: dict[str, Any], taken: bool) -> None:
    """Every option means one thing, and several mean all of them."""
    assert chosen(**options).takes(letter()) is taken
    assert chosen(**{"key": "go|a|b"} | options).takes(letter()) is taken
    assert not chosen(**options | {"text": "nowhere"}).takes(letter())


@pytest.mark.parametrize("value", ['{"id": "é\\"x"}', '{"id": "\\u00e9\\"x"}'])
def test_a_text_is_found_as_json_has_it(value: str) -> None:
    """An id with letters beyond ASCII or with quotes is found, whether its producer escapes them or not."""
    assert chosen(text='é"x').takes(letter(value=value.encode()))
    assert not chosen(text="x").takes(letter(key=None, value=None))


@pytest.mark.parametrize(
    ("ago", "time"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("1w", timedelta(weeks=1)),
    ],
)
def test_how_long_ago(ago: str, time: timedelta) -> None:
    """A length of time is meant from now backwards."""
    before = datetime.now(UTC)
    since = chosen(since=ago).since
    assert since is not None
    assert before - time <= since <= datetime.now(UTC) - time


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize(
    "time", ["", "yesterday", "2h30m", "2 h", "-2h", "2026-11-30", "2026-11-30T08:51", "9999999w", "2026-13-01T00:00Z"]
)
def test_what_is_no_time(cli: Cli, option: str, time: str) -> None:
    """It is told before anything is connected to, with what is allowed."""
    ended = cli("dead-letters", "list", option, time)
    assert (ended.code, ended.out) == (2, "")
    assert "RFC 3339" in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("list", "--topic", "rating-events"), "match-events.dlq"),
        (("list", "--reason", "weather"), "unknown-pool"),
        (("list", "--limit", "0"), "--oldest-first"),
        (("list", "--limit", "0", "--json"), "--oldest-first"),
        (("show", "match-events.dlq"), "TOPIC/PARTITION/OFFSET"),
        (("show", "rating-events/0/1"), "neither"),
        (("show", "match-events.dlq/0/1", "--json", "--value"), "--value"),
        (("replay", "match-events.dlq/0"), "TOPIC/PARTITION/OFFSET"),
        (("replay", "--max-attempts", "0"), "--max-attempts"),
    ],
    ids=str,
)
def test_options_that_can_t_be_meant(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    """What is wrong on the command line is told, with what is allowed, and ends with 2."""
    ended = cli("dead-letters", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_places_narrow_what_is_read() -> None:
    """Named letters are looked for from the first of them on; those named by where they came from, everywhere."""
    spans = [Span(TopicPartition(DLQ, 0), 10, 90), Span(TopicPartition(DLQ, 1), 0, 50)]
    assert chosen().narrowed(spans) == spans
    own = chosen(places=[Place(DLQ, 0, 70), Place(DLQ, 0, 40)])
    assert own.narrowed(spans) == [spans[0]._replace(start=40)]
    assert chosen(places=[Place(DLQ, 0, 5)]).narrowed(spans) == spans[:1]
    assert chosen(places=[Place(DLQ, 1, 500)]).narrowed(spans) == [spans[1]._replace(start=50)]
    assert chosen(places=[Place("match-events", 0, 5)]).narrowed(spans) == spans


@given(st.sets(st.integers(0, 200)))
def test_which_letters_were_sent_back(offsets: set[int]) -> None:
    """Marks, and letters of records that were replays, tell it for every offset that is read, and for no other."""
    replayed = Replayed([Span(TopicPartition(DLQ, 0), 20, 120)])
    for offset in offsets:
        if offset % 2:
            replayed.note(ReplayMark(Place(DLQ, 0, offset), Place("match-events", 0, 1), AT, 2))
        else:
            replayed.note(letter(150, replayed_from=Place(DLQ, 0, offset)))
        replayed.note(ReplayMark(Place(DLQ, 1, 50), Place("match-events", 0, 1), AT, 2))
        replayed.note(Stranger(Place(DLQ, 0, 60)))
    told = {offset for offset in range(210) if Place(DLQ, 0, offset) in replayed}
    assert {offset for offset in told if 20 <= offset < 120} == {offset for offset in offsets if 20 <= offset < 120}
    assert told <= offsets
    assert Place(DLQ, 1, 50) not in replayed


def test_there_is_advice_for_every_reason() -> None:
    """Each says what to do in whole sentences; a reason of another version is not a fault."""
    told = [advice(reason).sentence for reason in Reject]
    assert all(re.fullmatch(r"[A-Z].*\.", text) for text in told)
    assert len(set(told)) == len(told)
    assert advice("weather").mendable


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_json_is_indented_and_nothing_else(document: Any, indent: int | None, ascii_only: bool) -> None:
    """However it is written, the lines are those of an indented document, with each token as it came."""
    value = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    shown = shown_value(value.encode(), 10_000)
    assert all(line.isprintable() for line in shown)
    assert not ascii_only or "\n".join(shown).replace("\\x7f", "\x7f") == json.dumps(document, indent=2)


def test_a_json_value_is_shown_as_it_came() -> None:
    """Numbers keep their digits, keys that come twice are both there, and what would move a cursor is escaped."""
    value = '{"n":1.50e+3,"n":[],"x":{},"t":"a\x7f\u202e, {b}"}'.encode()
    assert shown_value(value, 1_000) == [
        "{",
        '  "n": 1.50e+3,',
        '  "n": [],',
        '  "x": {},',
        '  "t": "a\\x7f\\u202e, {b}"',
        "}",
    ]
    assert shown_value(value, 10) == ["{", '  "n": 1.…']


def test_what_is_no_json_is_dumped() -> None:
    """Rows of sixteen bytes, and an end that is told."""
    rows = shown_value(b"\xff\x00match finished!\n", 1_000)
    assert rows == [
        "00000000  ff 00 6d 61 74 63 68 20  66 69 6e 69 73 68 65 64  ..match finished",
        "00000010  21 0a                                             !.",
    ]
    assert shown_value(b"x" * 100, 32)[2:] == ["…"]


def test_bytes_for_programs_and_people() -> None:
    """Text where it is text; for programs nothing is lost."""
    assert [bytes_json(one) for one in (None, b"", "é".encode(), b"\xff")] == [
        None,
        {"text": ""},
        {"text": "é"},
        {"base64": "/w=="},
    ]
    assert [shown_bytes(one, 5) for one in (None, b"\xff", b"a\nb", b"abcdefg")] == ["none", "\\xff", "a\\nb", "abcde…"]


@pytest.mark.parametrize("width", [80, 200])
def test_a_list_fits_the_terminal(width: int) -> None:
    """Time, reason, place, key and what was wrong are all there, on a narrow terminal one above the other."""
    out = Console(width=width, color_system=None, record=True)
    listed = Listed(letter(48_213, reason="refused-by-database", attempt=2, detail="why " * 60), 6, 19, replayed=True)
    print_list(out, [listed])
    lines = out.export_text().splitlines()
    flat = " ".join(" ".join(lines).split())
    for words in (
        "2026-11-30 08:51:13",
        "refused-by-database",
        f"{DLQ}/0/48213",
        "go|a|b",
        "why why",
        "attempt 2, sent back",
    ):
        assert words in flat
    assert max(map(len, lines)) <= width
