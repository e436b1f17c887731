"""Committed offsets, as the group's coordinator says them: those that it does not say are a fault, and no new group.

aiokafka's own `committed` takes an answer without offsets for a group that never committed any. A coordinator that is
still loading the group, right after its broker started, or that has just handed it on, gives such an answer, with
an error beside it. Whoever believes it reads the whole topic again.

Nor does it ask for stable offsets (KIP-447). A broker says that a transaction is committed before its offsets count:
for some milliseconds, more under load, the group's are those of before. Whoever believes these takes the last batch
again, and publishes it twice.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.errors import CoordinatorNotAvailableError, KafkaError, NotCoordinatorForGroupError, for_code
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields

from worker.stream.errors import StreamAwayError, stream_faults

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from aiokafka import AIOKafkaConsumer

_ELSEWHERE = {CoordinatorNotAvailableError.errno, NotCoordinatorForGroupError.errno}
_NONE = -1  # in place of an offset: nothing was ever committed here
_UNSTABLE = 88  # a transaction with offsets of one of the partitions is open, or its end is under way
_ASK_AGAIN_S = 0.02


async def committed(
    consumer: AIOKafkaConsumer, group: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Ask for the offsets that a group has committed, None for a partition where it never did.

    Waits for transactions under way, without an end: give it a timeout.

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
        while True:
            answer = await coordinator._send_req(_StableOffsets(group, by_topic))  # noqa: SLF001
            codes = [answer.error_code]
            said: dict[TopicPartition, int | None] = {}
            for topic, offsets, _tags in answer.topics:
                for number, offset, _epoch, _metadata, code, _tags in offsets:
                    codes.append(code)
                    said[TopicPartition(topic, number)] = None if offset == _NONE else offset
            if _UNSTABLE not in codes:
                break
            await asyncio.sleep(_ASK_AGAIN_S)
        for code in filter(None, codes):
            error: type[KafkaError] = for_code(code)
            if code in _ELSEWHERE:
                coordinator.coordinator_dead()  # so that the next try looks for it anew
            raise error(f"the committed offsets of {group} can't be had now")
    if missing := set(partitions) - said.keys():
        raise StreamAwayError(f"the coordinator of {group} says nothing of {len(missing)} partitions")
    return said


class _Answer(Response):  # type: ignore[misc]
    """OffsetFetch, version 7: the first that knows stable offsets, and one that aiokafka lacks."""

    API_KEY = 9
    API_VERSION = 7
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                        ("metadata", CompactString("utf-8")),
                        ("error_code", Int16),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("error_code", Int16),
        ("tags", TaggedFields),
    )


class _Question(RequestStruct):  # type: ignore[misc]
    API_KEY = 9
    API_VERSION = 7
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema(
        ("group", CompactString("utf-8")),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")), ("partitions", CompactArray(Int32)), ("tags", TaggedFields)
            ),
        ),
        ("require_stable", Boolean),
        ("tags", TaggedFields),
    )


class _StableOffsets(Request[_Question]):  # type: ignore[misc]
    API_KEY = 9

    def __init__(self, group: str, by_topic: Mapping[str, list[int]]) -> None:
        self._group = group
        self._by_topic = by_topic

    def build(self, request_struct_class: type[_Question]) -> _Question:
        return request_struct_class(self._group, [(topic, its, {}) for topic, its in self._by_topic.items()], True, {})
