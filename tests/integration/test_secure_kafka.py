"""TLS and logins to a real broker: the worker comes in by every way there is, and says why where it may not."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from deploy.local.ports import Port
from tests.support.certificates import saved
from tests.support.checker import check
from tests.support.identity import CLIENT_SECRET
from tests.support.kafka import produce, record_of, until_all_committed
from tests.support.kafka_refusals import REFUSALS
from tests.support.matches import stream
from tests.support.processes import WorkerProcess
from tests.support.secure_kafka import (
    KEY_PASSWORD,
    PASSWORD,
    SASL,
    TLS,
    SecureKafka,
    secure_kafka,
)
from tests.support.waiting import until
from tests.unit.cli.processes import cli, cli_process
from worker.cli.exits import Exit
from worker.ledger.migrate import migrate
from worker.settings import SaslMechanism, Settings
from worker.stream.errors import StreamSetupError
from worker.stream.topics import check_topics, create_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from pathlib import Path

    from deploy.local import Stack

PARTITIONS = 12
PATIENCE_S = 150  # seven processes start at once, maybe on a machine that is busy with other things
SECRETS = (PASSWORD, KEY_PASSWORD, CLIENT_SECRET)
Way = dict[str, Any]


@pytest.fixture(scope="module")
def secure() -> Iterator[SecureKafka]:
    """A broker with a listener for each way."""
    with secure_kafka() as running:
        yield running


@pytest.fixture(scope="module")
async def settings(stack: Stack, secure: SecureKafka) -> Settings:
    """Settings of a database and topics that these tests share, by the test's own way to the broker: in the clear."""
    settings = Settings(
        kafka_bootstrap=secure.broker.address(),
        database_url=stack.create_database("secure_kafka"),
        http_port=0,
        session_timeout_ms=6_000,
        retry_max_wait_s=1.0,
        batch_max_wait_ms=50,
    )
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=PARTITIONS)
    return settings


@pytest.fixture
async def endpoint(secure: SecureKafka) -> AsyncIterator[str]:
    """The URL of a token endpoint."""
    async with secure.identity.endpoint(secure.server_files["certificate"], secure.server_files["key"]) as url:
        yield url


def secrets_in(text: str, *others: str) -> list[str]:
    """Give the secrets that a text shows."""
    return [secret for secret in (*SECRETS, *others) if secret in text]


def by(settings: Settings, way: Way) -> Settings:
    """Give the same settings by another way to the broker."""
    return Settings(**{name: getattr(settings, name) for name in settings.model_fields_set} | way)


def all_assigned(workers: Iterable[WorkerProcess]) -> bool:
    """Tell whether the last rebalance is over: every partition of the three topics is somebody's, and all have some."""
    counts = [
        next((line["count"] for line in reversed(worker.events()) if line["event"] == "partitions assigned"), 0)
        for worker in workers
    ]
    return all(counts) and sum(counts) == 3 * PARTITIONS


async def test_workers_that_come_in_by_every_way_share_the_work(
    settings: Settings, secure: SecureKafka, endpoint: str, tmp_path: Path
) -> None:
    """In one group there are workers by TLS, by certificate and by each login; together they rate each match once.

    Tokens of the endpoint live for 2 s, and the broker ends connections with them: new ones are fetched meanwhile.
    """
    secure.identity.life_s, before = 2, secure.identity.issued
    ways = {
        "tls": secure.by(TLS),
        "certificate": secure.by_certificate(),
        "plain": secure.by_password(SaslMechanism.PLAIN),
        "scram-256": secure.by_password(SaslMechanism.SCRAM_SHA_256),
        "scram-512-in-the-clear": secure.by_password(SaslMechanism.SCRAM_SHA_512, SASL),
        "token-file": secure.by_token_file(secure.identity.token()),
        "token-endpoint": secure.by_endpoint(endpoint),
    }
    matches = stream(1_500, players=100, seed=21)
    async with AsyncExitStack() as stack:
        workers = {
            name: await stack.enter_async_context(
                WorkerProcess(by(settings, way), tmp_path / f"{name}.log", RATING_INSTANCE_ID=name)
            )
            for name, way in ways.items()
        }
        for worker in workers.values():
            await worker.until_logged("partitions assigned", PATIENCE_S)
        await until(lambda: all_assigned(workers.values()), PATIENCE_S)
        await produce(settings, map(record_of, matches[:1_000]))
        await until_all_committed(settings)
        await until(lambda: secure.identity.issued >= before + 3, 60)
        await produce(settings, map(record_of, matches[1_000:]))
        await until_all_committed(settings)
        for worker in workers.values():
            worker.send(signal.SIGTERM)
        for worker in workers.values():
            assert await worker.until_ended() == 0, worker.tail()
        shares = {name: worker.events()[-1]["records"] for name, worker in workers.items()}
    assert all(shares.values()), f"one of the workers did nothing: {shares}"
    # A transaction that the end of a connection cut is repaired, maybe after later changes.
    assert (await check(settings, matches)).wrong(but="out_of_order") == {}
    assert secrets_in("".join((tmp_path / f"{name}.log").read_text() for name in ways)) == []


