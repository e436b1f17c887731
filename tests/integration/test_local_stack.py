"""The local stack itself: real servers that come up, come back, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local import Kafka, Postgres, Stack, StackError, postgres
from deploy.local.keeper import _descendants, _pidfd
from deploy.local.ports import LOOPBACK, Port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

ROOT = Path(__file__).parents[2]
LOCAL = [sys.executable, "-m", "deploy.local"]


@pytest.fixture(scope="module")
def servers() -> Iterator[Stack]:
    """A stack that these tests may kill."""
    with Stack() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for data that a server run as another user can come to, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="rating-test-") as path:
        Path(path).chmod(0o755)
        yield Path(path)


@asynccontextmanager
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    client = await asyncpg.connect(dsn, timeout=10)
    try:
        yield client
    finally:
        await client.close(timeout=10)


async def send(bootstrap: str, topic: str, value: bytes, **security: str) -> None:
    """Make the topic if need be, and produce one record."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **security)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1)])
    finally:
        await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", **security) as producer:
        await producer.send_and_wait(topic, value)


async def receive(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """The first records of the topic."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=secrets.token_hex(4), auto_offset_reset="earliest"
    )
    async with consumer, asyncio.timeout(30):
        return [(await consumer.getone()).value for _ in range(count)]


def until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


async def test_both_are_real_and_answer(servers: Stack) -> None:
    """PostgreSQL 18 with fsync on, and a broker that takes a record and gives it back."""
    async with connection(servers.environment["RATING_DATABASE_URL"]) as client:
        assert (await client.fetchval("SHOW server_version")).startswith("18.")
        assert await client.fetchval("SHOW fsync") == "on"
        assert await client.fetchval("SELECT current_user || ' ' || current_database()") == "rating rating"
    await send(servers.environment["RATING_KAFKA_BOOTSTRAP"], "answers", b"e4")
    assert await receive(servers.bootstrap, "answers", 1) == [b"e4"]


def test_they_listen_on_the_loopback_interface_alone(servers: Stack) -> None:
    """Nobody on the network reaches a server that asks for no password."""
    sockets = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()]
    ports = {int(address.rpartition(":")[2]) for address in (servers.bootstrap, servers.dsn.removesuffix("/rating"))}
    listening = {row[1] for row in sockets if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) in ports}
    assert len(listening) == 2
    assert all(address.startswith(("0100007F:", "0000000000000000FFFF00000100007F:")) for address in listening)


async def test_a_new_database_is_empty_and_apart(servers: Stack) -> None:
    """Each test can have its own; a second one of the same name is an error that says so."""
    async with connection(servers.create_database("apart")) as client:
        assert await client.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    with pytest.raises(StackError, match='database "apart" already exists'):
        servers.create_database("apart")


async def test_killed_servers_come_back_with_their_data_and_ports(servers: Stack) -> None:
    """What was acknowledged before SIGKILL is there after the restart, at the same addresses."""
    before = servers.environment
    async with connection(servers.dsn) as client:
        await client.execute("CREATE TABLE kept AS SELECT 1 AS x")
    await send(servers.bootstrap, "kept", b"first")
    for server in (servers.postgres, servers.kafka):
        server.kill()
        assert not server.running
        server.start()
    assert servers.environment == before
    async with connection(servers.dsn) as client:
        assert await client.fetchval("SELECT x FROM kept") == 1
    await send(servers.bootstrap, "kept", b"second")
    assert await receive(servers.bootstrap, "kept", 2) == [b"first", b"second"]


async def test_a_paused_server_keeps_the_connection_and_does_not_answer(servers: Stack) -> None:
    """Backends stop as well, and go on where they were."""
    async with connection(servers.dsn) as client:
        servers.postgres.pause()
        question = asyncio.ensure_future(client.fetchval("SELECT 1"))
        assert not (await asyncio.wait([question], timeout=0.3))[0]
        assert servers.postgres.running
        servers.postgres.resume()
        assert await asyncio.wait_for(question, 10) == 1


async def test_an_orderly_stop_needs_no_recovery(servers: Stack) -> None:
    """PostgreSQL writes its checkpoint before it ends, even with a session open."""
    async with connection(servers.dsn):
        servers.postgres.stop()
    assert "database system is shut down" in servers.postgres.log_tail()
    servers.postgres.start()
    assert "database system was shut down at" in servers.postgres.log_tail(10)


async def test_named_data_stays(folder: Path) -> None:
    """A second run on the same folder finds what the first one wrote."""
    for expected in (0, 1):
        with Postgres(data=folder / "postgres") as server:
            async with connection(server.dsn()) as client:
                await client.execute("CREATE TABLE IF NOT EXISTS kept (x int)")
                assert await client.fetchval("SELECT count(*) FROM kept") == expected
                await client.execute("INSERT INTO kept VALUES (1)")


async def test_another_listener_with_another_protocol() -> None:
    """Fault tests can have SASL beside the plain listener, which stays."""
    sasl = {
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_worker="secret";'
        ),
    }
    client = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    login = {"sasl_plain_username": "worker", "sasl_plain_password": "secret"}
    with Kafka(sasl, {"SASL": "SASL_PLAINTEXT"}) as kafka:
        await send(kafka.address("SASL"), "safe", b"e4", **client, **login)
        assert await receive(kafka.address(), "safe", 1) == [b"e4"]


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (Postgres({"no_such_setting": "1"}), 'unrecognized configuration parameter "no_such_setting"'),
        (Kafka({"num.io.threads": "many"}), "Invalid value many for configuration num.io.threads"),
        (Kafka(jvm_options=["-Xmx1m"]), "heap"),
    ],
    ids=["postgres", "kafka", "java"],
)
def test_a_start_that_fails_says_why(
    server: Postgres | Kafka, reason: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the server and has its own last words; nothing is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(StackError, match=f"{server.name}: .*its log ends:") as raised:
        server.start()
    assert reason in str(raised.value)
    assert not server.running
    assert not list(folder.iterdir())


def test_a_lost_port_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a port can't be held, another server may take it first: then the start is tried on another."""
    with socket.create_server((LOOPBACK, 0)) as other:
        tried: list[int] = []

        class LostOnce(Port):
            def __init__(self) -> None:
                super().__init__()
                if not tried:
                    self.number = other.getsockname()[1]
                tried.append(self.number)

        monkeypatch.setattr(postgres, "Port", LostOnce)
        with Postgres() as server:
            assert server.running
            assert len(tried) == 2


def test_a_command_runs_with_the_addresses_and_its_code_is_ours() -> None:
    """`run` gives the command its environment, and ends as the command did."""
    script = 'test -n "$RATING_DATABASE_URL" && test -n "$RATING_KAFKA_BOOTSTRAP" && kill -TERM $$'
    done = subprocess.run(  # noqa: S603 - our own program
        [*LOCAL, "run", "--", "sh", "-c", script], cwd=ROOT, check=False, timeout=60
    )
    assert done.returncode == 128 + signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_large_servers_are_large() -> None:
    """PostgreSQL has a quarter of the machine's memory for its buffers, and both take what they are given."""
    memory_kb = int((await asyncio.to_thread(Path("/proc/meminfo").read_text)).split()[1])
    with Stack.large() as stack:
        async with connection(stack.dsn) as client:
            buffers = await client.fetchval("select pg_size_bytes(current_setting('shared_buffers'))")
            assert buffers == pytest.approx(memory_kb * 1024 / 4, rel=0.01)
            assert await client.fetchval("show max_wal_size") == "8GB"
        await send(stack.bootstrap, "a-topic", b"taken")
        assert await receive(stack.bootstrap, "a-topic", 1) == [b"taken"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked"])
def test_nothing_stays_when_the_parent_is_gone(number: signal.Signals, folder: Path) -> None:
    """However `up` ends, soon after there is no process of it, no folder, and no shared memory."""
    up, environment = [*LOCAL, "up"], os.environ | {"TMPDIR": str(folder)}
    parent = subprocess.Popen(up, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    with parent, ExitStack() as cleanup:
        cleanup.callback(parent.kill)
        assert parent.stdout
        assert parent.stdout.readline().startswith("export RATING_KAFKA_BOOTSTRAP=127.0.0.1:")
        assert parent.stdout.readline().startswith("export RATING_DATABASE_URL=postgresql://rating@127.0.0.1:")
        family = _descendants(parent.pid)
        assert len(family) > 4  # two keepers, a JVM, a postmaster and its own
        assert shared_memory_of(family)
        assert len(list(folder.iterdir())) == 2
        parent.send_signal(number)
        assert parent.wait(30) == (0 if number == signal.SIGTERM else -number)
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))
    assert not list(folder.iterdir())
    assert not shared_memory_of(family)


@pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")
def test_a_process_is_watched_whatever_the_interpreter_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """uv's interpreters have no `os.pidfd_open`, and the servers did not start under them."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE) as watched,  # noqa: S607 - ends with its input
        open(_pidfd(watched.pid), "rb", buffering=0) as end,  # noqa: PTH123 - a descriptor
    ):
        assert select.select([end], [], [], 0)[0] == []
        watched.kill()
        assert select.select([end], [], [], 10)[0] == [end]
    with pytest.raises(ProcessLookupError):
        _pidfd(watched.pid)


def shared_memory_of(pids: list[int]) -> set[str]:
    """The System V segments that these processes made."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {row[1] for row in rows if int(row[4]) in pids}


def test_a_killed_keeper_takes_its_server_along() -> None:
    """The kernel ends the server; the next request says what happened."""
    with Postgres() as running:
        process = running._opened
        server = _descendants(process._keeper.pid)[0]
        os.kill(process._keeper.pid, signal.SIGKILL)
        assert until(lambda: not Path(f"/proc/{server}").exists())
        with pytest.raises(StackError, match="keeper process is gone"):
            _ = running.running
