"""TLS to a real Postgres built with OpenSSL: each mode that the URL can ask for, and each refusal in words."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import asyncpg
import pytest

from deploy.local import jars
from deploy.local.postgres_tls import LOCK, TlsPostgres
from tests.support.certificates import Authority, saved
from tests.support.checker import check
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.matches import stream
from tests.support.running import running
from tests.unit.cli.processes import Ended, cli, cli_process
from worker.cli.exits import Exit
from worker.ledger.migrate import migrate
from worker.ledger.rights import Kind, grant
from worker.settings import DatabaseUrl, Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from deploy.local import Stack

PASSWORD = "Zq7-geheim"  # noqa: S105 - a word that appears nowhere else
KEY_PASSWORD = "Zq7-key-geheim"  # noqa: S105 - likewise
BY_PASSWORD, BY_CERTIFICATE, IN_THE_CLEAR = "by_password", "by_certificate", "in_the_clear"
ACCESS = f"""
hostssl all {BY_PASSWORD} 127.0.0.1/32 scram-sha-256
hostssl all {BY_CERTIFICATE} 127.0.0.1/32 cert
hostnossl all {IN_THE_CLEAR} 127.0.0.1/32 trust
"""
TRUST = {"sslmode": "verify-full", "sslrootcert": "ca"}
CERTIFICATE = TRUST | {"sslcert": "worker", "sslkey": "worker-key", "sslpassword": KEY_PASSWORD}


class Secure(NamedTuple):
    """The server, and the files that lie ready for its clients: trust, certificates and their keys."""

    server: TlsPostgres
    files: dict[str, Path]

    def url(self, role: str, host: str = "127.0.0.1", **parameters: str) -> str:
        """Give the URL of a role; a parameter that names one of our files stands for its path."""
        parameters = {"password": PASSWORD, **parameters} if role == BY_PASSWORD else parameters
        login = ":".join((role, *filter(None, [parameters.pop("password", "")])))
        place = self.server.dsn("secure").rpartition("@")[2].replace("127.0.0.1", host)
        query = "&".join(f"{name}={self.files.get(value, value)}" for name, value in parameters.items())
        return f"postgresql://{login}@{place}" + (f"?{query}" if query else "")


@pytest.fixture(scope="module")
async def secure() -> AsyncIterator[Secure]:
    """A server with a certificate for 127.0.0.1 alone, and three roles that may come in by one way each."""
    ours, stranger = Authority(), Authority()
    own = ours.issue("127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="rating-secure-") as name:
        folder = Path(name)
        files = {
            "ca": saved(folder / "ca.pem", ours.certificate),
            "strange-ca": saved(folder / "strange-ca.pem", stranger.certificate),
            "none": folder / "none",
        }
        for whose, authority in (("worker", ours), ("foreign", stranger)):
            pair = authority.issue("worker@example.test", common_name=BY_CERTIFICATE, key_password=KEY_PASSWORD)
            files[whose] = saved(folder / f"{whose}.pem", pair.certificate)
            files[f"{whose}-key"] = saved(folder / f"{whose}.key", pair.key)
        with TlsPostgres(own.certificate, own.key, ours.certificate, ACCESS) as server:
            await migrate(server.create_database("secure"))
            connection = await asyncpg.connect(server.dsn("secure"))
            for role in (BY_PASSWORD, BY_CERTIFICATE, IN_THE_CLEAR):
                await connection.execute(f"create role {role} login password '{PASSWORD}'")
                await grant(connection, role, Kind.WORKER)
            await connection.close()
            yield Secure(server, files)


@pytest.fixture(scope="module")
async def settings(stack: Stack) -> Settings:
    """Settings of topics that these tests share; each test has its own way to the database."""
    name = "secure-postgres"
    settings = Settings(
        kafka_bootstrap=stack.bootstrap,
        consumer_group=f"{name}.group",
        match_topic=f"{name}.matches",
        verdict_topic=f"{name}.verdicts",
        tournament_topic=f"{name}.tournaments",
        rating_topic=f"{name}.ratings",
        notice_topic=f"{name}.notices",
        dead_letter_topic=f"{name}.dlq",
        http_port=0,
        batch_max_wait_ms=50,
    )
    await create_topics(settings, partitions=3)
    return settings


def by(settings: Settings, url: str) -> Settings:
    """Give the same settings with another database."""
    return settings.model_copy(update={"database_url": DatabaseUrl(url)})


async def test_a_worker_rates_over_tls_with_a_certificate_of_its_own(settings: Settings, secure: Secure) -> None:
    """Migration and worker go by the same URL: server checked by name, client by certificate, its key encrypted."""
    settings = by(settings, secure.url(BY_CERTIFICATE, **CERTIFICATE))
    migrated = await cli(settings, "migrate")
    assert migrated.code == 0, migrated.err
    matches = stream(300, players=40, seed=41)
    async with running(settings):
        connections = await connections_of(secure, BY_CERTIFICATE)
        await produce(settings, map(record_of, matches))
        await until_all_committed(settings)
    assert connections
    assert set(connections) == {"TLSv1.3"}
    assert (await check(by(settings, secure.server.dsn("secure")), matches)).wrong() == {}


async def connections_of(secure: Secure, role: str) -> list[str]:
    """Give the version of TLS of every connection that a role has open."""
    connection = await asyncpg.connect(secure.server.dsn("secure"))
    try:
        rows = await connection.fetch(
            "select s.version from pg_stat_ssl s join pg_stat_activity a using (pid) where a.usename = $1", role
        )
        return [row["version"] for row in rows]
    finally:
        await connection.close()


MODES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "by itself": (BY_PASSWORD, "127.0.0.1", {}, "encrypted by TLSv1.3, the server is not checked"),
    "prefer": (BY_PASSWORD, "127.0.0.1", {"sslmode": "prefer"}, "encrypted by TLSv1.3, the server is not checked"),
    "prefer, which may not": (IN_THE_CLEAR, "127.0.0.1", {"sslmode": "prefer"}, "not encrypted"),
    "disable": (IN_THE_CLEAR, "127.0.0.1", {"sslmode": "disable"}, "not encrypted"),
    "require": (BY_PASSWORD, "localhost", {"sslmode": "require"}, "encrypted by TLSv1.3, the server is not checked"),
    "verify-ca": (
        BY_PASSWORD,
        "localhost",  # the certificate is for 127.0.0.1: here that does not matter
        {"sslmode": "verify-ca", "sslrootcert": "ca"},
        "encrypted by TLSv1.3, certificate checked",
    ),
    "verify-full": (BY_PASSWORD, "127.0.0.1", TRUST, "encrypted by TLSv1.3, certificate and host name checked"),
}


@pytest.mark.parametrize("mode", MODES)
async def test_each_mode_is_as_safe_as_check_says(settings: Settings, secure: Secure, mode: str) -> None:
    """The URL's sslmode means what libpq says, and `check` says how safe the connection is."""
    role, host, parameters, wanted = MODES[mode]
    ended = await cli(by(settings, secure.url(role, host, **parameters)), "check", "--json")
    assert ended.code == 0, ended.out
    assert postgres_in(ended).endswith(f", {wanted}")
    assert PASSWORD not in ended.out + ended.err


