"""Writing to a connection that was cut a moment ago.

uvloop answers that with a RuntimeError. aiokafka expects an OSError, as of other event loops: the RuntimeError ends its
tasks that fetch or coordinate for good, and a worker that seems well reads nothing any more.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aiokafka import conn
from aiokafka.errors import KafkaConnectionError

if TYPE_CHECKING:
    from collections.abc import Iterator


def survive_cuts() -> None:
    """Let every connection that aiokafka opens from now on say that it is broken when it is."""
    conn.AIOKafkaConnection = _Connection


class _Connection(conn.AIOKafkaConnection):  # type: ignore[misc]
    def send(self, *args: Any, **kwargs: Any) -> Any:
        """Send a request, as aiokafka does."""
        with self._while_open():
            return super().send(*args, **kwargs)

    def _send_sasl_token(self, *args: Any, **kwargs: Any) -> Any:
        with self._while_open():
            return super()._send_sasl_token(*args, **kwargs)

    @contextmanager
    def _while_open(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if self._writer is None or not self._writer.transport.is_closing():
                raise
            self.close(reason=conn.CloseReason.CONNECTION_BROKEN)
            raise KafkaConnectionError(f"Connection at {self.host}:{self.port} broken: {error}") from error
