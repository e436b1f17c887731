"""Ports that stay ours."""

from __future__ import annotations

import socket
import sys

LOOPBACK = "127.0.0.1"


class Port:
    """A free port of the loopback interface, kept for one server through its restarts.

    On Linux a bound socket that doesn't listen holds the number: the kernel gives it to nobody who asks for any port,
    not even between a kill and a restart, while a server, which sets SO_REUSEADDR as we do, can bind and listen beside
    it. Elsewhere such a socket would shut the server out, so the number is only looked up.
    """

    def __init__(self) -> None:
        self._holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._holder.bind((LOOPBACK, 0))
        self.number: int = self._holder.getsockname()[1]
        if sys.platform != "linux":
            self._holder.close()

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`."""
        return f"{LOOPBACK}:{self.number}"

    def release(self) -> None:
        """Give the number back."""
        self._holder.close()
