"""What producers and topics can do to a worker, on real services: it stays small, goes on, and drops nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.integration.test_cli_check import configure_topic
from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.odd_headers import produce_batch
from tests.support.running import running
from tests.support.waiting import until
from worker.settings import Delivery

if TYPE_CHECKING:
    from worker.settings import Settings


async def test_header_names_that_are_no_utf8_are_no_reason_to_refuse(settings: Settings) -> None:
    """A match with such a header is rated like any other, and what stands around it in its batch is too."""
    matches = stream(1_000, players=60, seed=21)
    sent = [record_of(match) for match in matches]
    await produce_batch(settings, 0, sent[:200], odd={0, 7, 199})
    await produce_batch(settings, 1, sent[200:400])
    await produce_batch(settings, 1, [*sent[400:500], Raw(b"k", b"no JSON")], odd=set(range(101)), compression="zstd")
    await produce(settings, sent[500:700], transaction="abort")
    await produce(settings, sent[500:], transaction="commit")
    async with running(settings) as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        await until(lambda: totals["records"] == len(sent) + 1, 60, lambda: str(totals))
    assert (await check(settings, matches)).wrong(but="out_of_order") == {}
    (letter,) = await read_all(settings, settings.dead_letter_topic)
    assert (letter.header("dlq.reason"), letter.value) == ("not-json", b"no JSON")
    assert letter.header("\\xff\\xfe") == "1"


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_topics_that_take_little_are_sent_less_at_once(settings: Settings, delivery: Delivery) -> None:
    """Batches become as small as the topics ask for, and a dead letter keeps its value unless it alone is too large."""
    settings = settings.model_copy(update={"delivery": delivery})
    settings.model_fields_set.add("delivery")
    for topic in (settings.rating_topic, settings.dead_letter_topic):
        await configure_topic(settings, topic, max_message_bytes="3000")
    matches = stream(1_000, players=20, seed=23)
    noise = [Raw(b"same", f"no JSON {number}: ".encode() + noise_of(number, 600)) for number in range(100)]
    large = Raw(b"same", b"no JSON either: " + noise_of(0, 20_000))
    await produce(settings, [*noise, large, *map(record_of, matches)])
    async with running(settings):
        await until_all_committed(settings)
    findings = await check(settings, matches)
    if delivery is Delivery.AT_LEAST_ONCE:  # what went out before a topic refused went out again, byte for byte
        findings.published_twice.clear()
        findings.out_of_order.clear()
    assert findings.wrong() == {}
    letters = {letter.header("dlq.offset"): letter for letter in await read_all(settings, settings.dead_letter_topic)}
    assert len(letters) == len(noise) + 1
    assert sorted(letter.value or b"" for letter in letters.values()) == sorted(
        [*(raw.value or b"" for raw in noise), b""]
    )
    assert [letter.header("dlq.value-left-out") is not None for letter in letters.values()].count(True) == 1


async def test_many_rows_that_postgres_refuses(settings: Settings) -> None:
    """Each becomes a dead letter of its own, and the others are rated as if they had never come."""
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    await connection.execute("alter table matches add constraint taken check (match_id not like 'bad-%')")
    await connection.close()
    good, bad = stream(1_000, players=40, seed=24), stream(150, players=40, seed=25, prefix="bad")
    records = [record_of(match) for match in good]
    for number, match in enumerate(bad):
        records.insert(number * 7, record_of(match))
    await produce(settings, records)
    async with running(settings) as worker:
        assert worker.pipeline is not None
        await until_all_committed(settings)
        assert worker.pipeline.totals["dead_lettered"] == len(bad)
    letters = await read_all(settings, settings.dead_letter_topic)
    assert {letter.header("dlq.reason") for letter in letters} == {"refused-by-database"}
    assert sorted(letter.value or b"" for letter in letters) == sorted(record_of(m).value or b"" for m in bad)
    assert (await check(settings, good)).wrong(but="out_of_order") == {}


async def test_a_batch_takes_no_more_bytes_than_allowed(settings: Settings) -> None:
    """Large records make small batches: what a worker holds is bounded by its settings."""
    settings = settings.model_copy(update={"batch_max_bytes": 1_000_000})
    large = [Raw(b"same", b"not JSON" + bytes(900_000)) for _ in range(40)]
    await produce(settings, large)
    async with running(settings) as worker:
        assert worker.pipeline is not None
        totals = worker.pipeline.totals
        await until(lambda: totals["records"] == len(large), 60, lambda: str(totals))
    assert totals["dead_lettered"] == len(large)
    assert totals["batches"] >= 18, "two of them and a piece at most"
    letters = await read_all(settings, settings.dead_letter_topic)
    assert {letter.value for letter in letters} == {large[0].value}


def noise_of(seed: int, size: int) -> bytes:
    """Give bytes that don't compress."""
    return random.Random(seed).randbytes(size).hex().encode()[:size]
