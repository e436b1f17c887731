"""A TCP proxy that does to connections what networks do: cuts them, refuses them, delays them, falls silent."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from deploy.local.ports import LOOPBACK, Port

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

_CHUNK = 64 * 1024
_HELD_CHUNKS = 256  # in flight in one direction of one connection; a sender waits beyond
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection, as a cut does


class Proxy:
    """Stands between clients and a server, on a port that stays its own for as long as the `async with` block.

    Args:
        target: `host:port` of the server.

    Attributes:
        target: Where new connections lead; the open ones stay where they are.
        delay_s: How long each byte is on its way, in each direction, in seconds.
        accepted: How many connections there were so far.
    """

    def __init__(self, target: str = "") -> None:
        self.target = target
        self.delay_s = 0.0
        self.accepted = 0
        self._port = Port()
        self._server: asyncio.Server | None = None
        self._links: dict[asyncio.Task[None], _Link] = {}
        self._flowing = asyncio.Event()
        self._flowing.set()

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`."""
        return self._port.address

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.refuse()
        self.cut()
        await asyncio.gather(*self._links, return_exceptions=True)
        self._port.release()

    async def accept(self) -> None:
        """Take new connections again."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, LOOPBACK, self._port.number, reuse_address=True)

    def refuse(self) -> None:
        """Refuse new connections; the open ones live on."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def cut(self) -> int:
        """Reset every open connection at both ends; gives how many there were."""
        for task, link in self._links.items():
            link.cut = True
            task.cancel()
        return len(self._links)

    def stall(self) -> None:
        """Let nothing through any more: connections stay open, new ones are taken, and nobody is answered."""
        self._flowing.clear()

    def flow(self) -> None:
        """Let everything through again, what was held first."""
        self._flowing.set()

    def lose(self) -> int:
        """Let nothing through the open connections, for ever and without a word; gives how many. New ones work."""
        for link in self._links.values():
            link.lost = True
        return len(self._links)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        link = self._links[task] = _Link()
        writers = [writer]
        try:
            await self._flowing.wait()
            host, _, port = self.target.rpartition(":")
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            writers.append(far_writer)
            ways = {asyncio.create_task(self._pass(reader, far_writer, link))}
            ways.add(asyncio.create_task(self._pass(far_reader, writer, link)))
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            link.cut = True  # the server is away: the client sees its connection reset
        except asyncio.CancelledError:
            pass  # cut
        finally:
            for one in writers:
                _close(one, reset=link.cut)
            self._links.pop(task)

    async def _pass(self, reader: StreamReader, writer: StreamWriter, link: _Link) -> None:
        """Pass bytes in one direction, each after the delay, until the end of the stream has come through too."""
        loop = asyncio.get_running_loop()
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_HELD_CHUNKS)

        async def take() -> None:
            data = b"?"
            while data:
                try:
                    data = await reader.read(_CHUNK)
                except OSError:
                    data = b""
                await held.put((loop.time() + self.delay_s, data))

        taking = asyncio.create_task(take())
        try:
            while True:
                at, data = await held.get()
                if (wait_s := at - loop.time()) > 0:
                    await asyncio.sleep(wait_s)  # the delay that was asked for
                await self._flowing.wait()
                if link.lost:
                    await loop.create_future()  # until it is cut
                if not data:
                    return
                writer.write(data)
                await writer.drain()
        finally:
            taking.cancel()


class _Link:
    """One connection through the proxy."""

    def __init__(self) -> None:
        self.lost = False
        self.cut = False


def _close(writer: StreamWriter, *, reset: bool) -> None:
    if reset:
        with suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        writer.transport.abort()
    else:
        writer.close()
