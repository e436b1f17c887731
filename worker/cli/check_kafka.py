"""Is Kafka there, are the topics there and set up so that nothing is lost, and may we open transactions?"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from aiokafka.errors import CoordinatorNotAvailableError, KafkaError

from worker.cli.finding import Finding
from worker.cli.reaching import away, described
from worker.cli.topic_facts import TopicFact, topic_facts
from worker.settings import Delivery
from worker.stream import client
from worker.stream.errors import StreamAwayError, StreamSetupError
from worker.stream.topics import wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.settings import Settings

_AWAY: tuple[type[Exception], ...] = (KafkaError, StreamAwayError, OSError, TimeoutError)
_GROUPS, _TRANSACTIONS = "consumer groups", "transactions"
_HEADERS_BYTES = 16 * 1024
"""Room for the headers that a dead letter gets on top of the record: ten, the longest of some 4,000 bytes."""

_BYTES = "max.message.bytes"
_CLEANUP = "cleanup.policy"
_COMPACT = "compact"


async def check_kafka(settings: Settings) -> list[Finding]:
    """Look at the brokers and the topics."""
    try:
        async with asyncio.timeout(3 * settings.kafka_request_timeout_s):
            facts = await topic_facts(settings, configured=True)
    except StreamSetupError as error:
        return _without_brokers(settings, described(error), "as it says")
    except _AWAY as error:
        return _without_brokers(
            settings,
            away(settings, error),
            "start it, or mend RATING_KAFKA_BOOTSTRAP; the address must be one that the broker advertises",
        )
    found = [Finding.ok("Kafka", f"{settings.kafka_bootstrap}, {_protocol(settings)}")]
    for name in wanted(settings):
        fact = facts.get(name)
        if fact is None:
            mend = "`rating-worker topics --create`, or mend the setting that names it"
            found.append(Finding.wrong(f"topic {name}", "is missing", mend))
        else:
            found.append(Finding.ok(f"topic {name}", f"partitions: {fact.partitions}, replicas: {fact.replicas}"))
    found += _sizes(settings, facts)
    found += _cleanup(settings, facts)
    found.append(await _groups(settings))
    if settings.delivery is Delivery.EXACTLY_ONCE:
        found.append(await _transactions(settings))
    return found


def _without_brokers(settings: Settings, detail: str, mend: str) -> list[Finding]:
    rest = (Finding.unknown(name, "Kafka comes first") for name in (*wanted(settings), _GROUPS, _TRANSACTIONS))
    return [Finding.wrong("Kafka", detail, mend), *rest]


def _protocol(settings: Settings) -> str:
    """Say how safe the connections are."""
    protocol, mechanism = settings.kafka_security_protocol, settings.kafka_sasl_mechanism
    login = f"login by {mechanism}" if mechanism else "no login"
    if protocol.tls and settings.kafka_certificate_file is not None:
        login = f"login by certificate and {mechanism}" if mechanism else "login by certificate"
    return f"{'encrypted, host name checked' if protocol.tls else 'not encrypted'}, {login}"


def _sizes(settings: Settings, facts: dict[str, TopicFact]) -> Iterator[Finding]:
    """Whatever comes in must fit into the dead letters, and a batch of changes into the rating topic."""
    sizes = {name: int(fact.config[_BYTES]) for name, fact in facts.items() if _BYTES in fact.config}
    for source, target in settings.dead_letter_topics.items():
        incoming, dead = sizes.get(source), sizes.get(target)
        if incoming is None or dead is None:
            continue
        needed = incoming + _HEADERS_BYTES
        name, detail = f"size of {target}", f"takes {dead} bytes, {needed} are needed for a record of {source}"
        mend = f"set {_BYTES} of {target} to {needed} or more, or the dead letter of a large record lacks its value"
        yield Finding.ok(name, detail) if dead >= needed else Finding.wrong(name, detail, mend)
    outgoing = sizes.get(settings.rating_topic)
    if outgoing is not None:
        needed = client.MAX_PRODUCER_BATCH_BYTES
        name, detail = f"size of {settings.rating_topic}", f"takes {outgoing} bytes, {needed} are needed for a batch"
        mend = f"set {_BYTES} of {settings.rating_topic} to {needed} or more, or a large batch stops the worker"
        yield Finding.ok(name, detail) if outgoing >= needed else Finding.wrong(name, detail, mend)


def _cleanup(settings: Settings, facts: dict[str, TopicFact]) -> Iterator[Finding]:
    """Events share keys, matches that of their pair: compaction would keep the last of each key alone."""
    for name in (*settings.input_topics, *settings.dead_letter_topics.values()):
        policy = facts[name].config.get(_CLEANUP, "") if name in facts else ""
        if _COMPACT in policy:
            yield Finding.wrong(
                f"cleanup of {name}",
                f"{_CLEANUP}={policy}: of the records of one key, such as a pair's matches, only the last is kept",
                f"set {_CLEANUP}=delete on {name}",
            )


async def _groups(settings: Settings) -> Finding:
    """Ask who coordinates each group, which the broker tells to those alone who may describe it."""
    names = [settings.consumer_group, f"{settings.consumer_group}.housekeeping"]
    try:
        async with asyncio.timeout(settings.kafka_request_timeout_s), client.administering(settings) as admin:
            for name in names:
                with suppress(CoordinatorNotAvailableError):  # of a broker that no group has used yet
                    await admin.find_coordinator(name)
    except _AWAY as error:
        return Finding.unknown(_GROUPS, described(error))
    except StreamSetupError as error:
        detail = f"{', '.join(names)} can't be used: {described(error)}"
        return Finding.wrong(_GROUPS, detail, f"allow this user to read the groups {' and '.join(names)}")
    return Finding.ok(_GROUPS, ", ".join(names))


async def _transactions(settings: Settings) -> Finding:
    """Start a producer under an id of its own, as a worker does under its own; it writes nothing."""
    group = settings.consumer_group
    scratch = f"{group}.check"
    producer = client.producer(settings, scratch)
    try:
        async with asyncio.timeout(settings.publish_timeout_s):
            await producer.start()
    except _AWAY as error:
        return Finding.wrong(
            _TRANSACTIONS,
            f"a producer with the transactional id {scratch} can't be started: {described(error)}",
            f"allow this user to write by the ids {group}.*, keep RATING_TRANSACTION_TIMEOUT_MS below the "
            "broker's transaction.max.timeout.ms, or set RATING_DELIVERY=at-least-once",
        )
    finally:
        await client.discard(producer)
    ids = (f"{group}.INSTANCE", f"{group}.housekeeping.INSTANCE.housekeeping", f"{group}.dead-letters", scratch)
    return Finding.ok(_TRANSACTIONS, f"can be used; the ids begin with {group}. and are {', '.join(ids)}")
