"""`rating-worker dead-letters replay` on real services: what goes back, what does not, and what becomes of it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.integration.test_cli_check import configure_topic
from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of
from tests.support.letters import (
    HEADERS,
    REPLAY,
    WHOLE,
    letters,
    made_letter,
    open_places,
    replay,
    sent_back,
    take,
    with_delivery,
    without_yi,
)
from tests.support.matches import stream
from tests.support.odd_headers import produce_batch
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process
from worker.events import Reject
from worker.settings import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from worker.settings import Settings


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_what_is_replayed_after_the_cause_is_mended_is_rated_once(
    settings: Settings, tmp_path: Path, delivery: Delivery
) -> None:
    """Each match goes back once, as it came and where it came from, and is rated once; another sends nothing."""
    settings = with_delivery(settings, delivery)
    matches = stream(1_300, players=40, seed=41, pools=("yi", "shax"))
    missed = [match for match in matches if match.pool == "yi"]
    sent = [record_of(match)._replace(headers=HEADERS) for match in matches]
    await produce(settings, sent)
    await take(without_yi(settings, tmp_path), len(sent))

    dry = await replay(settings)
    assert (dry["dry_run"], dry["letters"]) == (True, len(missed))
    assert "--yes" in (await cli(settings, "dead-letters", "replay")).out
    assert await sent_back(settings) == []
    told = await replay(settings, "--yes")
    assert told["by"] == [{"topic": settings.match_topic, "reason": "unknown-pool", "letters": len(missed)}]
    before = {one.value: one for one in await read_all(settings, settings.match_topic) if not one.header("dlq.attempt")}
    back = await sent_back(settings)
    assert len(back) == len(missed)
    for record in back:
        original = before[record.value]
        assert (record.key, record.partition, record.headers[:3]) == (original.key, original.partition, HEADERS)
        assert tuple(name for name, _ in record.headers[3:]) == REPLAY
        assert record.header("dlq.attempt") == "2"
    assert order_of(back) == order_of(
        before[record.value] for record in sorted(back, key=lambda one: before[one.value].offset)
    )

    again = await replay(settings, "--yes")
    assert (again["letters"], again["left"][0]["why"], again["left"][0]["letters"]) == (
        0,
        "sent back already",
        len(missed),
    )
    totals = await take(running(settings), len(missed))
    assert totals["dead_lettered"] == totals["resent"] == 0
    assert (await check(settings, matches)).wrong() == {}
    assert await open_places(settings) == []
    shown = (await cli(settings, "dead-letters", "show", f"{settings.dead_letter_topic}/0/0", "--json")).json()
    (first,) = (one for one in back if one.header("dlq.replayed-from") == shown["letter"])
    assert shown["replay"]["to"] == f"{settings.match_topic}/{first.partition}/{first.offset}"
    assert shown["failed_again"] is None


def order_of(records: Iterable[Raw]) -> dict[tuple[int, bytes | None], list[bytes | None]]:
    """Give the values of each partition and key in their order."""
    found: dict[tuple[int, bytes | None], list[bytes | None]] = {}
    for record in records:
        found.setdefault((record.partition, record.key), []).append(record.value)
    return found


async def test_a_record_that_fails_again_counts_its_attempts(settings: Settings, tmp_path: Path) -> None:
    """Each new letter has one attempt more and names the one before; after three nothing is sent unless forced."""
    match = stream(1, players=9, seed=42, pools=("yi",))[0]
    dlq = settings.dead_letter_topic
    await produce(settings, [record_of(match)._replace(headers=HEADERS)])
    await take(without_yi(settings, tmp_path), 1)
    for attempt in (2, 3):
        assert (await replay(settings, "--yes"))["letters"] == 1
        await take(without_yi(settings, tmp_path), 1)
        last, *earlier = await letters(settings)
        assert (last["attempt"], last["replayed"]) == (attempt, False)
        assert last["replayed_from"] == earlier[0]["letter"]
        assert all(one["replayed"] for one in earlier)
        raw = next(one for one in await read_all(settings, dlq) if f"{dlq}/0/{one.offset}" == last["letter"])
        assert (raw.key, raw.value, raw.headers[:3]) == (*record_of(match)[:2], HEADERS)
    worn = await replay(settings, "--yes", code=65)
    assert {one["why"]: one["letters"] for one in worn["left"]} == {"sent back already": 2, "attempts used up": 1}
    assert (await replay(settings, "--yes", "--max-attempts", 4))["letters"] == 1
    await take(without_yi(settings, tmp_path), 1)
    last = (await letters(settings, "--limit", 1))[0]
    assert last["attempt"] == 4
    assert (await replay(settings, "--yes", code=65))["letters"] == 0
    assert (await replay(settings, "--yes", "--force", last["letter"]))["letters"] == 1
    assert (await replay(settings, "--yes", "--force", last["letter"]))["letters"] == 1
    await take(running(settings), 2)
    assert (await check(settings, [match])).wrong() == {}
    first = (await letters(settings, "--oldest-first"))[0]
    shown = (await cli(settings, "dead-letters", "show", first["letter"])).out
    assert "sent back  " in shown
    assert "failed again: " in shown


async def test_nothing_goes_round_while_a_worker_refuses_it_at_once(settings: Settings, tmp_path: Path) -> None:
    """A replay ends with what was there at its start, though every record is a dead letter again within moments."""
    matches = stream(2_200, players=90, seed=43, pools=("yi",))
    await produce(settings, map(record_of, matches))
    async with without_yi(settings, tmp_path) as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        for attempt in (1, 2, 3):
            await until(lambda: totals["dead_lettered"] >= attempt * len(matches), 60, lambda: str(totals))  # noqa: B023
            if attempt < 3:
                # In a process of its own: standard output of this one has the worker's log.
                ended = await cli_process(settings, "dead-letters", "replay", "--yes", "--max-attempts", 99, "--json")
                assert (ended.code, ended.json()["letters"]) == (0, len(matches)), ended.err
    assert totals["dead_lettered"] == 3 * len(matches)
    attempts = Counter(one["attempt"] for one in await letters(settings, *WHOLE))
    assert attempts == {1: len(matches), 2: len(matches), 3: len(matches)}


async def test_a_value_that_was_left_out(settings: Settings, tmp_path: Path) -> None:
    """It is fetched from where it came from as long as it is there; after that its letter is left and told."""
    matches = stream(3, players=9, seed=46, pools=("yi",))
    large = [large_record(number, record_of(match).json()) for number, match in enumerate(matches)]
    await configure_topic(settings, settings.dead_letter_topic, max_message_bytes="3000")
    await produce(settings, large)
    await take(without_yi(settings, tmp_path), 3)
    found = await letters(settings)
    assert all(one["value_left_out"] and one["value_bytes"] is None for one in found)
    origins = {one["key"]["text"].encode(): one for one in found}
    first = origins[large[0].key or b""]
    shown = (await cli(settings, "dead-letters", "show", first["letter"], "--json")).json()
    assert (shown["value"]["text"].encode(), shown["value_gone"]) == (large[0].value, False)

    topic, partition, offset = first["origin"].rsplit("/", 2)
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    for done in admin.delete_records([TopicPartition(topic, int(partition), int(offset) + 1)]).values():
        await asyncio.to_thread(done.result, 30)
    told = await replay(settings, "--yes", code=65)
    assert (told["letters"], told["left"]) == (
        2,
        [{"why": "value left out, and gone from its place", "letters": 1, "examples": [first["letter"]]}],
    )
    gone = await cli(settings, "dead-letters", "show", first["letter"])
    assert "gone from " + first["origin"] in gone.out
    assert (await cli(settings, "dead-letters", "show", first["letter"], "--value")).code == 1
    back = {one.key: one for one in await sent_back(settings)}
    assert {one.value for one in back.values()} == {large[1].value, large[2].value}
    await take(running(settings), 2)
    assert (await check(settings, matches[1:])).wrong() == {}


def large_record(number: int, match: dict[str, Any]) -> Raw:
    """Make a record of a match with much beside it that does not compress."""
    value = orjson.dumps(match | {"notes": os.urandom(15_000).hex()})
    return Raw(b"key %d" % number, value)


async def test_letters_larger_than_their_topic_takes_now(settings: Settings) -> None:
    """What a topic does not take together is sent in smaller pieces; what it does not take alone is left and told."""
    topic = settings.match_topic
    small = [made_letter(settings, n)._replace(value=os.urandom(1_000), key=b"k") for n in range(60)]
    large = [made_letter(settings, n)._replace(value=os.urandom(9_000), key=b"k") for n in (100, 101)]
    await produce(settings, [*small[:20], large[0], *small[20:], large[1]], settings.dead_letter_topic)
    await configure_topic(settings, topic, max_message_bytes="5000")
    told = await replay(settings, "--yes", code=65)
    assert told["letters"] == 60
    assert [(one["why"], one["letters"]) for one in told["left"]] == [("larger than its topic takes", 2)]
    assert [one.value for one in await sent_back(settings)] == [one.value for one in small]
    assert len(await open_places(settings)) == 2
    await configure_topic(settings, topic, max_message_bytes="20000")
    assert (await replay(settings, "--yes"))["letters"] == 2


async def test_what_can_only_fail_again_stays(settings: Settings) -> None:
    """A record that is itself at fault is left, with the number and why, unless its reason or its place is named."""
    reasons = (Reject.CONFLICT, Reject.SELF_PLAY, Reject.SELF_PLAY, Reject.UNKNOWN_POOL, Reject.FUTURE)
    made = [made_letter(settings, n, reason=reason) for n, reason in enumerate(reasons)]
    await produce(settings, made, settings.dead_letter_topic)
    told = await replay(settings, "--yes")
    assert {one["reason"] for one in told["by"]} == {"unknown-pool", "future"}
    why = "fails again as it is: the record itself is at fault"
    places = [f"{settings.dead_letter_topic}/0/{n}" for n in range(3)]
    assert told["left"][0] == {"why": why, "letters": 3, "examples": places}
    words = (await cli(settings, "dead-letters", "replay")).out
    assert f"3, {why}" in words
    assert "--force" in words
    assert (await replay(settings, "--yes", places[0]))["letters"] == 1
    assert (await replay(settings, "--yes", "--reason", "conflict"))["left"][0]["why"] == "sent back already"
    assert (await replay(settings, "--reason", "self-play"))["letters"] == 2
    assert (await replay(settings, "--force"))["letters"] == len(made)


async def test_letters_that_no_worker_wrote(settings: Settings) -> None:
    """Odd, forged and foreign records of a dead-letter topic do no harm; what goes back goes to our topics alone."""
    dlq = settings.dead_letter_topic
    good = made_letter(settings, 1, partition=99)
    await produce(
        settings,
        [
            Raw(b"k", b"v"),
            Raw(b"k", b"v", (("dlq.reason", b"schema"),)),
            good,
            made_letter(settings, 2, topic="accounts"),
            made_letter(settings, 3, topic=settings.verdict_topic),
            made_letter(settings, 4)._replace(key=None, value=None),
            Raw(b"mark", None, (("dlq.replayed-from", b"%b/0/2" % dlq.encode()),)),
            Raw(b"mark", None, (("dlq.replayed-from", b"%b/0/99999999999999" % dlq.encode()), *MARK)),
        ],
        dlq,
    )
    odd = settings.model_copy(update={"match_topic": dlq})
    await produce_batch(odd, 0, [made_letter(settings, 5)], odd={0})
    assert {one["origin"].rpartition("/")[2] for one in await letters(settings)} == set("12345")
    told = await replay(settings, "--yes", code=65)
    assert told["letters"] == 3
    assert {one["why"]: one["letters"] for one in told["left"]} == {"from a topic that no worker reads": 2}
    back = await sent_back(settings)
    assert {one.key for one in back} == {b"key 1", None, b"key 5"}
    assert {one.value for one in back} == {b"{}", None}
    for number, words in [(0, "no worker put"), (1, "no worker put"), (9, "is the mark of a replay")]:
        ended = await cli(settings, "dead-letters", "show", f"{dlq}/0/{number}")
        assert ended.code == 1
        assert words in ended.err
    missing = await replay(settings, f"{dlq}/0/0", code=65)
    assert missing["missing"] == [f"{dlq}/0/0"]


MARK = (("dlq.replayed-at", b"2026-03-01T00:00:00Z"), ("dlq.replayed-to", b"a/0/1"))
