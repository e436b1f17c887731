"""Records in no order, and batches of which every record is refused: by the decoder, or by Postgres."""

from __future__ import annotations

import random
import signal
from collections import Counter
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of, until_all_committed
from tests.support.load import Load
from tests.support.matches import stream
from tests.support.workers import quick_worker, working

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers

_REFUSING = "alter table matches add check (match_id not like 'refused%')"


async def test_records_in_no_order(servers: ProxiedServers, tmp_path: Path) -> None:
    """Matches from last to first and at random, a third twice, on any partition: each is rated once, by the rules."""
    settings = await servers.prepare("disorder")
    chance = random.Random(81)
    matches = stream(1_500, players=60, seed=81)
    records = [record_of(match) for match in reversed(matches)]
    records += [record._replace(key=b"%d" % chance.randrange(99)) for record in chance.sample(records, 500)]
    late = records[750:]
    chance.shuffle(late)
    async with working(settings, tmp_path, "one", "two"):
        await produce(settings, records[:750] + late)
        await until_all_committed(settings)
    assert (await check(settings, matches)).wrong() == {}


@pytest.mark.parametrize("refused", ["not-json", "refused-by-database"])
async def test_poison_from_end_to_end(servers: ProxiedServers, tmp_path: Path, refused: str) -> None:
    """Batches of which every record is refused, a worker killed in their midst: each is kept once, others are rated."""
    settings = await servers.prepare(f"poison_{refused[:3]}", partitions=1, session_timeout_ms=3_000)
    async with asyncpg.create_pool(settings.database_url.get_secret_value(), min_size=1, max_size=1) as database:
        await database.execute(_REFUSING)
    load = Load(settings, seed=82)
    await load.send(100)
    poison = [record_of(match) for match in stream(500, players=60, seed=82, prefix="refused")]
    if refused == "not-json":
        poison = [Raw(record.key, b"?%d" % number) for number, record in enumerate(poison)]
    await produce(settings, poison)
    async with quick_worker(settings, tmp_path, "dying", freeze_at="between-commits:3") as dying:
        await dying.until_frozen()
        dying.send(signal.SIGKILL)
        await dying.until_ended()
    async with working(settings, tmp_path, "heir"):
        await load.send(100)
        await until_all_committed(settings)
    letters = await read_all(settings, settings.dead_letter_topic)
    assert {letter.header("dlq.reason") for letter in letters} == {refused}
    assert Counter(letter.value for letter in letters) == Counter(record.value for record in poison)
    assert (await check(settings, load.sent)).wrong() == {}
