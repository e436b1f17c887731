"""`rating-worker dead-letters list` and `show` on real services: letters that real workers wrote, found again."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.support.kafka import Raw, produce, record_of
from tests.support.letters import (
    HEADERS,
    WHOLE,
    letters,
    made_letter,
    replay,
    start_dead_letters,
    take,
    without_yi,
)
from tests.support.matches import stream
from tests.support.running import running
from tests.unit.cli.processes import cli, start_into
from tests.unit.cli.test_failing_output import closed_pipe, full_device
from worker.stream.letters import LetterReader, Replayed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from worker.settings import Settings


async def test_letters_are_listed_filtered_and_shown(settings: Settings, tmp_path: Path) -> None:
    """Letters of every reason and topic are found by what is known of them, and shown whole, to the byte."""
    matches = stream(3, players=9, seed=40, pools=("yi",))
    noise = Raw(b"\xff", b"no JSON \xff\x00", HEADERS)
    await produce(settings, [record_of(match)._replace(headers=HEADERS) for match in matches])
    await take(without_yi(settings, tmp_path), 3)
    between = datetime.now(UTC)
    await produce(settings, [noise, Raw(None, None), Raw(b"k", b'{"pool": "yi", "b": [1.50, {}]}', HEADERS)])
    await produce(settings, [Raw(b"ann", b'{"type": "player-sanctioned"}')], settings.verdict_topic)
    await take(running(settings), 4)
    groups = await group_names(settings)

    found = await letters(settings, "--oldest-first")
    assert [one["reason"] for one in found[:3]] == ["unknown-pool"] * 3
    assert {one["reason"] for one in found[3:]} == {"not-utf8", "tombstone", "schema"}
    assert len(found) == 7
    assert await letters(settings) == found[::-1]
    assert await letters(settings, "--limit", 2) == found[:-3:-1]
    assert await letters(settings, *WHOLE) == found
    by_reason = {one["reason"]: one["letter"] for one in found if not one["letter"].startswith(settings.verdict_topic)}
    for arguments, expected in [
        (("--reason", "tombstone", "--reason", "not-utf8"), {by_reason["tombstone"], by_reason["not-utf8"]}),
        (("--topic", settings.verdict_topic), {f"{settings.verdict_topic}.dlq/0/0"}),
        (("--topic", f"{settings.verdict_topic}.dlq"), {f"{settings.verdict_topic}.dlq/0/0"}),
        (("--since", between.isoformat()), {one["letter"] for one in found[3:]}),
        (("--until", between.isoformat()), {one["letter"] for one in found[:3]}),
        (("--since", "1h", "--until", "1s", "--key", "nobody"), set()),
        (("--key", "k"), {by_reason["schema"]}),
        (("--text", "no JSON"), {by_reason["not-utf8"]}),
        (("--text", matches[1].match_id, "--reason", "unknown-pool"), {find(found, record_of(matches[1]).key)}),
    ]:
        for order in ((), ("--oldest-first",)):
            assert {one["letter"] for one in await letters(settings, *arguments, *order)} == expected, arguments
    assert "No dead letters" in (await cli(settings, "dead-letters", "list", "--key", "nobody")).err
    table = (await cli(settings, "dead-letters", "list")).out
    assert all(one["letter"] in table and one["reason"] in table for one in found)

    counted = (await cli(settings, "dead-letters", "list", "--summary", "--json")).json()
    assert counted["by_reason"] == Counter(one["reason"] for one in found)
    assert counted["by_topic"] == {settings.match_topic: 6, settings.verdict_topic: 1}
    assert sum(counted["by_hour"].values()) == counted["letters"] == 7
    summary = (await cli(settings, "dead-letters", "list", "--summary")).out
    assert "7 letters, 0 of records that were sent back before" in summary

    shown = (await cli(settings, "dead-letters", "show", by_reason["not-utf8"], "--json")).json()
    assert (shown["key"], shown["value"]) == ({"base64": "/w=="}, {"base64": "bm8gSlNPTiD/AA=="})
    assert [one["name"] for one in shown["headers"]][:3] == [name for name, _ in HEADERS]
    assert await cli(settings, "dead-letters", "show", shown["origin"], "--json") == await cli(
        settings, "dead-letters", "show", by_reason["not-utf8"], "--json"
    )
    words = (await cli(settings, "dead-letters", "show", by_reason["schema"])).out
    for part in (
        "$.match_id",
        "    1.50,\n",
        "x: \\xff\\x00",
        shown["consumer_group"],
        "What to do:",
        "show " + by_reason["schema"],
    ):
        assert part in words
    process = await start_dead_letters(settings, "show", by_reason["not-utf8"], "--value")
    assert (await process.communicate())[0] == noise.value
    assert (
        "no value (a tombstone)" in (await cli(settings, "dead-letters", "show", by_reason["tombstone"], "--value")).err
    )
    for nowhere in (
        f"{settings.dead_letter_topic}/0/999",
        f"{settings.dead_letter_topic}/7/0",
        f"{settings.match_topic}/0/999",
    ):
        ended = await cli(settings, "dead-letters", "show", nowhere)
        assert (ended.code, ended.out) == (1, "")
        assert nowhere in ended.err
    assert await group_names(settings) == groups


def find(found: Iterable[dict[str, Any]], key: bytes | None) -> str:
    """Give the place of the letter with a key."""
    assert key is not None
    (place,) = (one["letter"] for one in found if one["key"] == {"text": key.decode()})
    return str(place)


async def group_names(settings: Settings) -> set[str]:
    """Name the consumer groups that the broker knows, but for that of these tests' own reader."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    listed = await asyncio.to_thread(lambda: admin.list_consumer_groups().result(30))
    return {one.group_id for one in listed.valid} - {"independent-reader"}


