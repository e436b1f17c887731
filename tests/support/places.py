"""Places to work in: a database and topics under a name of their own, and servers that are reached through proxies."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deploy.local import Kafka, Postgres
from tests.support.proxy import Proxy
from worker.ledger.migrate import migrate
from worker.settings import Settings
from worker.settings.values import DatabaseUrl
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PROXIED = "PROXIED"


async def prepared(bootstrap: str, database_url: str, name: str, *, partitions: int = 6, **other: Any) -> Settings:
    """Migrate a database and make topics of a name; gives the settings of a worker there, `other` on top."""
    values: dict[str, Any] = {
        "consumer_group": f"{name}.group",
        "match_topic": f"{name}.matches",
        "verdict_topic": f"{name}.verdicts",
        "tournament_topic": f"{name}.tournaments",
        "rating_topic": f"{name}.ratings",
        "notice_topic": f"{name}.notices",
        "http_port": 0,
        "session_timeout_ms": 6_000,
        "retry_max_wait_s": 1.0,
        "batch_max_wait_ms": 50,
    }
    settings = Settings(kafka_bootstrap=bootstrap, database_url=database_url, **values | other)
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=partitions)
    return settings


class ProxiedServers:
    """Real servers, each with a proxy before it that workers may be sent through.

    Attributes:
        postgres: The server.
        kafka: The broker. Whoever starts from the proxy's address is told no other.
        to_postgres: The way there.
        to_kafka: The way there.
    """

    def __init__(self) -> None:
        self.to_postgres, self.to_kafka = Proxy(), Proxy()
        self.postgres = Postgres()
        self.kafka = _ProxiedKafka(self.to_kafka)

    async def prepare(self, name: str, **other: Any) -> Settings:
        """Make a database and topics of a name; gives settings that lead straight to the servers."""
        return await prepared(self.kafka.address(), self.postgres.create_database(name), name, **other)

    def through(self, settings: Settings) -> Settings:
        """Give the same settings with the proxies on the way."""
        url = settings.database_url.get_secret_value()
        proxied = url.replace(address_of(url), self.to_postgres.address)
        return settings.model_copy(
            update={"kafka_bootstrap": self.to_kafka.address, "database_url": DatabaseUrl(proxied)}
        )


class _ProxiedKafka(Kafka):
    """A broker with a listener more that is advertised under the address of a proxy."""

    def __init__(self, proxy: Proxy) -> None:
        # Sessions as short as a test wants them.
        super().__init__({"group.min.session.timeout.ms": "1000"}, {_PROXIED: "PLAINTEXT"})
        self._proxy = proxy

    def _properties(self) -> str:
        # Of a property that comes twice the last counts.
        ways = f"PLAINTEXT://{self.address()},{_PROXIED}://{self._proxy.address}"
        return f"{super()._properties()}advertised.listeners={ways}\n"


def address_of(url: str) -> str:
    """Give `host:port` of a Postgres URL."""
    return urlsplit(url).netloc.rpartition("@")[2]


@asynccontextmanager
async def proxied_servers() -> AsyncIterator[ProxiedServers]:
    """Run the servers and their proxies for the block."""
    async with AsyncExitStack() as stack:
        servers = ProxiedServers()
        for proxy in (servers.to_postgres, servers.to_kafka):
            await stack.enter_async_context(proxy)
        for server in (servers.postgres, servers.kafka):
            stack.push_async_callback(asyncio.to_thread, server.close)
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in (servers.postgres, servers.kafka)))
        servers.to_postgres.target = address_of(servers.postgres.dsn())
        servers.to_kafka.target = servers.kafka.address(_PROXIED)
        yield servers
