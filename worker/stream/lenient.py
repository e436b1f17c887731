"""Reading records with header names that are no UTF-8. Kafka lets producers send them; aiokafka stops at the first.

From the first one on, this process reads record batches through the classes here: aiokafka's parser as ever, and for a
batch that it can't finish its slower parser in Python, made lenient. Such a name comes as text with the odd bytes
written out. What a record means does not depend on it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatch, _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy

if TYPE_CHECKING:
    from collections.abc import Iterator


def be_lenient() -> None:
    """Read leniently from now on; for what is fetched from now on, not for what was fetched before."""
    fetcher.MemoryRecords = _LenientRecords


class _LenientRecords(_MemoryRecordsPy):  # type: ignore[misc] # final to type checkers alone
    """What a fetch brought of one partition."""

    def next_batch(self, *args: Any) -> Any:
        """Give the next batch of records."""
        data = self._next_slice
        batch = super().next_batch(*args)
        return batch if data is None or batch is None or batch.magic < 2 else _LenientBatch(bytes(data))  # noqa: PLR2004


class _LenientBatch:
    """A batch as aiokafka's parser reads it, and from where that gives up as the lenient one does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._batch = DefaultRecordBatch(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)  # of control batches, which have no headers

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._batch:
                yield record
                read += 1
        except UnicodeDecodeError:
            yield from islice(_LenientParser(self._data), read, None)


class _LenientParser(_DefaultRecordBatchPy):  # type: ignore[misc] # final to type checkers alone
    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        self._buffer: bytearray = _LenientBytes(self._buffer)


class _LenientBytes(bytearray):
    """Bytes that decode to text whatever they are."""

    def __getitem__(self, where: Any) -> Any:
        found = super().__getitem__(where)
        return _LenientBytes(found) if isinstance(where, slice) else found

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)
