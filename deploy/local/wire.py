"""The few bytes of Kafka's protocol that tell whether a broker serves, without a client and its event loop."""

from __future__ import annotations

import contextlib
import socket
import struct

from deploy.local.ports import LOOPBACK

_METADATA = 3
_VERSION = 4
_SECONDS = 2.0


def has_broker(port: int) -> bool:
    """Whether the broker at `port` answers a metadata request and counts itself in: it has joined and it serves."""
    with contextlib.suppress(OSError, EOFError):
        return _brokers(port) > 0
    return False


def _brokers(port: int) -> int:
    client = b"rating-local"
    # key, version, correlation id, client id; no topics, and none to be made
    body = struct.pack("!hhih", _METADATA, _VERSION, 1, len(client)) + client + struct.pack("!i?", 0, False)
    with socket.create_connection((LOOPBACK, port), _SECONDS) as connection:
        connection.sendall(struct.pack("!i", len(body)) + body)
        size = struct.unpack("!i", _exactly(connection, 4))[0]
        answer = _exactly(connection, size)
    _correlation, _throttled, brokers = struct.unpack_from("!iii", answer)
    return int(brokers)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        if not (part := connection.recv(size - len(received))):
            raise EOFError
        received += part
    return received
