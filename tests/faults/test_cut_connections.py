"""What aiokafka does with a connection that was cut a moment ago, on the event loop that the worker runs on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import uvloop
from aiokafka.conn import create_conn
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

import worker.stream  # noqa: F401 - mends what is tested here

if TYPE_CHECKING:
    from tests.support.places import ProxiedServers


def test_a_write_to_a_connection_that_was_just_cut(servers: ProxiedServers) -> None:
    """It says that the connection is broken, which is tried again; anything else would end who asked for good."""

    async def write() -> None:
        host, _, port = servers.kafka.address().rpartition(":")
        connection = await create_conn(host, int(port))
        connection._writer.transport.abort()
        await asyncio.sleep(0)  # the loop closes it in this turn, and tells aiokafka in the next
        with pytest.raises(KafkaConnectionError, match="broken"):
            connection.send(MetadataRequest([]))

    uvloop.run(write())
