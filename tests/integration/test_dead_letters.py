"""`rating-worker dead-letters` on real services: letters that real workers wrote, found again, shown and sent back."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AIOTopicPartition
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.integration.test_cli_check import configure_topic
from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of
from tests.support.matches import stream
from tests.support.odd_headers import produce_batch
from tests.support.processes import ROOT, environment_of
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process
from worker.events import Reject, dead_letter_headers
from worker.policies import load_policies
from worker.service import Worker
from worker.settings import Delivery
from worker.stream.letters import LetterReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from contextlib import AbstractAsyncContextManager

    from worker.settings import Settings

HEADERS = (("x", b"\xff\x00"), ("x", b"2"), ("traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01"))
REPLAY = ("dlq.attempt", "dlq.replayed-from", "dlq.replayed-at")


@asynccontextmanager
async def without_yi(settings: Settings, folder: Path) -> AsyncIterator[Worker]:
    """Run a worker whose operator forgot the pool `yi`."""
    pools = folder / "pools.toml"
    pools.write_text('[pools]\nshax = "biciid"\n"chess/*" = "fide"\n', "utf-8")
    worker = Worker(settings, load_policies(pools, ()))
    task = asyncio.create_task(worker.run())
    started = asyncio.create_task(worker.running.wait())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    try:
        yield worker
    finally:
        worker.stop()
        await task


async def take(running_worker: AbstractAsyncContextManager[Worker], records: int) -> Counter[str]:
    """Have a worker take so many records, and no more; gives its totals."""
    async with running_worker as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        await until(lambda: totals["records"] >= records, 60, lambda: str(totals))
    assert totals["records"] == records
    return totals


async def letters(settings: Settings, *arguments: object) -> list[dict[str, Any]]:
    """List letters as JSON."""
    ended = await cli(settings, "dead-letters", "list", "--json", *arguments)
    assert ended.code == 0, ended.err
    return [orjson.loads(line) for line in ended.out.splitlines()]


async def replay(settings: Settings, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Run a replay to its end; gives what it says as JSON."""
    ended = await cli(settings, "dead-letters", "replay", "--json", *arguments)
    assert ended.code == code, ended.err
    told: dict[str, Any] = ended.json()
    return told


async def sent_back(settings: Settings) -> list[Raw]:
    """Give the records of the match topic that a replay sent."""
    return [one for one in await read_all(settings, settings.match_topic) if one.header("dlq.attempt") is not None]


async def open_places(settings: Settings) -> list[str]:
    """Give where the letters are that no replay has sent back."""
    return [one["letter"] for one in await letters(settings, "--open", "--oldest-first", "--limit", 0)]


def made_letter(settings: Settings, number: int, **changed: Any) -> Raw:
    """Make a dead letter without a worker."""
    said: dict[str, Any] = {
        "reason": Reject.SCHEMA,
        "detail": "made up",
        "topic": settings.match_topic,
        "partition": 0,
        "offset": number,
        "timestamp_ms": None,
        "group": settings.consumer_group,
        "failed_at": datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=number),
        "worker_version": "0.0.1",
    }
    headers = dead_letter_headers((), **said | changed)
    return Raw(b"key %d" % number, b"{}", tuple((name, value or b"") for name, value in headers), 0)


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
    assert await letters(settings, "--oldest-first", "--limit", 0) == found
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
    assert "7 letters, 0 of them" in (await cli(settings, "dead-letters", "list", "--summary")).out

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
    process = await start_replay(settings, "show", by_reason["not-utf8"], "--value")
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
    assert shown["replayed"]["to"] == f"{settings.match_topic}/{first.partition}/{first.offset}"
    assert shown["failed_again"] is None


def with_delivery(settings: Settings, delivery: Delivery) -> Settings:
    """Give the settings with a way of delivery, also for processes that load them."""
    settings = settings.model_copy(update={"delivery": delivery})
    settings.model_fields_set.add("delivery")
    return settings


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
    attempts = Counter(one["attempt"] for one in await letters(settings, "--oldest-first", "--limit", 0))
    assert attempts == {1: len(matches), 2: len(matches), 3: len(matches)}


STOPPING = """
import os, sys
from aiokafka import AIOKafkaProducer
from worker.cli import main
number, method, before, passes = sys.argv.pop(1).split(":")
left, call = [int(passes)], getattr(AIOKafkaProducer, method)
def stop():
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), int(number))
async def wrapped(self, *arguments, **options):
    before == "1" and stop()
    result = await call(self, *arguments, **options)
    before == "1" or stop()
    return result
setattr(AIOKafkaProducer, method, wrapped)
sys.argv[0] = "rating-worker"
main()
"""


