"""Ports of the local stack: held through restarts, changed when lost."""

from __future__ import annotations

import socket
import sys

import pytest

from deploy.local.kafka import _cluster_id, _escaped
from deploy.local.ports import LOOPBACK, Port

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a held port shuts the server out")


@linux
def test_a_server_can_listen_on_a_held_port_again_and_again() -> None:
    """The holder is in no server's way."""
    port = Port()
    for _ in range(3):
        with socket.create_server((LOOPBACK, port.number)), socket.create_connection((LOOPBACK, port.number)):
            pass
    port.release()


@linux
def test_nobody_is_given_a_held_port() -> None:
    """While the server is down, the kernel hands its port to nobody who asks for any."""
    held = [Port() for _ in range(50)]
    others = [socket.create_server((LOOPBACK, 0)) for _ in range(200)]
    assert not {port.number for port in held} & {other.getsockname()[1] for other in others}
    for other in others:
        other.close()
    for port in held:
        port.release()


def test_a_cluster_id_is_no_option() -> None:
    """An id that began with a dash would be refused by Kafka's own tool, once in 64 starts."""
    ids = {_cluster_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(text) == 22 and text[0] != "-" for text in ids)


@pytest.mark.parametrize(
    ("value", "escaped"),
    [("plain = #text", "plain = #text"), ("a\\b\nc", "a\\\\b\\nc"), ("ä", "\\u00e4"), ("♟🂡", "\\u265f\\ud83c\\udca1")],
)
def test_settings_survive_the_properties_file(value: str, escaped: str) -> None:
    """Java reads ISO 8859-1 with escapes."""
    assert _escaped(value) == escaped
