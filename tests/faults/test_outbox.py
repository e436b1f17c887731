"""Sending that is given up half-way: what becomes of it later is nobody's surprise."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition

from tests.support.waiting import until
from worker.stream import client
from worker.stream.errors import BatchLostError
from worker.stream.outbox import Limits, Outgoing, send_all
from worker.stream.publisher import ExactlyOncePublisher

if TYPE_CHECKING:
    from tests.support.places import ProxiedServers


async def test_a_send_that_ran_out_of_time_is_fenced_later(servers: ProxiedServers) -> None:
    """What a producer had given up on may still fail when another has fenced it; that is no unhandled error."""
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: reported.append(context))
    try:
        await _give_up_and_be_fenced(servers)
        gc.collect()  # a future that fails and that nobody asks is reported when it goes
    finally:
        loop.set_exception_handler(None)
    assert reported == []


async def _give_up_and_be_fenced(servers: ProxiedServers) -> None:
    settings = await servers.prepare("given_up")
    slow, heir = client.producer(servers.through(settings), "same"), client.producer(settings, "same")
    await slow.start()
    await slow.begin_transaction()
    await slow.partitions_for(settings.rating_topic)
    servers.to_kafka.stall()
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await send_all(slow, [Outgoing(settings.rating_topic, b"key", b"value", [])])
        await heir.start()
    finally:
        servers.to_kafka.flow()
    await until(slow._sender.sender_task.done, 60)
    await client.discard(slow)
    await client.discard(heir)


async def test_a_transaction_that_ends_before_its_records_are_sent(servers: ProxiedServers) -> None:
    """Another fences the producer, which the offsets are told first: the batch is lost, and that is no bug."""
    settings = await servers.prepare("ended")
    heir = client.producer(settings, settings.transactional_id)
    publisher = ExactlyOncePublisher(settings, Limits())
    await publisher.start()
    await heir.start()
    producer = publisher._producer
    assert producer is not None
    partitions_for = producer.partitions_for

    async def late(topic: str) -> Any:  # as where the metadata of a topic has to be asked for
        await until(lambda: not producer._txn_manager.is_in_transaction(), 30)
        return await partitions_for(topic)

    producer.partitions_for = late
    try:
        with pytest.raises(BatchLostError, match="another producer was started") as lost:
            await publisher.stage(
                [Outgoing(settings.rating_topic, b"key", b"value", [])], {TopicPartition(settings.match_topic, 0): 1}
            )
        assert lost.value.kind == "fenced"
        assert publisher.settled
    finally:
        await publisher.stop()
        await client.discard(heir)
