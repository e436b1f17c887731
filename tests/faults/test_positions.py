"""Committed offsets while the broker starts: a group whose offsets are being loaded is not one that never had any."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from deploy.local import Stack
from worker.settings import Settings
from worker.stream import client
from worker.stream.errors import StreamAwayError
from worker.stream.positions import committed
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMITS = 200


@pytest.fixture(scope="module")
def own_stack() -> Iterator[Stack]:
    """Give servers that nobody else uses."""
    with Stack() as running:
        yield running


async def test_a_coordinator_that_is_loading_does_not_pass_for_an_empty_group(own_stack: Stack) -> None:
    """Asked all the time while the broker is killed and started, each answer is what was committed, or none at all."""
    settings = Settings(kafka_bootstrap=own_stack.bootstrap, consumer_group="loading")
    await create_topics(settings, partitions=3)
    there = [TopicPartition(settings.match_topic, number) for number in range(3)]
    never = TopicPartition(settings.verdict_topic, 0)
    producer = AIOKafkaProducer(bootstrap_servers=own_stack.bootstrap, transactional_id="committer")
    await producer.start()
    for number in range(_COMMITS):
        async with producer.transaction():
            offsets = {partition: number + partition.partition for partition in there}
            await producer.send_offsets_to_transaction(offsets, settings.consumer_group)
    await producer.stop()
    expected: dict[TopicPartition, int | None] = {p: _COMMITS - 1 + p.partition for p in there}
    expected[never] = None
    consumer = client.bare_consumer(settings)
    await consumer.start()
    try:
        assert await committed(consumer, settings.consumer_group, expected) == expected
        await asyncio.to_thread(own_stack.kafka.kill)
        starting = asyncio.create_task(asyncio.to_thread(own_stack.kafka.start))
        refused = answered = 0
        while not (starting.done() and answered > 5):
            try:
                async with asyncio.timeout(2):
                    assert await committed(consumer, settings.consumer_group, expected) == expected
                answered += 1
            except (StreamAwayError, TimeoutError):
                refused += 1
        await starting
    finally:
        await client.leave(consumer)
    assert refused


async def test_what_was_just_committed_is_what_is_committed(settings: Settings) -> None:
    """Asked right after a transaction's commit was answered, the group has its offsets and not those of before."""
    at = TopicPartition(settings.match_topic, 0)
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap, transactional_id=settings.transactional_id)
    consumer = client.bare_consumer(settings)
    await producer.start()
    await consumer.start()
    try:
        for number in range(200):
            async with producer.transaction():
                await producer.send_offsets_to_transaction({at: number}, settings.consumer_group)
            assert await committed(consumer, settings.consumer_group, [at]) == {at: number}
    finally:
        await producer.stop()
        await client.leave(consumer)
