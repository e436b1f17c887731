"""The straightforward consumer: one Postgres transaction a match. `python -m tests.benchmarks.straightforward LANES`.

Of the worker it uses the pure core and the policies, nothing else. It does what a careful first version does: a match
is recorded once, both players are locked in one order, a deadlock is tried again, changes are sent after the commit,
and offsets are committed when all changes before them are acknowledged. With several lanes, a pair stays in its lane,
so that its matches stay in order; any two lanes may meet at a player, and the lock keeps them apart.

Prepared statements (asyncpg keeps them) and uvloop are used, and sends are not waited for one by one: a slower opponent
would make the worker look good for nothing.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import asyncpg
import orjson
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from worker.policies import load_policies
from worker.rating.model import Change, Match, PlayerState, Rated, Side
from worker.rating.rate import rate
from worker.settings import Settings, load_settings

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

_POLL_RECORDS_PER_LANE = 125
_RETRIED = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_STATE = "player_id, rating, version, games, wins, draws, losses, peak, last_played_at"

_ADD_MATCH = """insert into matches (match_id, pool, lo, hi, finished_at, match_type, rated)
    values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning true"""
_ADD_PLAYER = "insert into players (pool, player_id, rating, peak) values ($1, $2, $3, $3) on conflict do nothing"
_LOCK = f"select {_STATE} from players where pool = $1 and player_id = any($2::text[]) order by player_id for update"
_PAIR = """select count(*) from matches
    where pool = $1 and lo = $2 and hi = $3 and rated and finished_at > $4 and finished_at <= $5"""
_MOVE = """update players set rating = $3, version = $4, games = $5, wins = $6, draws = $7, losses = $8, peak = $9,
    last_played_at = $10 where pool = $1 and player_id = $2"""
_ADD_CHANGE = """insert into changes (pool, player_id, version, opponent_id, match_id, reason, before, after, delta,
    expected, score, k, weight, policy, occurred_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"""


class Consumer:
    """Takes polls from Kafka, and each poll's records through so many lanes."""

    def __init__(self, settings: Settings, pool: asyncpg.Pool[Any], producer: AIOKafkaProducer, lanes: int) -> None:
        self._topic = settings.rating_topic
        self._pool = pool
        self._producer = producer
        self._lanes = lanes
        self._policies = load_policies(None, ())
        self._sends: list[Any] = []

    async def run(self, consumer: AIOKafkaConsumer) -> None:
        """Work until killed."""
        while True:
            polled = await consumer.getmany(timeout_ms=200, max_records=_POLL_RECORDS_PER_LANE * self._lanes)
            lanes: list[list[bytes]] = [[] for _ in range(self._lanes)]
            offsets: dict[TopicPartition, int] = {}
            for partition, records in polled.items():
                for record in records:
                    lanes[crc32(record.key) % self._lanes].append(record.value)
                offsets[partition] = records[-1].offset + 1
            if offsets:
                await asyncio.gather(*map(self._lane, lanes))
                await asyncio.gather(*self._sends)
                self._sends.clear()
                await consumer.commit(offsets)

    async def _lane(self, values: list[bytes]) -> None:
        for value in values:
            match = _decode(value)
            changes = await self._record(match)
            for change in changes:
                key = f"{change.pool}|{change.player_id}".encode()
                self._sends.append(await self._producer.send(self._topic, _encode(change), key))

    async def _record(self, match: Match) -> tuple[Change, ...]:
        while True:
            try:
                async with self._pool.acquire() as connection, connection.transaction():
                    return await self._rate(connection, match)
            except _RETRIED:
                continue

    async def _rate(self, connection: PoolConnectionProxy[Any], match: Match) -> tuple[Change, ...]:
        policy = self._policies.at(match.pool, match.finished_at)
        ids = [side.id for side in match.sides]
        lo, hi = sorted(ids)
        rows = await connection.fetch(_LOCK, match.pool, ids)
        if len(rows) < len(ids):
            for player in (lo, hi):
                await connection.execute(_ADD_PLAYER, match.pool, player, policy.start)
            rows = await connection.fetch(_LOCK, match.pool, ids)
        states = {row[0]: PlayerState(*row[1:]) for row in rows}
        earlier = 0
        if policy.pair_window is not None:
            since = match.finished_at - policy.pair_window
            earlier = await connection.fetchval(_PAIR, match.pool, lo, hi, since, match.finished_at)
        outcome = rate(match, states[ids[0]], states[ids[1]], earlier, policy)
        rated = isinstance(outcome, Rated)
        new = await connection.fetchval(
            _ADD_MATCH, match.match_id, match.pool, lo, hi, match.finished_at, match.match_type, rated
        )
        if not new or not isinstance(outcome, Rated):
            return ()
        await connection.executemany(
            _MOVE,
            [
                (match.pool, player, s.rating, s.version, s.games, s.wins, s.draws, s.losses, s.peak, s.last_played_at)
                for player, s in zip(ids, outcome.states, strict=True)
            ],
        )
        await connection.executemany(_ADD_CHANGE, [_row(change) for change in outcome.changes])
        return outcome.changes


def _decode(value: bytes) -> Match:
    event = orjson.loads(value)
    one, other = (
        Side(player["id"], float(player["score"]), player.get("attributes", {}).get("birth_year"))
        for player in event["players"]
    )
    return Match(
        event["match_id"],
        event["pool"],
        datetime.fromisoformat(event["finished_at"]),
        (one, other),
        event["match_type"],
        event["tournament_id"],
        event["verified"],
    )


def _encode(change: Change) -> bytes:
    factors = [[f.name, f.value, f.why] for f in change.factors]
    return orjson.dumps(change._asdict() | {"policy": change.policy._asdict(), "factors": factors})


def _row(c: Change) -> tuple[Any, ...]:
    return (
        c.pool,
        c.player_id,
        c.version,
        c.opponent_id,
        c.match_id,
        c.reason,
        c.before,
        c.after,
        c.delta,
        c.expected,
        c.score,
        c.k,
        c.weight,
        f"{c.policy.name} {c.policy.version}",
        c.occurred_at,
    )


async def main(lanes: int) -> None:
    """Make the tables, then consume until killed."""
    settings = load_settings()
    url = settings.database_url.get_secret_value()
    owner = await asyncpg.connect(url)
    await owner.execute("drop schema public cascade; create schema public")  # the arena brings the worker's tables
    await owner.execute(Path(__file__).with_name("straightforward.sql").read_text("utf-8"))
    await owner.close()
    consumer = AIOKafkaConsumer(
        settings.match_topic,
        bootstrap_servers=settings.kafka_bootstrap,
        group_id=settings.consumer_group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap, acks="all", enable_idempotence=True)
    async with asyncpg.create_pool(url, min_size=lanes, max_size=lanes) as pool, producer, consumer:
        await Consumer(settings, pool, producer, lanes).run(consumer)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
