"""Sending that is given up half-way: what becomes of it later is nobody's surprise."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import ConcurrentTransactions, KafkaError
from aiokafka.producer import sender

from tests.support.waiting import until
from worker.stream import client
from worker.stream.errors import BatchLostError, StreamAwayError
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
    """Another fences the producer between its offsets and its records: the batch is lost, and that is no bug."""
    settings = await servers.prepare("ended")
    heir = client.producer(settings, settings.transactional_id)
    publisher = ExactlyOncePublisher(settings, Limits())
    try:
        await publisher.begin({TopicPartition(settings.match_topic, 0): 1})
        await heir.start()
        with pytest.raises(BatchLostError, match="another producer was started") as lost:
            await publisher.stage(await publisher.pack([Outgoing(settings.rating_topic, b"key", b"value", [])]))
        assert lost.value.kind == "fenced"
        assert publisher.settled
        with pytest.raises(BatchLostError):
            await publisher.commit()
    finally:
        await publisher.stop()
        await client.discard(heir)


async def test_a_producer_in_the_wrong_state(servers: ProxiedServers) -> None:
    """aiokafka refuses to send once it knows that the transaction has failed: a new producer is started, no bug."""
    settings = await servers.prepare("wrong_state")
    publisher = ExactlyOncePublisher(settings, Limits())
    try:
        await publisher.begin({TopicPartition(settings.match_topic, 0): 1})
        assert publisher._producer is not None
        publisher._producer._txn_manager.error_transaction(KafkaError("as after a request that was refused"))
        with pytest.raises(StreamAwayError, match="not in transaction"):
            await publisher.stage(await publisher.pack([Outgoing(settings.rating_topic, b"key", b"value", [])]))
        await publisher.abort()
        await publisher.begin({TopicPartition(settings.match_topic, 0): 1})
    finally:
        await publisher.stop()


async def test_the_next_transaction_begins_soon(servers: ProxiedServers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that still writes the markers of the last transaction is asked again in milliseconds, not in 100."""
    waits: list[float] = []
    handler = sender.AddOffsetsToTxnHandler
    handle = handler.handle_response

    def noted(self: Any, resp: Any) -> float | None:
        wait: float | None = handle(self, resp)
        if resp.error_code == ConcurrentTransactions.errno:
            assert wait is not None
            waits.append(wait)
        return wait

    monkeypatch.setattr(handler, "handle_response", noted)
    settings = await servers.prepare("soon", partitions=12)
    publisher = ExactlyOncePublisher(settings, Limits())
    records = [Outgoing(settings.rating_topic, bytes([number]), b"value", []) for number in range(48)]
    offset = 0
    try:
        while not waits:  # until one comes too soon: with markers for 12 partitions, most do
            offset += 1
            assert offset < 200, "the broker never put a transaction off"
            await publisher.begin({TopicPartition(settings.match_topic, 0): offset})
            await publisher.stage(await publisher.pack(records))
            await publisher.commit()
    finally:
        await publisher.stop()
    assert max(waits) < 0.01


async def test_a_producer_that_is_dropped_with_its_transaction_open(servers: ProxiedServers) -> None:
    """What the broker did not hear to be over is not settled, so that whoever takes the partitions fences it."""
    settings = await servers.prepare("left_open", kafka_request_timeout_s=1.0, publish_timeout_s=2.0)
    publisher = ExactlyOncePublisher(servers.through(settings), Limits())
    try:
        await publisher.begin({TopicPartition(settings.match_topic, 0): 1})
        servers.to_kafka.stall()
        with pytest.raises(StreamAwayError):
            await publisher.stage(await publisher.pack([Outgoing(settings.rating_topic, b"key", b"value", [])]))
        await publisher.abort()
        assert not publisher.settled
        servers.to_kafka.flow()
        await publisher.start()  # ends it
        assert publisher.settled
    finally:
        servers.to_kafka.flow()
        await publisher.stop()
