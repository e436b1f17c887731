"""Sending records to the match topic with an idempotent producer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from worker.cli.exits import CommandError, Exit
from worker.stream import client
from worker.stream.outbox import Outgoing, send_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings

CHUNK = 1_000

Keyed = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes]]]
"""A record to send: its key, value and headers."""


class Sender:
    """Sends records to one topic; each call returns once every record is acknowledged by all replicas."""

    def __init__(self, settings: Settings, topic: str) -> None:
        self._producer = client.producer(settings, None)
        self._topic = topic
        self.sent = 0

    async def send(self, records: Sequence[Keyed]) -> None:
        """Send keys, values and headers, in their order.

        Raises:
            KafkaError: The broker refuses one, or is away.
        """
        await send_all(
            self._producer, [Outgoing(self._topic, key, value, list(headers)) for key, value, headers in records]
        )
        self.sent += len(records)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, topic: str | None = None) -> AsyncIterator[Sender]:
        """Start a producer for the block; the match topic unless another is named."""
        sender = cls(settings, topic or settings.match_topic)
        try:
            await sender._producer.start()
            yield sender
        finally:
            await client.discard(sender._producer)


async def require_topic(settings: Settings, topic: str) -> None:
    """Check that a topic is there, before a producer waits for it in vain.

    Raises:
        CommandError: It is not.
        KafkaError: The broker is away.
    """
    admin = client.admin(settings)
    try:
        await admin.start()
        if topic not in await admin.list_topics():
            raise CommandError(
                f"Kafka at {settings.kafka_bootstrap} has no topic {topic}. `rating-worker topics --create` makes the "
                "worker's topics; or mend RATING_MATCH_TOPIC or --topic.",
                Exit.CONFIG,
            )
    finally:
        await admin.close()
