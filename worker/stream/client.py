"""How this worker's Kafka clients are set up: the one place that knows aiokafka's options."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from worker.stream import security
from worker.stream.diagnosis import explain
from worker.stream.errors import StreamAwayError, stream_faults

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from worker.settings import Settings

# One ready-made batch holds a partition's share of the changes: aiokafka keeps one batch a partition in flight, so many
# small ones would wait for each other. Well below the 1 MB that a topic takes by default.
MAX_PRODUCER_BATCH_BYTES = 512 * 1024
# Of a dead letter: a record as large as a broker takes, and our headers.
MAX_REQUEST_BYTES = 64 * 1024 * 1024
_STOP_TIMEOUT_S = 3.0

_log = structlog.get_logger(__name__)


def common(settings: Settings) -> dict[str, Any]:
    """Give the options that every client shares.

    Raises:
        StreamSetupError: A certificate or a key can't be used.
    """
    return {
        "bootstrap_servers": settings.kafka_bootstrap,
        "client_id": f"rating-worker-{settings.instance_id}",
        **security.options(settings),
    }


def consumer(settings: Settings) -> AIOKafkaConsumer:
    """Make the consumer of all that is read. It commits nothing by itself, and starts a new group at the beginning."""
    return AIOKafkaConsumer(
        **common(settings),
        group_id=settings.consumer_group,
        group_instance_id=settings.instance_id if settings.static_membership else None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",  # a backend may produce in transactions; what it aborts was never a match
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        rebalance_timeout_ms=settings.rebalance_timeout_ms,
        # While a batch is retried no poll happens, for as long as the database is away: that must not end membership.
        max_poll_interval_ms=2**31 - 1,
        request_timeout_ms=settings.consumer_request_timeout_ms,
        fetch_max_bytes=32 * 1024 * 1024,
        max_partition_fetch_bytes=1024 * 1024,
    )


def bare_consumer(settings: Settings) -> AIOKafkaConsumer:
    """Make a consumer that only keeps offsets for a group, and reads nothing."""
    return AIOKafkaConsumer(
        **common(settings),
        group_id=settings.consumer_group,
        enable_auto_commit=False,
        request_timeout_ms=int(settings.kafka_request_timeout_s * 1000),
    )


def producer(settings: Settings, transactional_id: str | None) -> AIOKafkaProducer:
    """Make an idempotent producer, transactional where an id is given."""
    return AIOKafkaProducer(
        **common(settings),
        transactional_id=transactional_id,
        transaction_timeout_ms=settings.transaction_timeout_ms,
        enable_idempotence=True,
        acks="all",
        compression_type="zstd",  # also so that a dead letter that came compressed fits where it fitted before
        max_batch_size=MAX_PRODUCER_BATCH_BYTES,
        max_request_size=MAX_REQUEST_BYTES,
        request_timeout_ms=int(settings.kafka_request_timeout_s * 1000),
    )


def admin(settings: Settings) -> AIOKafkaAdminClient:
    """Make an admin client, for looking at topics and making them."""
    return AIOKafkaAdminClient(**common(settings), request_timeout_ms=int(settings.kafka_request_timeout_s * 1000))


@asynccontextmanager
async def administering(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Start an admin client for the block, and say why where the brokers can't be used.

    Raises:
        StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
        StreamAwayError: The brokers are away.
    """
    client = admin(settings)
    try:
        with stream_faults():
            await client.start()
            yield client
    except StreamAwayError:
        await explain(settings)
        raise
    finally:
        await _ended(client.close())


def overlook_told_faults(loop: asyncio.AbstractEventLoop) -> None:
    """Report no fault of Kafka's that a future of aiokafka's is left with: whoever waited was told by another.

    A batch that aiokafka sends a second time gets a new future; nobody waits for it, and no way leads to it.
    """

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        if isinstance(fault, KafkaError) and "was never retrieved" in context["message"]:
            _log.debug("a fault that was told already", error=repr(fault))
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)


async def leave(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer and leave its group, if it has one, within a few seconds, whatever it answers."""
    if (error := await _ended(consumer.stop())) is not None:
        _log.warning("a consumer was not stopped in order", error=repr(error))


async def discard(producer: AIOKafkaProducer) -> None:
    """Stop a producer that may be fenced, broken or cut off, whatever it answers, within a few seconds.

    aiokafka's own stop waits for unsent batches for ever, and leaves the exceptions of a fenced transaction to be
    reported as never retrieved; this ends the one and retrieves the other.
    """
    await _ended(producer.stop())
    left = _tasks_of(producer._sender, producer._message_accumulator)  # noqa: SLF001 - no public way to end them
    for task in left:
        task.cancel()
    if left:
        done, _ = await asyncio.wait(left, timeout=_STOP_TIMEOUT_S)
        for task in done:
            if not task.cancelled():
                task.exception()
    await _ended(producer.client.close())
    for batches in producer._message_accumulator._batches.values():  # noqa: SLF001
        for batch in batches:
            if batch._drain_waiter.done() and not batch._drain_waiter.cancelled():  # noqa: SLF001
                batch._drain_waiter.exception()  # noqa: SLF001
    waiter = producer._txn_manager and producer._txn_manager._transaction_waiter  # noqa: SLF001
    if waiter is not None and waiter.done() and not waiter.cancelled():
        waiter.exception()


async def _ended(ending: Coroutine[Any, Any, None]) -> BaseException | None:
    """Wait a few seconds for an end of aiokafka's, and give what it failed of.

    It lets cancellations out as if whoever waits for it were cancelled: those of its own tasks, and that of a
    connection's end whose waiter was cancelled once (a time limit is enough), each time the client is closed again.
    """
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_S):
            await ending
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return error
    except Exception as error:  # noqa: BLE001 - what is stopped is not needed any more
        return error
    return None


def _tasks_of(*owners: object) -> set[asyncio.Task[Any]]:
    """Find the tasks that run methods of these objects: what aiokafka's producer leaves behind when it can't stop.

    They would go on asking a broker that is away, for an old producer, until the process ends.
    """
    found = set()
    for task in asyncio.all_tasks():
        frame = getattr(task.get_coro(), "cr_frame", None)
        if frame is not None and any(frame.f_locals.get("self") is owner for owner in owners):
            found.add(task)
    return found