async def test_many_letters_of_several_topics(settings: Settings) -> None:
    """In order of time over all topics, either way; the newest are read from the end, and no more than they need."""
    topics = (settings.dead_letter_topic, f"{settings.verdict_topic}.dlq")
    for start, topic in enumerate(topics):
        source = settings.input_topics[start]
        await produce(settings, [made_letter(settings, n, topic=source) for n in range(start, 12_000, 2)], topic)
    newest = await letters(settings, "--limit", 1_500)
    assert [one["detail"] for one in newest] == ["made up"] * 1_500
    assert [int(one["origin"].rpartition("/")[2]) for one in newest] == list(range(11_999, 10_499, -1))
    rare = await letters(settings, "--key", "key 4")
    assert [one["origin"] for one in rare] == [f"{settings.match_topic}/0/4"]
    oldest = await letters(settings, *WHOLE)
    assert [int(one["origin"].rpartition("/")[2]) for one in oldest] == list(range(12_000))
    some = await replay(settings, "--limit", 7)
    assert (some["letters"], some["more"]) == (7, True)
    for code, opened in ((141, closed_pipe()), (74, full_device())):  # nobody reads on, as with `head`; no room
        process = await start_into(opened, settings, "dead-letters", "list", *WHOLE, "--json")
        os.close(opened)
        _, err = await process.communicate()
        assert process.returncode == code, err
        assert (b"can't be written" in err, b"Kafka" in err) == (code == 74, False)

    read = 0

    def count(offsets: int) -> None:
        nonlocal read
        read += offsets

    async with LetterReader.open(settings, count) as reader:
        spans = await reader.spans(topics)
        assert [(one.start, one.end) for one in spans] == [(0, 6_000)] * 2
        async with aclosing(reader.newest(spans[0], Replayed(spans), lambda one: one.place.offset)) as newest_first:
            assert await anext(newest_first) == (5_999, False)
    assert read == 500, "the last window alone"


async def test_a_time_leads_straight_to_where_its_letters_begin(settings: Settings) -> None:
    """What failed long before --since is not even read."""
    now = datetime.now(UTC).replace(microsecond=0)
    long_ago = now - timedelta(days=10)
    times = [long_ago + timedelta(seconds=number) for number in range(100)] + [now] * 10

    def send() -> None:
        producer = Producer({"bootstrap.servers": settings.kafka_bootstrap})
        for number, at in enumerate(times):
            made = made_letter(settings, number, failed_at=at)
            placed: dict[str, Any] = {"partition": 0, "timestamp": int(at.timestamp() * 1000)}
            producer.produce(settings.dead_letter_topic, made.value, made.key, headers=list(made.headers), **placed)
        assert producer.flush(30) == 0

    await asyncio.to_thread(send)
    for since, start in (
        (now - timedelta(days=1), 100),
        (long_ago + timedelta(minutes=6), 60),
        (now + timedelta(days=1), 110),
    ):
        async with LetterReader.open(settings) as reader:
            (span,) = await reader.spans([settings.dead_letter_topic], since)
        assert (span.start, span.end) == (start, 110)
    for order in ((), WHOLE):
        assert len(await letters(settings, "--since", "1d", *order)) == 10
        assert len(await letters(settings, "--since", "11d", "--until", "9d", "--limit", 500)) == 100
