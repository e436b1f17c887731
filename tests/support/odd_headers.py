"""Records that a Python client can't send by its public ways: the name of a header is not UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import _DefaultRecordBatchBuilderPy

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tests.support.kafka import Raw
    from worker.settings import Settings

_CODES = {"none": 0, "zstd": 4}


class _NotUtf8(str):
    """A header name that goes out as bytes which are no UTF-8."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        """Give the bytes."""
        return b"\xff\xfe"


async def produce_batch(
    settings: Settings, partition: int, records: Sequence[Raw], odd: Container[int] = (), compression: str = "none"
) -> None:
    """Send records to a partition of the match topic as one batch; those at the odd places have such a header."""
    producer = AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap)
    await producer.start()
    try:
        batch = producer.create_batch()
        batch._builder = _DefaultRecordBatchBuilderPy(2, _CODES[compression], 0, -1, -1, 0, 10_000_000)
        for place, record in enumerate(records):
            headers = [*record.headers, (_NotUtf8("x"), b"1")] if place in odd else list(record.headers)
            batch.append(timestamp=None, key=record.key, value=record.value, headers=headers)
        await (await producer.send_batch(batch, settings.match_topic, partition=partition))
    finally:
        await producer.stop()
