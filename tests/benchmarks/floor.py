"""The floor: the same rows and records as the worker's, and nothing of ours: `... tests.benchmarks.floor HOW WHERE`.

It reads the same topic, COPYs the same match and ledger rows, upserts the same ratings, and sends the same records in
the same Kafka transactions with the offsets. It decodes, checks, locks and rates nothing: what a batch writes was read
back, before the clock, from what a worker wrote (`WHERE` says where, as JSON).

`HOW` is `plain`, one thing after the other, or `overlapped`: the records are sent while the rows are written, and the
Kafka transaction ends while the next batch is read and written. A worker can't send before it has locked and rated, so
that one is out of reach; it shows what the two servers take at most on this machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import asyncpg
import uvloop

from tests.benchmarks import reference
from worker.settings import load_settings
from worker.stream import client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from aiokafka import AIOKafkaProducer

    from tests.benchmarks.reference import Reference, Table, Unit
    from worker.settings import Settings


class Writer:
    """Writes the rows of a batch."""

    def __init__(self, connection: asyncpg.Connection[Any], rows: Reference) -> None:
        self._connection = connection
        self._rows = rows
        self._known: set[int] = set()
        self._insert = _insert(rows.ratings)
        self._update = _update(rows.ratings)
        self._key = rows.ratings.columns.index("rating_id")

    async def write(self, units: Sequence[Unit]) -> None:
        """Write what came of these matches."""
        ratings: dict[int, tuple[Any, ...]] = {}
        for unit in units:
            ratings |= unit.ratings
        new = [row for rating_id, row in ratings.items() if rating_id not in self._known]
        old = [row for rating_id, row in ratings.items() if rating_id in self._known]
        if new:
            await self._connection.execute(self._insert, *map(list, zip(*new, strict=True)))
            self._known |= {row[self._key] for row in new}
        if old:
            await self._connection.execute(self._update, *map(list, zip(*old, strict=True)))
        await self._copy("matches", self._rows.matches, sorted(unit.match for unit in units))
        await self._copy("ledger", self._rows.ledger, [row for unit in units for row in unit.ledger])

    async def _copy(self, name: str, table: Table, rows: list[tuple[Any, ...]]) -> None:
        await self._connection.copy_records_to_table(name, records=rows, columns=table.columns)


async def main(where: dict[str, str], *, overlapped: bool) -> None:
    """Load what to write, then consume until killed."""
    settings = load_settings()
    rows = await reference.load(settings.kafka_bootstrap, where["topic"], where["database_url"])
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    await connection.executemany("insert into pools overriding system value values ($1, $2)", rows.pools)
    consumer = client.consumer(settings)
    producer = client.producer(settings, settings.transactional_id)
    async with consumer, producer:
        consumer.subscribe([settings.match_topic])
        floor = Floor(settings, producer, connection, rows)
        await floor.consume(consumer, overlapped=overlapped)


class Floor:
    """The loop."""

    def __init__(
        self, settings: Settings, producer: AIOKafkaProducer, connection: asyncpg.Connection[Any], rows: Reference
    ) -> None:
        self._settings = settings
        self._producer = producer
        self._connection = connection
        self._writer = Writer(connection, rows)
        self._units = iter(rows.units)

    async def consume(self, consumer: Any, *, overlapped: bool) -> None:
        """Work until killed."""
        settings = self._settings
        ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ending.set_result(None)
        while True:
            polled = await consumer.getmany(
                timeout_ms=settings.batch_max_wait_ms, max_records=settings.batch_max_records
            )
            count = sum(map(len, polled.values()))
            if not count:
                continue
            batch = list(islice(self._units, count))
            async with self._connection.transaction():
                if overlapped:
                    await asyncio.gather(self._writer.write(batch), self._send(batch, ending))
                else:
                    await self._writer.write(batch)
                    await self._send(batch, ending)
            ending = asyncio.ensure_future(self._end({p: records[-1].offset + 1 for p, records in polled.items()}))
            if not overlapped:
                await ending

    async def _end(self, offsets: dict[Any, int]) -> None:
        await self._producer.send_offsets_to_transaction(offsets, self._settings.consumer_group)
        await self._producer.commit_transaction()

    async def _send(self, batch: Sequence[Unit], after: Awaitable[None]) -> None:
        """Send a batch's records in a transaction of their own, once the one before it has ended."""
        producer, topic = self._producer, self._settings.rating_topic
        await after
        await producer.begin_transaction()
        futures = []
        builders: dict[int, Any] = {}
        for unit in batch:
            for partition, key, value, headers in unit.sent:
                builder = builders.get(partition)
                if builder is None:
                    builder = builders[partition] = producer.create_batch()
                if builder.append(timestamp=None, key=key, value=value, headers=headers) is None:  # full
                    futures.append(await producer.send_batch(builder, topic, partition=partition))
                    builder = builders[partition] = producer.create_batch()
                    builder.append(timestamp=None, key=key, value=value, headers=headers)
        for partition, builder in builders.items():
            futures.append(await producer.send_batch(builder, topic, partition=partition))
        await asyncio.gather(*futures)


def _insert(table: Table) -> str:
    return (
        f"insert into ratings ({', '.join(table.columns)}) overriding system value "
        f"select * from unnest({_arrays(table)}) on conflict do nothing"
    )


def _update(table: Table) -> str:
    moved = [name for name in table.columns if name not in {"rating_id", "pool_id", "player_id"}]
    return (
        f"update ratings r set {', '.join(f'{name} = b.{name}' for name in moved)} "
        f"from unnest({_arrays(table)}) b({', '.join(table.columns)}) where r.rating_id = b.rating_id"
    )


def _arrays(table: Table) -> str:
    return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(table.types, 1))


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[2]), overlapped=sys.argv[1] == "overlapped"))