REFUSALS: dict[str, tuple[str, str, dict[str, str], tuple[str, ...]]] = {
    "certificates of a stranger": (
        BY_PASSWORD,
        "127.0.0.1",
        TRUST | {"sslrootcert": "strange-ca"},
        ("not signed by an authority that is trusted here", "sslrootcert in RATING_DATABASE_URL"),
    ),
    "a certificate for another host": (
        BY_PASSWORD,
        "localhost",
        TRUST,
        ("its certificate is for another host", "not valid for 'localhost'", "RATING_DATABASE_URL"),
    ),
    "no certificates to check by": (BY_PASSWORD, "127.0.0.1", {"sslmode": "verify-full"}, ("root certificate file",)),
    "a file that is not there": (
        BY_PASSWORD,
        "127.0.0.1",
        TRUST | {"sslrootcert": "none"},
        ("sslrootcert in RATING_DATABASE_URL names a file that can't be used: No such file",),
    ),
    "a file that is no certificate": (
        BY_PASSWORD,
        "127.0.0.1",
        TRUST | {"sslrootcert": "worker-key"},
        ("sslrootcert in RATING_DATABASE_URL", "no certificate or crl found", "PEM"),
    ),
    "a mode that there is not": (
        BY_PASSWORD,
        "127.0.0.1",
        {"sslmode": "verify"},
        ("RATING_DATABASE_URL", "verify-full"),
    ),
    "no TLS where it is demanded": (
        BY_PASSWORD,
        "127.0.0.1",
        {"sslmode": "disable"},
        ("no pg_hba.conf entry", "no encryption", "set sslmode=require or more"),
    ),
    "TLS where it is refused": (
        IN_THE_CLEAR,
        "127.0.0.1",
        {"sslmode": "require"},
        ("no pg_hba.conf entry", "SSL encryption", "pg_hba.conf on the server"),
    ),
    "a wrong password": (
        BY_PASSWORD,
        "127.0.0.1",
        TRUST | {"password": f"{PASSWORD}x"},
        ("password authentication failed", "Mend user and password in RATING_DATABASE_URL"),
    ),
    "no certificate where one is wanted": (
        BY_CERTIFICATE,
        "127.0.0.1",
        TRUST,
        ("connection requires a valid client certificate", "Set sslcert and sslkey in RATING_DATABASE_URL"),
    ),
    "nobody whom the server knows": (
        "nobody",
        "127.0.0.1",
        CERTIFICATE,
        ("no pg_hba.conf entry",),
    ),
    "a certificate that the server does not trust": (
        BY_CERTIFICATE,
        "127.0.0.1",
        CERTIFICATE | {"sslcert": "foreign", "sslkey": "foreign-key"},
        ("it refuses the worker's certificate", "sslcert and sslkey in RATING_DATABASE_URL"),
    ),
    "a key with another password": (
        BY_CERTIFICATE,
        "127.0.0.1",
        CERTIFICATE | {"sslpassword": f"{KEY_PASSWORD}x"},
        ("sslcert and sslkey in RATING_DATABASE_URL", "encrypted with another password", "sslpassword"),
    ),
    "a key of another certificate": (
        BY_CERTIFICATE,
        "127.0.0.1",
        CERTIFICATE | {"sslkey": "foreign-key"},
        ("sslcert and sslkey in RATING_DATABASE_URL", "key values mismatch"),
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_who_may_not_come_in_is_told_why(settings: Settings, secure: Secure, refusal: str) -> None:
    """`check` says what is wrong, where, and what to mend, and shows no secret."""
    role, host, parameters, wanted = REFUSALS[refusal]
    ended = await cli(by(settings, secure.url(role, host, **parameters)), "check", "--json")
    assert ended.code == Exit.CONFIG, ended.out
    for text in wanted:
        assert text in postgres_in(ended, "WRONG")
    assert PASSWORD not in ended.out + ended.err
    assert KEY_PASSWORD not in ended.out + ended.err


def postgres_in(ended: Ended, state: str = "ok") -> str:
    """Give what `check` found about the server."""
    [finding] = [one for one in ended.json()["findings"] if one["name"] == "Postgres"]
    assert finding["state"] == state, finding
    return str(finding["detail"])


async def test_a_server_without_tls_is_told(settings: Settings, stack: Stack) -> None:
    """Where TLS is demanded and the server has none, that is the message; it is not taken for a server that is away."""
    ended = await cli(by(settings, f"{stack.dsn}?sslmode=require"), "check", "--json")
    assert "it has no TLS. Turn it on there, or set sslmode=disable in RATING_DATABASE_URL" in postgres_in(
        ended, "WRONG"
    )


async def test_a_worker_with_a_wrong_url_ends_with_78(settings: Settings, secure: Secure) -> None:
    """So that who started it looks at the message; nothing would be mended by trying again."""
    for refusal in ("certificates of a stranger", "a wrong password"):
        role, host, parameters, wanted = REFUSALS[refusal]
        ended = await cli_process(by(settings, secure.url(role, host, **parameters)), "run")
        assert ended.code == Exit.CONFIG, ended.err
        for text in wanted:
            assert text in ended.err.splitlines()[-1]
        assert PASSWORD not in ended.out + ended.err


def test_the_lock_names_the_machines_that_we_develop_on() -> None:
    """The lock in the tree: one jar for each kind of machine, each with a SHA-256, and no registry."""
    locked = jars.locked(LOCK)
    assert {jar.coordinate.split(":")[1].removeprefix("embedded-postgres-binaries-") for jar in locked} == {
        "darwin-amd64",
        "darwin-arm64v8",
        "linux-amd64",
        "linux-arm64v8",
    }
    assert "://" not in LOCK.read_text()
