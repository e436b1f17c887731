"""A batch: what one turn of the loop takes from the topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aiokafka import TopicPartition
    from aiokafka.structs import ConsumerRecord


@dataclass(frozen=True, slots=True)
class Batch:
    """Records from all assigned partitions, those of a partition in the order of their offsets.

    Attributes:
        records: At least one; those of a partition stand together.
        offsets: The offset after the last record, for each partition in the batch: what to commit.
        epoch: The assignment that the records were fetched under.
        full: Whether the limits of a batch cut it off, so that more records wait.
    """

    records: list[ConsumerRecord[bytes, bytes]]
    offsets: Mapping[TopicPartition, int]
    epoch: int
    full: bool = False

    @property
    def partitions(self) -> list[tuple[str, int]]:
        """Topic and number of each partition in the batch."""
        return [(partition.topic, partition.partition) for partition in self.offsets]

    def pieces(self, size: int) -> Iterator[Batch]:
        """Cut it into batches of at most `size` records, to be committed in this order."""
        by_name = {(partition.topic, partition.partition): partition for partition in self.offsets}
        for start in range(0, len(self.records), size):
            records = self.records[start : start + size]
            offsets = {by_name[record.topic, record.partition]: record.offset + 1 for record in records}
            yield Batch(records, offsets, self.epoch)
