"""A broker that allows nothing unless told: the rights that the README names are those that are needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
)
from confluent_kafka.admin import ResourceType as Resource  # type: ignore[attr-defined]

from deploy.local import Kafka
from tests.integration.test_cli_check import findings
from tests.support.checker import check
from tests.support.kafka import Raw, produce, read_all, record_of, until_all_committed
from tests.support.letters import replay
from tests.support.matches import stream
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process
from worker.ledger.migrate import migrate
from worker.settings import SaslMechanism, SecurityProtocol, Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.local import Stack

USER, PASSWORD = "worker", "geheim"
_LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the broker itself, and who comes in by the plain listener
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": _LOGIN,
}
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
READ, WRITE = AclOperation.READ, AclOperation.WRITE


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    """A broker with a listener for those who need rights, beside one for those who need none."""
    with Kafka(PROPERTIES, {"LOGIN": "SASL_PLAINTEXT"}) as running:
        yield running


@pytest.fixture
async def almighty(stack: Stack, broker: Kafka) -> Settings:
    """Settings of somebody who may do all; topics and database are there."""
    settings = Settings(
        kafka_bootstrap=broker.address(),
        database_url=stack.create_database("kafka_acls"),
        consumer_group="elo",
        housekeeping_interval_s=1.0,
        http_port=0,
        session_timeout_ms=6_000,
        batch_max_wait_ms=50,
    )
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=2)
    return settings


def limited(settings: Settings, broker: Kafka) -> Settings:
    """Give the same settings by the login that needs rights."""
    way = {
        "kafka_bootstrap": broker.address("LOGIN"),
        "kafka_security_protocol": SecurityProtocol.SASL_PLAINTEXT,
        "kafka_sasl_mechanism": SaslMechanism.PLAIN,
        "kafka_sasl_user": USER,
        "kafka_sasl_password": PASSWORD,
    }
    return Settings(**{name: getattr(settings, name) for name in settings.model_fields_set} | way)


async def allow(
    settings: Settings, resource: Resource, names: list[str], kind: ResourcePatternType, what: AclOperation
) -> None:
    """Allow the user an operation on each of the resources, and wait until that is so."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap})
    bindings = [AclBinding(resource, name, kind, f"User:{USER}", "*", what, AclPermissionType.ALLOW) for name in names]
    for done in admin.create_acls(bindings, request_timeout=30).values():
        await asyncio.to_thread(done.result, 30)


async def test_the_rights_that_are_named_are_needed_and_enough(almighty: Settings, broker: Kafka) -> None:
    """Without rights on groups and ids check names what lacks; with them a worker, housekeeping and a replay work."""
    settings = limited(almighty, broker)
    # A group's offset on a topic asks for the right to read it, and housekeeping keeps its own on that of notices.
    await allow(almighty, Resource.TOPIC, [*settings.input_topics, settings.notice_topic], LITERAL, READ)
    outputs = [settings.rating_topic, settings.notice_topic, *settings.dead_letter_topics.values()]
    await allow(almighty, Resource.TOPIC, outputs, LITERAL, WRITE)
    lacking = findings(await cli(settings, "check", "--json"))
    for name, what in (("consumer groups", "the groups elo and elo.housekeeping"), ("transactions", "the ids elo.*")):
        assert lacking[name][0] == "WRONG"
        assert what in lacking[name][2]
    refused = await cli_process(settings, "run")
    assert refused.code == 78

    await allow(almighty, Resource.GROUP, ["elo", "elo.housekeeping"], LITERAL, READ)
    await allow(almighty, Resource.TRANSACTIONAL_ID, ["elo."], PREFIXED, WRITE)

    async def all_well() -> bool:
        return (await cli(settings, "check")).code == 0

    await until(all_well, 30)
    matches = stream(50, players=9, seed=5)
    async with running(settings):
        await produce(almighty, [*map(record_of, matches), Raw(b"k", b"no JSON")])
        await until_all_committed(almighty)

        async def policies_told() -> bool:
            return bool(await read_all(almighty, settings.notice_topic))

        await until(policies_told, 30)  # by housekeeping, in its own transaction
    assert (await check(almighty, matches)).wrong() == {}
    await allow(almighty, Resource.TOPIC, list(settings.dead_letter_topics.values()), LITERAL, READ)
    await allow(almighty, Resource.TOPIC, settings.input_topics, LITERAL, WRITE)

    async def sent_back() -> bool:
        return bool((await replay(settings, "--yes", "--force"))["letters"])

    await until(sent_back, 30)
