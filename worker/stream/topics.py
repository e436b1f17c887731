"""The topics that the worker needs: are they there, and making them for demo, development and tests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiokafka.admin import NewTopic
from aiokafka.errors import TopicAlreadyExistsError, for_code

from worker.stream import client
from worker.stream.errors import StreamSetupError

if TYPE_CHECKING:
    from worker.settings import Settings

_VISIBLE_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.1
# A dead letter is a record as large as the match topic takes, and our headers on top.
_DEAD_LETTER_MAX_BYTES = 8 * 1024 * 1024


def wanted(settings: Settings) -> list[str]:
    """Name the topics that the worker reads and writes."""
    return [
        *settings.input_topics,
        settings.rating_topic,
        settings.notice_topic,
        *settings.dead_letter_topics.values(),
    ]


async def check_topics(settings: Settings) -> None:
    """Check that every topic that the worker reads or writes is there.

    Raises:
        StreamSetupError: Some are missing; the message names them and says what to do.
        StreamAwayError: The broker is away.
    """
    async with client.administering(settings) as admin:
        missing = sorted(set(wanted(settings)) - set(await admin.list_topics()))
    if missing:
        raise StreamSetupError(
            f"Kafka at {settings.kafka_bootstrap} has no topic {', '.join(missing)}. Create "
            f"{'it' if len(missing) == 1 else 'them'} (`rating-worker topics --create` does, with one replica unless "
            "told), or mend RATING_MATCH_TOPIC, RATING_RATING_TOPIC and RATING_DEAD_LETTER_TOPIC."
        )


async def create_topics(settings: Settings, *, partitions: int, replicas: int = 1) -> list[str]:
    """Create the topics that are missing, and wait until the broker lists them.

    Args:
        settings: Name the topics and the broker.
        partitions: Of each topic but the dead letters, which have one, so that they read in order.
        replicas: Of each.

    Returns:
        The topics that were created.

    Raises:
        StreamSetupError: The broker refuses; the message says why.
        StreamAwayError: The broker is away.
    """
    async with client.administering(settings) as admin:
        there = set(await admin.list_topics())
        spread = [*settings.input_topics, settings.rating_topic, settings.notice_topic]
        topics = [
            *(NewTopic(name, partitions, replicas) for name in spread),
            *(
                NewTopic(
                    name,
                    1,
                    replicas,
                    topic_configs={"max.message.bytes": str(_DEAD_LETTER_MAX_BYTES), "retention.ms": "-1"},
                )
                for name in settings.dead_letter_topics.values()
            ),
        ]
        missing = [topic for topic in topics if topic.name not in there]
        if missing:
            answer = await admin.create_topics(missing)
            for name, code, *rest in answer.topic_errors:
                error = for_code(code)
                if code and error is not TopicAlreadyExistsError:
                    raise StreamSetupError(f"topic {name} can't be created: {error.__name__} {rest[0] if rest else ''}")
            # A broker says that a topic is created before it lists it: a worker that starts at once would miss it.
            async with asyncio.timeout(_VISIBLE_WITHIN_S):
                while set(wanted(settings)) - set(await admin.list_topics()):  # noqa: ASYNC110 - it happens there
                    await asyncio.sleep(_LOOK_EVERY_S)
    return [topic.name for topic in missing]
