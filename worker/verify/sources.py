"""Source coordinates: which places of the topics were seen, a bit each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE_BITS = 1 << 15


class Places:
    """The places of topics that were seen. Offsets follow one another, so a bit for each is next to nothing."""

    def __init__(self, source_ids: Iterable[int]) -> None:
        """Take the short keys of the topics that there are."""
        self._source_ids = frozenset(source_ids)
        self._pages: dict[tuple[int, int, int], bytearray] = {}

    def fault(self, source_id: int, partition: int, offset: int) -> str | None:
        """Note a place that an event came from, and say what is wrong with it; None for a new one of a known topic."""
        where = f"source {source_id}, partition {partition}, offset {offset}"
        if source_id not in self._source_ids:
            return f"comes from {where}, of which no topic is known"
        return None if self._see(source_id, partition, offset) else f"another event comes from {where}"

    def _see(self, source_id: int, partition: int, offset: int) -> bool:
        number, bit = divmod(offset, _PAGE_BITS)
        key = (source_id, partition, number)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = bytearray(_PAGE_BITS // 8)
        place, mask = bit >> 3, 1 << (bit & 7)
        if page[place] & mask:
            return False
        page[place] |= mask
        return True
