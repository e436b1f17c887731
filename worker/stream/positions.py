"""Committed offsets, as the group's coordinator says them: those that it does not say are a fault, and no new group.

aiokafka's own `committed` takes an answer without offsets for a group that never committed any. A coordinator that is
still loading the group, right after its broker started, or that has just handed it on, gives such an answer, with
an error beside it. Whoever believes it reads the whole topic again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.errors import CoordinatorNotAvailableError, KafkaError, NotCoordinatorForGroupError, for_code
from aiokafka.protocol.commit import OffsetFetchRequest

from worker.stream.errors import StreamAwayError, stream_faults

if TYPE_CHECKING:
    from collections.abc import Collection

    from aiokafka import AIOKafkaConsumer

_ELSEWHERE = {CoordinatorNotAvailableError.errno, NotCoordinatorForGroupError.errno}
_NONE = -1  # in place of an offset: nothing was ever committed here


async def committed(
    consumer: AIOKafkaConsumer, group: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Ask for the offsets that a group has committed, None for a partition where it never did.

    Raises:
        StreamAwayError: The coordinator does not say, of any partition.
        StreamSetupError: The group may not be read.
    """
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        by_topic[partition.topic].append(partition.partition)
    coordinator = consumer._coordinator  # noqa: SLF001 - the public way leaves out what went wrong
    with stream_faults():
        await coordinator.ensure_coordinator_known()
        answer = await coordinator._send_req(OffsetFetchRequest(group, list(by_topic.items())))  # noqa: SLF001
        codes = [getattr(answer, "error_code", 0)]
        said: dict[TopicPartition, int | None] = {}
        for topic, offsets in answer.topics:
            for number, offset, _metadata, code in offsets:
                codes.append(code)
                said[TopicPartition(topic, number)] = None if offset == _NONE else offset
        for code in filter(None, codes):
            error: type[KafkaError] = for_code(code)
            if code in _ELSEWHERE:
                coordinator.coordinator_dead()  # so that the next try looks for it anew
            raise error(f"the committed offsets of {group} can't be had now")
    if missing := set(partitions) - said.keys():
        raise StreamAwayError(f"the coordinator of {group} says nothing of {len(missing)} partitions")
    return said
