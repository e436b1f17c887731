"""Beginning a transaction while the broker still writes the markers of the one before.

The broker puts that off (CONCURRENT_TRANSACTIONS) for a few milliseconds. aiokafka asks again after 20 ms, or after
100 ms where the first that a transaction gets are offsets, as here: longer than a small batch takes.
"""

from __future__ import annotations

from typing import Any

from aiokafka.errors import ConcurrentTransactions
from aiokafka.producer import sender

_AGAIN_S = 0.002


def ask_again_soon() -> None:
    """Let every producer from now on ask again after 2 ms."""
    sender.BACKOFF_OVERRIDE = _AGAIN_S
    sender.AddOffsetsToTxnHandler = _AddOffsets


class _AddOffsets(sender.AddOffsetsToTxnHandler):  # type: ignore[misc]
    def handle_response(self, resp: Any) -> float | None:
        """Give how long to wait before the next try, None where none is needed; as aiokafka does."""
        if resp.error_code == ConcurrentTransactions.errno:
            return _AGAIN_S
        wait: float | None = super().handle_response(resp)
        return wait
