"""Sending records with an idempotent producer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from worker.cli.exits import CommandError, Exit
from worker.stream import client
from worker.stream.outbox import Outgoing, send_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from worker.generator import Record
    from worker.settings import Settings

CHUNK = 1_000


class Sender:
    """Sends records; each call returns once every record is acknowledged by all replicas.

    Attributes:
        sent: How many records were.
    """

    def __init__(self, settings: Settings) -> None:
        self._producer = client.producer(settings, None)
        self._match_topic = settings.match_topic
        self.sent = 0

    async def send(self, records: Sequence[Outgoing]) -> None:
        """Send records, those of a partition in their order.

        Raises:
            KafkaError: The broker refuses one.
            StreamAwayError: It does not say how many partitions a topic has.
        """
        await send_all(self._producer, records)
        self.sent += len(records)

    async def send_made_up(self, records: Iterable[Record]) -> None:
        """Send made-up matches to the match topic; raises like `send`."""
        await self.send([Outgoing(self._match_topic, one.key, one.value, list(one.headers)) for one in records])

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Sender]:
        """Start a producer for the block."""
        sender = cls(settings)
        try:
            await sender._producer.start()
            yield sender
        finally:
            await client.discard(sender._producer)


async def require_topics(settings: Settings, topics: Iterable[str]) -> None:
    """Check that topics are there, before a producer waits for them in vain.

    Raises:
        CommandError: One is not.
        StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
        StreamAwayError: The broker is away.
    """
    async with client.administering(settings) as admin:
        missing = sorted(set(topics) - set(await admin.list_topics()))
    if missing:
        raise CommandError(
            f"Kafka at {settings.kafka_bootstrap} has no topic {', '.join(missing)}. `rating-worker topics --create` "
            "makes the worker's topics; or mend the setting, or --topic, that names it.",
            Exit.CONFIG,
        )
