"""Source coordinates: which places of the topics were seen, a bit each."""

from __future__ import annotations

_PAGE_BITS = 1 << 15


class Places:
    """The places of topics that were seen. Offsets follow one another, so a bit for each is next to nothing."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, int, int], bytearray] = {}

    def see(self, source_id: int, partition: int, offset: int) -> bool:
        """Note a place; False if it was seen before."""
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
