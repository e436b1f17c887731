"""Offsets and ledger at odds: an operator moves the group back, or the database comes from a backup."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import asyncpg

from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of, reset_offsets, until_all_committed
from tests.support.load import Load
from tests.support.workers import working
from worker.settings.values import DatabaseUrl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.places import ProxiedServers
    from worker.settings import Settings

_PARTITIONS = 6
_LEDGER = """
    select l.*, p.name as pool, r.player_id
    from ledger l join ratings r using (rating_id) join pools p using (pool_id) order by l.entry_id
"""
_KNOWN = """
    select topic, source_partition, max(source_offset) + 1 from matches join sources using (source_id) group by 1, 2
"""


async def test_offsets_reset_to_the_earliest(servers: ProxiedServers, tmp_path: Path) -> None:
    """Each old change is published once more, byte for byte; nothing is rated again; what is new is rated as ever."""
    settings = await servers.prepare("reset", partitions=_PARTITIONS)
    load = Load(settings, seed=61)
    async with working(settings, tmp_path, "before"):
        await load.send(500)
        again = [record_of(match)._replace(key=b"elsewhere") for match in load.sent[::10]]  # sent twice
        await produce(settings, [*again, *(Raw(b"bad", b"poison %d" % number) for number in range(20))])
        await until_all_committed(settings)
    ledger, changes, letters = await _everything(settings)
    assert ledger
    assert letters.total() == 20

    await reset_offsets(settings, {(settings.match_topic, number): 0 for number in range(_PARTITIONS)})
    async with working(settings, tmp_path, "after") as (worker,):
        await load.send(200)
        await until_all_committed(settings)
    ledger_after, changes_after, letters_after = await _everything(settings)
    assert ledger_after[: len(ledger)] == ledger
    new = changes_after - changes - changes  # what is new
    assert changes_after == changes + changes + new
    assert set(new.values()) == {1}
    assert new.total() == len(ledger_after) - len(ledger)
    assert letters_after == letters + letters
    said = worker.events()[-1]
    assert (said["rated"] + said["unrated"], said["redelivered"], said["resent"]) == (200, 500, 50)
    findings = await check(settings, load.sent)
    findings.published_twice.clear()
    assert findings.wrong(but="out_of_order") == {}


async def test_a_database_from_a_backup(servers: ProxiedServers, tmp_path: Path) -> None:
    """A worker can't see that the ledger is behind; with the offsets moved back to it, every match is rated, once.

    Versions that were given out since the backup are given out again, maybe for other matches: what the topic says last
    of a player and a version is what holds.
    """
    settings = await servers.prepare("live", partitions=_PARTITIONS)
    load = Load(settings, seed=62)
    async with working(settings, tmp_path, "before"):
        await load.send(400)
        await until_all_committed(settings)
    restored = await _restored(servers, settings)
    known = await _rows(restored, _KNOWN)
    async with working(settings, tmp_path, "since"):
        await load.send(300)
        await until_all_committed(settings)
    async with working(restored, tmp_path, "unaware"):
        await load.send(100)
        await until_all_committed(restored)
    assert set((await check(restored, load.sent)).lost) == {match.match_id for match in load.sent[400:700]}

    offsets = {(settings.match_topic, number): 0 for number in range(_PARTITIONS)}
    await reset_offsets(restored, offsets | {(topic, number): offset for topic, number, offset in known})
    async with working(restored, tmp_path, "aware"):
        await until_all_committed(restored)
    findings = await check(restored, load.sent)
    findings.published_twice.clear()
    findings.unequal = [finding for finding in findings.unequal if not finding.startswith("published: ")]
    assert findings.wrong(but="out_of_order") == {}
    events = [record.json() for record in await read_all(restored, restored.rating_topic)]
    last = {(event["pool"], event["player_id"], event["version"]): event for event in events}
    for entry in await _rows(restored, _LEDGER):
        event = last[entry["pool"], entry["player_id"], entry["version"]]
        assert (event["match_id"], event["after"]) == (entry["match_id"], entry["after"])


async def _restored(servers: ProxiedServers, settings: Settings) -> Settings:
    """Copy the database as it is now, as a backup does; gives settings that lead to the copy."""
    url = settings.database_url.get_secret_value()
    name = url.rpartition("/")[2]
    async with asyncpg.create_pool(servers.postgres.dsn("postgres"), min_size=1, max_size=1) as database:
        await database.execute(f'create database "{name}_restored" template "{name}"')
    return settings.model_copy(update={"database_url": DatabaseUrl(f"{url}_restored")})


async def _everything(settings: Settings) -> tuple[list[Any], Counter[Raw], Counter[bytes]]:
    """Give the ledger in recorded order, each change that was published, and the content of each dead letter."""
    changes = [record._replace(offset=-1) for record in await read_all(settings, settings.rating_topic)]
    letters = [record.value or b"" for record in await read_all(settings, settings.dead_letter_topic)]
    return await _rows(settings, _LEDGER), Counter(changes), Counter(letters)


async def _rows(settings: Settings, query: str) -> list[Any]:
    url = settings.database_url.get_secret_value()
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as database:
        return list(await database.fetch(query))
