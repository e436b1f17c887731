"""The topics that the worker needs: are they there, and making them for demo, development and tests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiokafka.admin import NewTopic
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    KafkaError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)

from worker.stream import client
from worker.stream.errors import StreamSetupError

if TYPE_CHECKING:
    from collections.abc import Collection

    from worker.settings import Settings

_VISIBLE_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.1
# A dead letter is a record as large as the match topic takes, and our headers on top.
_DEAD_LETTER_MAX_BYTES = 8 * 1024 * 1024

_MEND: dict[type[KafkaError], str] = {
    InvalidReplicationFactorError: "Ask for no more replicas than there are brokers: --replicas 1 with a single one.",
    InvalidPartitionsError: "Ask for another number by --partitions.",
    PolicyViolationError: "Keep to the rules of whoever runs the brokers, by --partitions and --replicas.",
    TopicAuthorizationFailedError: "Let somebody make the topics who may, or allow this user to create them.",
    ClusterAuthorizationFailedError: "Let somebody make the topics who may, or allow this user to create them.",
}
_FIELDS = ("match_topic", "verdict_topic", "tournament_topic", "rating_topic", "notice_topic", "dead_letter_topic")


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
            f"told), or mend {_settings_of(settings, missing)}."
        )


def _refusal(error: type[KafkaError], said: str | None) -> str:
    """Say why a broker does not make a topic, and what to do."""
    said = (said or error.__name__).rstrip(".")
    return f"{said}. {_MEND[error]}" if error in _MEND else f"{said}."


def _settings_of(settings: Settings, topics: Collection[str]) -> str:
    """Name the settings that name topics; those of dead letters go by that of theirs unless it has its own."""
    named = [field for field in _FIELDS if getattr(settings, field) in topics]
    named += [
        f"{source}_topic"
        for source in ("verdict", "tournament")
        if settings.dead_letter_topics[getattr(settings, f"{source}_topic")] in topics
    ]
    return " and ".join(f"RATING_{field.upper()}" for field in dict.fromkeys(named))


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
                    raise StreamSetupError(f"topic {name} can't be created: {_refusal(error, rest[0] if rest else '')}")
            # A broker says that a topic is created before it lists it: a worker that starts at once would miss it.
            async with asyncio.timeout(_VISIBLE_WITHIN_S):
                while set(wanted(settings)) - set(await admin.list_topics()):  # noqa: ASYNC110 - it happens there
                    await asyncio.sleep(_LOOK_EVERY_S)
    return [topic.name for topic in missing]
