"""A small read-only HTTP server beside the pipeline: metrics, health and a page for people. GET and HEAD only."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Self

import orjson
from aiohttp import web
from prometheus_client import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from worker.ops.page import Page
from worker.ops.page.replies import HEADERS

if TYPE_CHECKING:
    from types import TracebackType

    from prometheus_client import CollectorRegistry

    from worker.ops.health import Health, Verdict
    from worker.ops.metrics import Metrics
    from worker.ops.page import Answers

_PLAIN_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WHY = {
    errno.EADDRINUSE: "the port is taken, perhaps by another worker on this machine",
    errno.EACCES: "this user may not listen on that port",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}


class HttpServerError(Exception):
    """The server can't listen where it should; the message says where, why and what to do."""


class HttpServer:
    """Serves `/metrics`, `/healthz`, `/readyz`, and the page at `/`. Stopping twice, or before the start, is fine.

    Args:
        host: Address to listen on, e.g. 127.0.0.1.
        port: Port to listen on; 0 takes a free one, to be read from `port` once started.
        metrics: Whose registry `/metrics` shows.
        health: What the two health paths report.
        answers: What the page shows of the ledger; without one it shows the worker alone.
    """

    def __init__(self, host: str, port: int, metrics: Metrics, health: Health, answers: Answers | None = None) -> None:
        self._host = host
        self._wanted_port = port
        self._registry = metrics.registry
        self._health = health
        self._page = Page(metrics, health, answers)
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port that is listened on.

        Raises:
            RuntimeError: If the server is not running.
        """
        if self._runner is None or not self._runner.addresses:
            raise RuntimeError("the HTTP server is not running")
        return int(self._runner.addresses[0][1])

    @property
    def url(self) -> str:
        """The server's address as a URL without a path; raises like `port`."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Listen. Does nothing if the server already does.

        Raises:
            HttpServerError: If it can't.
        """
        if self._runner is not None:
            return
        # No access log: a scrape every few seconds says nothing. Connections that a scraper keeps open must not hold up
        # the end of the worker, so they get a second.
        runner = web.AppRunner(self._app(), access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._wanted_port).start()
        except OSError as error:
            await runner.cleanup()
            why = _WHY.get(error.errno or 0, error.strerror or str(error))
            raise HttpServerError(
                f"Can't serve metrics and health on {self._host}:{self._wanted_port}: {why}. "
                "Set RATING_HTTP_HOST and RATING_HTTP_PORT to an address that is free, or the port to 0 for any."
            ) from error
        self._page.start()
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening and close what is open."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
            await self._page.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.stop()

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        self._page.add_to(app)
        app.on_response_prepare.append(_headers)
        return app

    async def _metrics(self, request: web.Request) -> web.Response:
        body, content_type = _render(self._registry, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _healthz(self, _request: web.Request) -> web.Response:
        return _answer(self._health.live())

    async def _readyz(self, _request: web.Request) -> web.Response:
        return _answer(self._health.ready())


def _render(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    # prometheus-client's own choice fails on a version that is no number (0.26); the older text form is for all.
    if "application/openmetrics-text" in accept:
        body: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
        return body, openmetrics.CONTENT_TYPE_LATEST
    return generate_latest(registry), _PLAIN_TEXT


def _answer(verdict: Verdict) -> web.Response:
    body = orjson.dumps({"status": "ok" if verdict.ok else "unavailable", "reasons": verdict.reasons})
    return web.Response(body=body, status=200 if verdict.ok else 503, content_type="application/json")


async def _headers(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    response.headers["Server"] = "rating-worker"
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.update(HEADERS)
