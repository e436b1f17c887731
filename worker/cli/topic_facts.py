"""What a broker says about the worker's topics."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from worker.stream import client
from worker.stream.topics import wanted

if TYPE_CHECKING:
    from worker.settings import Settings


@dataclass(frozen=True, slots=True)
class TopicFact:
    """One topic: its name, how many partitions, replicas of each (the fewest), and what it is configured to."""

    name: str
    partitions: int
    replicas: int
    config: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Give all but the configuration."""
        return {key: value for key, value in asdict(self).items() if key != "config"}


async def topic_facts(settings: Settings, *, configured: bool = False) -> dict[str, TopicFact]:
    """Ask the broker about the worker's topics; those that are missing are not in the answer.

    Args:
        settings: Name the topics and the broker.
        configured: Whether to ask for their configuration as well.

    Raises:
        StreamSetupError: A setting, a login or a certificate is wrong: which, where and what to do.
        StreamAwayError: The broker is away.
    """
    async with client.administering(settings) as admin:
        there = set(await admin.list_topics())
        names = [name for name in wanted(settings) if name in there]
        if not names:
            return {}
        configs = await _configs(admin, names) if configured else {}
        return {
            topic["topic"]: TopicFact(
                topic["topic"],
                len(topic["partitions"]),
                min(len(partition["replicas"]) for partition in topic["partitions"]),
                configs.get(topic["topic"], {}),
            )
            for topic in await admin.describe_topics(names)
            if topic["partitions"]  # one that is being made has none yet
        }


async def _configs(admin: Any, names: list[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    found: dict[str, dict[str, str]] = {}
    for response in await admin.describe_configs(resources):
        for resource in response.resources:
            error_code, _, _, name, entries = resource[:5]
            if error_code == 0:
                found[name] = {entry[0]: entry[1] for entry in entries}
    return found