async def start_replay(
    settings: Settings, *arguments: str, stop: tuple[int, str, bool, int] | None = None
) -> asyncio.subprocess.Process:
    """Start a command of `dead-letters` in a process of its own, which may stop itself.

    Args:
        settings: Become its environment.
        arguments: Of `dead-letters`.
        stop: By which signal, before or after (False) which call of the producer, and how many are let pass.
    """
    program: tuple[str, ...] = ("-m", "worker")
    if stop is not None:
        number, method, before, passes = stop
        program = ("-c", STOPPING, f"{number:d}:{method}:{before:d}:{passes + 1}")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *program, "dead-letters", *arguments),
        cwd=ROOT,
        env=os.environ | environment_of(settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize(
    ("delivery", "method", "before", "again"),
    [
        (Delivery.EXACTLY_ONCE, "commit_transaction", True, 0),
        (Delivery.EXACTLY_ONCE, "commit_transaction", False, 0),
        # Without transactions: between the records of a piece and their marks.
        (Delivery.AT_LEAST_ONCE, "send_batch", True, 500),
    ],
    ids=str,
)
async def test_a_replay_that_is_killed_is_run_again(
    settings: Settings, tmp_path: Path, delivery: Delivery, method: str, before: bool, again: int
) -> None:
    """Killed at its worst moments and run again, every letter has gone back, once where there are transactions."""
    settings = with_delivery(settings, delivery)
    matches = stream(1_700, players=60, seed=44, pools=("yi",))
    # On one partition, so that a piece is one call of the producer for its records, and one for its marks.
    await produce(settings, [record_of(match)._replace(partition=5) for match in matches])
    await take(without_yi(settings, tmp_path), len(matches))
    passes = 3 if method == "send_batch" else 1
    process = await start_replay(settings, "replay", "--yes", stop=(signal.SIGKILL, method, before, passes))
    await process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = 500 if before else 1_000
    left = await replay(settings)
    assert left["letters"] == len(matches) - done
    assert (await replay(settings, "--yes"))["letters"] == len(matches) - done
    assert await open_places(settings) == []
    sent = await sent_back(settings)
    assert {one.partition for one in sent} == {5}
    back = Counter(one.value for one in sent)
    assert len(back) == len(matches)
    assert back.total() == len(matches) + again
    totals = await take(running(settings), len(matches) + again)
    assert totals["resent"] == again
    assert (await check(settings, matches)).wrong() == {}


async def test_a_replay_that_is_interrupted_holds_nobody_up(settings: Settings, tmp_path: Path) -> None:
    """Ctrl-C ends the open transaction at once, so that workers read on; what was not sent is there to be sent."""
    matches = stream(700, players=60, seed=47, pools=("yi",))
    await produce(settings, [record_of(match)._replace(partition=5) for match in matches])
    await take(without_yi(settings, tmp_path), len(matches))
    process = await start_replay(settings, "replay", "--yes", stop=(signal.SIGINT, "send_batch", True, 3))
    out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err

    async def ended() -> bool:
        return await end_of(settings, "read_committed") == await end_of(settings, "read_uncommitted")

    await until(ended, settings.transaction_timeout_ms / 2000)  # by itself, the broker waits for all of that time
    assert (await replay(settings, "--yes"))["letters"] == 200
    assert Counter(one.value for one in await sent_back(settings)).total() == len(matches)


async def end_of(settings: Settings, isolation: str) -> int:
    """Give where a reader of partition 5 of the match topic gets to."""
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, isolation_level=isolation)
    await consumer.start()
    try:
        (end,) = (await consumer.end_offsets([AIOTopicPartition(settings.match_topic, 5)])).values()
        return int(end)
    finally:
        await consumer.stop()


async def test_two_replays_at_once(settings: Settings, tmp_path: Path) -> None:
    """The one that is started later ends the earlier one, and leaves out what that has sent; each letter goes once."""
    matches = stream(1_200, players=60, seed=45, pools=("yi",))
    await produce(settings, map(record_of, matches))
    await take(without_yi(settings, tmp_path), len(matches))
    earlier = await start_replay(settings, "replay", "--yes", stop=(signal.SIGSTOP, "commit_transaction", True, 1))
    stat = Path(f"/proc/{earlier.pid}/stat")
    await until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 60)
    later = await cli_process(settings, "dead-letters", "replay", "--yes", "--json")
    assert (later.code, later.json()["letters"]) == (0, len(matches) - 500), later.err
    earlier.send_signal(signal.SIGCONT)
    _, err = await earlier.communicate()
    assert earlier.returncode == 75
    assert err.decode().startswith("Another replay was started")
    assert "500 letters are sent back" in err.decode()
    assert Counter(one.value for one in await sent_back(settings)).most_common(1)[0][1] == 1
    assert len(await sent_back(settings)) == len(matches)


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


async def test_many_letters_are_read_in_windows_and_from_a_time_on(settings: Settings) -> None:
    """The newest come from the end alone; a time leads straight to where its letters begin."""
    topics = (settings.dead_letter_topic, f"{settings.verdict_topic}.dlq")
    for start, topic in enumerate(topics):
        source = settings.input_topics[start]
        await produce(settings, [made_letter(settings, n, topic=source) for n in range(start, 12_000, 2)], topic)
    newest = await letters(settings, "--limit", 1_500)
    assert [one["detail"] for one in newest] == ["made up"] * 1_500
    assert [int(one["origin"].rpartition("/")[2]) for one in newest] == list(range(11_999, 10_499, -1))
    rare = await letters(settings, "--key", "key 4")
    assert [one["origin"] for one in rare] == [f"{settings.match_topic}/0/4"]
    oldest = await letters(settings, "--oldest-first", "--limit", 0)
    assert [int(one["origin"].rpartition("/")[2]) for one in oldest] == list(range(12_000))
    assert (await replay(settings, "--limit", 7))["letters"] == 7

    read = 0

    def count(offsets: int) -> None:
        nonlocal read
        read += offsets

    async with LetterReader.open(settings, count) as reader:
        (span, *_) = await reader.spans(topics)
        assert (span.start, span.end) == (0, 6_000)
        (late,) = await reader.spans(topics[:1], datetime.now(UTC) + timedelta(hours=1))
        assert late.start == late.end == 6_000
        (early,) = await reader.spans(topics[:1], datetime(2026, 1, 1, tzinfo=UTC))
        assert early == span
