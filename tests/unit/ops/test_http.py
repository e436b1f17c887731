from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from worker.ops.health import Component, Health
from worker.ops.http import HttpServer, HttpServerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.ops.conftest import Clock
    from worker.ops.metrics import Metrics


@pytest.fixture
async def server(metrics: Metrics, health: Health) -> AsyncIterator[HttpServer]:
    async with HttpServer("127.0.0.1", 0, metrics, health) as server:
        yield server


@pytest.fixture
async def client(server: HttpServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as client:
        yield client


async def test_metrics_in_prometheus_text(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    """A plain scrape gets the text form, which parses and holds what was counted."""
    metrics.rated(4)
    async with client.get("/metrics") as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        samples = [s for family in parse_text(await response.text()) for s in family.samples]
    assert ("rating_records_total", 4.0) in [(sample.name, sample.value) for sample in samples]


async def test_metrics_in_openmetrics_when_asked_for(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    """A scraper that accepts OpenMetrics, as Prometheus does, gets it, and it parses."""
    metrics.lag("match-events", 0, 3)
    with metrics.stage("lock"):
        pass
    accept = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    async with client.get("/metrics", headers={"Accept": accept}) as response:
        assert response.content_type == "application/openmetrics-text"
        text = await response.text()
    assert text.endswith("# EOF\n")
    assert {"rating_records", "rating_stage_seconds"} <= {family.name for family in parse_openmetrics(text)}  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("accept", ["application/openmetrics-text;version=x", "text/plain;version=", ";;,=", "é"])
async def test_no_accept_header_breaks_a_scrape(client: aiohttp.ClientSession, accept: str) -> None:
    """A header that makes no sense gets metrics in one form or the other."""
    async with client.get("/metrics", headers={"Accept": accept}) as response:
        assert response.status == 200
        assert "rating_ready" in await response.text()


async def test_liveness(client: aiohttp.ClientSession, clock: Clock) -> None:
    """/healthz is 200 while the loop moves, and 503 with the reason when it hangs."""
    async with client.get("/healthz") as response:
        assert (response.status, await response.json()) == (200, {"status": "ok", "reasons": []})
    clock.now += 500
    async with client.get("/healthz") as response:
        assert response.status == 503
        assert (await response.json())["reasons"] == ["no progress for 500 s, allowed are 120 s"]


async def test_readiness(client: aiohttp.ClientSession, health: Health) -> None:
    """/readyz is 503 with a reason for each thing missing, then 200, and never cached."""
    async with client.get("/readyz") as response:
        assert response.status == 503
        assert len((await response.json())["reasons"]) == len(Component)
    for component in Component:
        health.up(component)
    async with client.get("/readyz") as response:
        assert response.status == 200
        assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/readyz"])
async def test_read_only(client: aiohttp.ClientSession, path: str, health: Health) -> None:
    """Every path answers GET and HEAD alike, HEAD without a body, and refuses all that could write."""
    for component in Component:
        health.up(component)
    async with client.get(path) as response:
        assert response.status == 200
        assert await response.read()
    async with client.head(path) as response:
        assert response.status == 200
        assert not await response.read()
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        async with client.request(method, path) as response:
            assert response.status == 405


async def test_the_index_names_every_path(client: aiohttp.ClientSession) -> None:
    """Someone who opens the port in a browser finds the way; other paths are not found."""
    async with client.get("/") as response:
        text = await response.text()
    for path in ("/metrics", "/healthz", "/readyz"):
        assert path in text
    async with client.get("/admin") as response:
        assert response.status == 404


async def test_a_port_in_use_is_explained(server: HttpServer, metrics: Metrics, health: Health) -> None:
    """The error says where, why and which setting to change, and the failed server can be stopped and tried again."""
    second = HttpServer("127.0.0.1", server.port, metrics, health)
    with pytest.raises(HttpServerError) as caught:
        await second.start()
    for part in (f"127.0.0.1:{server.port}", "the port is taken", "RATING_HTTP_PORT", "0"):
        assert part in str(caught.value)
    await second.stop()
    with pytest.raises(RuntimeError, match="not running"):
        _ = second.port
    await server.stop()
    await second.start()
    await second.stop()


@pytest.mark.parametrize("host", ["192.0.2.1", "host.invalid"])
async def test_an_address_that_is_not_ours_is_explained(host: str, metrics: Metrics, health: Health) -> None:
    """An address of another machine, or of none, gives the same kind of error."""
    with pytest.raises(HttpServerError, match=f"on {host}:0: .*RATING_HTTP_HOST"):
        await HttpServer(host, 0, metrics, health).start()


async def test_start_and_stop_in_any_order(metrics: Metrics, health: Health) -> None:
    """Stop before start, double start, double stop and a second life are all fine."""
    server = HttpServer("127.0.0.1", 0, metrics, health)
    await server.stop()
    await server.start()
    port = server.port
    await server.start()
    assert server.port == port
    await server.stop()
    await server.stop()
    async with server:
        assert server.port > 0


@pytest.mark.parametrize("sent", [b"", b"GET /heal", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"])
async def test_stop_does_not_wait_for_a_client(metrics: Metrics, health: Health, sent: bytes) -> None:
    """A connection that a client keeps open, silent or half-way through a request, does not hold up the end."""
    server = HttpServer("127.0.0.1", 0, metrics, health)
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.write(sent)
    await asyncio.sleep(0.05)
    started = time.monotonic()
    await server.stop()
    assert time.monotonic() - started < 5
    writer.close()
    await writer.wait_closed()


async def test_the_url_of_an_ipv6_server_is_one(metrics: Metrics, health: Health) -> None:
    """An IPv6 address stands in brackets in the URL."""
    try:
        async with HttpServer("::1", 0, metrics, health) as server, aiohttp.ClientSession(server.url) as client:
            assert server.url == f"http://[::1]:{server.port}"
            async with client.get("/healthz") as response:
                assert response.status == 200
    except HttpServerError:
        pytest.skip("no IPv6 here")


async def test_a_scrape_takes_the_loop_for_a_few_ms_only(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    """With 200 partitions and 100 reasons a scrape still is quick (bound generous for slow machines)."""
    for number in range(200):
        metrics.lag("match-events", number, number)
        metrics.dead_lettered(f"reason {number}")
    started = time.perf_counter()
    async with client.get("/metrics") as response:
        await response.read()
    assert time.perf_counter() - started < 0.5