async def test_a_token_file_is_read_anew_for_each_connection(settings: Settings, secure: SecureKafka) -> None:
    """What is in the file when a connection is made counts: a refused token is no more once it is replaced."""
    way = secure.by_token_file(secure.identity.token(audience="somebody-else"), "renewed")
    with pytest.raises(StreamSetupError, match="refuses the token"):
        await check_topics(by(settings, way))
    saved(way["kafka_oauth_token_file"], secure.identity.token() + "\n")
    await check_topics(by(settings, way))


async def test_a_token_is_asked_for_once_while_it_is_good(
    settings: Settings, secure: SecureKafka, endpoint: str
) -> None:
    """All clients of a worker share a token of the endpoint until shortly before its end."""
    secure.identity.life_s, before = 3_600, secure.identity.issued
    for _ in range(3):
        await check_topics(by(settings, secure.by_endpoint(endpoint)))
    assert secure.identity.issued == before + 1


async def test_no_login_is_logged_at_level_debug(
    settings: Settings, secure: SecureKafka, endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    """aiokafka logs every request at that level; those that carry a password or a token are left out."""
    caplog.set_level(logging.DEBUG, logger="aiokafka")
    token = secure.identity.token()
    for way in (
        secure.by_password(SaslMechanism.PLAIN),
        secure.by_password(SaslMechanism.SCRAM_SHA_512),
        secure.by_token_file(token),
        secure.by_endpoint(endpoint),
    ):
        await check_topics(by(settings, way))
        with pytest.raises(StreamSetupError):
            await check_topics(by(settings, way | {"kafka_bootstrap": secure.broker.address(TLS)}))
    assert "Request to" in caplog.text
    assert secrets_in(caplog.text, token, "Bearer") == []


async def test_a_token_that_ends_while_the_worker_works_is_waited_for(
    settings: Settings, secure: SecureKafka, tmp_path: Path
) -> None:
    """Once the broker lets a running worker in no more, the log says why; with a good token it goes on as before."""
    way = secure.by_token_file(secure.identity.token(), "ending")
    matches = stream(200, players=50, seed=22, prefix="after")
    async with WorkerProcess(by(settings, way), tmp_path / "log") as worker:
        await worker.until_logged("partitions assigned")
        saved(way["kafka_oauth_token_file"], secure.identity.token(audience="somebody-else"))
        await worker.until_logged("does not answer")
        [error] = [line["error"] for line in worker.events() if line["event"] == "does not answer"]
        assert "it refuses the token" in error
        saved(way["kafka_oauth_token_file"], secure.identity.token())
        await worker.until_logged("connected")
        await produce(settings, map(record_of, matches))
        await until_all_committed(settings)
        worker.send(signal.SIGTERM)
        assert await worker.until_ended() == 0, worker.tail()
    assert worker.events()[-1]["rated"] > 0


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_who_may_not_come_in_is_told_why(settings: Settings, secure: SecureKafka, refusal: str) -> None:
    """`check` says what is wrong, where, and which setting to mend, and shows no secret."""
    way, wanted = REFUSALS[refusal]
    ended = await cli(by(settings, way(secure)), "check", "--json")
    assert ended.code == Exit.CONFIG, ended.out
    [finding] = [one for one in ended.json()["findings"] if one["name"] == "Kafka"]
    assert finding["state"] == "WRONG"
    for text in wanted:
        assert text in finding["detail"]
    assert secrets_in(ended.out + ended.err) == []


async def test_a_worker_with_wrong_settings_ends_with_78(settings: Settings, secure: SecureKafka) -> None:
    """So that who started it looks at the message; nothing would be mended by trying again."""
    refusals = (
        "a wrong password",
        "a token for somebody else",
        "certificates of a stranger",
        "no TLS where it is spoken",
    )
    ways = [REFUSALS[refusal] for refusal in refusals]
    all_ended = await asyncio.gather(*(cli_process(by(settings, way(secure)), "run") for way, _ in ways))
    for ended, (_, wanted) in zip(all_ended, ways, strict=True):
        assert ended.code == Exit.CONFIG, ended.err
        for text in wanted:
            assert text in ended.err.splitlines()[-1]
        assert secrets_in(ended.out + ended.err) == []


async def test_check_says_how_safe_the_way_is(settings: Settings, secure: SecureKafka) -> None:
    """Where all is well, the finding about Kafka says whether it is encrypted and who logs in how."""
    for way, wanted in (
        (secure.by_password(SaslMechanism.SCRAM_SHA_512), "encrypted, host name checked, login by SCRAM-SHA-512"),
        (secure.by_certificate(), "encrypted, host name checked, login by certificate"),
        ({}, "not encrypted, no login"),
    ):
        ended = await cli(by(settings, way), "check", "--json")
        assert ended.code == 0, ended.out
        [finding] = [one for one in ended.json()["findings"] if one["name"] == "Kafka"]
        assert finding["detail"].endswith(f", {wanted}")


async def test_a_token_endpoint_that_is_away_is_waited_for(
    settings: Settings, secure: SecureKafka, tmp_path: Path
) -> None:
    """A worker that can't have a token yet tries again, says why, and goes on once the endpoint is there."""
    port = Port()
    way = secure.by_endpoint(f"https://127.0.0.1:{port.number}/token")
    async with WorkerProcess(by(settings, way), tmp_path / "log") as worker:
        await worker.until_logged("kafka can't be reached, trying again")
        assert f"the token endpoint https://127.0.0.1:{port.number}/token can't be reached" in worker.tail()
        files = secure.server_files
        async with secure.identity.endpoint(files["certificate"], files["key"], port.number):
            await worker.until_logged("partitions assigned")
            worker.send(signal.SIGTERM)
            assert await worker.until_ended() == 0, worker.tail()
    port.release()
    assert secrets_in(worker.tail(1_000)) == []


async def test_a_token_endpoint_that_refuses_is_no_reason_to_wait(
    settings: Settings, secure: SecureKafka, endpoint: str
) -> None:
    """A wrong secret, a wrong scope, an authority that is not trusted: what to mend, in the endpoint's own words."""
    for other, wanted in (
        (
            {"kafka_oauth_client_secret": f"{CLIENT_SECRET}x"},
            "answers 401, invalid_client: who are you. Mend RATING_KAFKA",
        ),
        ({"kafka_oauth_scope": "all"}, "answers 400, invalid_scope. Mend RATING_KAFKA"),
        ({"kafka_oauth_ca_file": None}, "is not signed by an authority that is trusted here"),
        ({"kafka_oauth_ca_file": secure.server_files["key"]}, "has no certificates that can be used"),
        ({"kafka_oauth_token_url": f"{endpoint}/none"}, "answers 404"),
    ):
        with pytest.raises(StreamSetupError) as caught:
            await check_topics(by(settings, secure.by_endpoint(endpoint, **other)))
        assert wanted in str(caught.value)
        assert secrets_in(f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}") == []
