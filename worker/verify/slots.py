"""Packed records by a number, for as many players as a ledger has: some dozens of bytes each, and no objects."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = 4_096  # records: ids are drawn one after the other, so pages are full but for the last


class Slots:
    """Records of one layout by a number that is not negative."""

    def __init__(self, layout: str) -> None:
        """Take the layout.

        Args:
            layout: As of the module `struct`, without padding.
        """
        self._record = Struct(f"<?{layout}")
        self._pages: dict[int, bytearray] = {}

    def get(self, number: int) -> tuple[Any, ...] | None:
        """Give a record, None if there is none."""
        page = self._pages.get(number // _PAGE)
        if page is None:
            return None
        there, *fields = self._record.unpack_from(page, number % _PAGE * self._record.size)
        return tuple(fields) if there else None

    def put(self, number: int, *fields: Any) -> None:
        """Enter a record, in place of the one that is there."""
        page = self._pages.get(number // _PAGE)
        if page is None:
            page = self._pages[number // _PAGE] = bytearray(_PAGE * self._record.size)
        self._record.pack_into(page, number % _PAGE * self._record.size, True, *fields)

    def __iter__(self) -> Iterator[int]:
        """Give the numbers that have a record, in their order."""
        size = self._record.size
        for place, page in sorted(self._pages.items()):
            yield from (place * _PAGE + n for n in range(_PAGE) if page[n * size])
