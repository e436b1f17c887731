"""Clients of Kafka end within a few seconds, and whoever ends them is not cancelled by what aiokafka lets out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from worker.stream import client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiokafka.client import AIOKafkaClient
    from aiokafka.conn import AIOKafkaConnection

    from worker.settings import Settings


@pytest.fixture
def kept() -> Iterator[list[AIOKafkaConnection]]:
    """Connections whose ends were given up; they are closed after the test."""
    connections: list[AIOKafkaConnection] = []
    yield connections
    for connection in connections:
        connection.close()


async def give_up(opened: AIOKafkaClient, kept: list[AIOKafkaConnection]) -> None:
    """Cancel the waiters for the ends of a client's connections, as a time limit over its close does."""
    await opened.force_metadata_update()  # only asking opens a connection
    kept.extend(opened._conns.values())
    assert kept
    for connection in kept:
        connection._closed_fut.cancel()


async def test_a_producer_whose_end_was_given_up_once_is_discarded(
    settings: Settings, kept: list[AIOKafkaConnection]
) -> None:
    """Discarding it is no cancellation of the task that does so."""
    producer = client.producer(settings, None)
    await producer.start()
    await give_up(producer.client, kept)
    await client.discard(producer)


async def test_a_consumer_whose_end_was_given_up_once_is_left(
    settings: Settings, kept: list[AIOKafkaConnection]
) -> None:
    """Leaving its group is no cancellation of the task that does so."""
    consumer = client.bare_consumer(settings)
    await consumer.start()
    await give_up(consumer._client, kept)
    await client.leave(consumer)


async def test_an_admin_client_whose_end_was_given_up_once_ends_its_block(
    settings: Settings, kept: list[AIOKafkaConnection]
) -> None:
    """The end of the block is no cancellation of the task that runs it."""
    async with client.administering(settings) as admin:
        await give_up(admin._client, kept)


async def test_who_ends_a_client_can_be_cancelled(settings: Settings) -> None:
    """A cancellation of the task itself is not swallowed."""
    producer = client.producer(settings, None)
    await producer.start()
    ending = asyncio.create_task(client.discard(producer))
    asyncio.get_running_loop().call_soon(ending.cancel)
    with pytest.raises(asyncio.CancelledError):
        await ending
    await client.discard(producer)
