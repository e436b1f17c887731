"""The page for people and its JSON, beside the paths of machines. GET and HEAD only."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web

from worker.ops.page.admission import Admission
from worker.ops.page.assets import Assets
from worker.ops.page.ledger import LedgerPaths
from worker.ops.page.parameters import ParameterError, Parameters
from worker.ops.page.replies import as_json, busy, in_words, of_asset, of_json
from worker.ops.page.status import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from worker.ops.health import Health
    from worker.ops.metrics import Metrics
    from worker.ops.page.questions import Answers

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_FILES = "/page/"
_COSTLY = "/api/"
_STATUS = "/api/status"
_CHEAP = 0.25  # of what a question to the ledger takes the loop: a file, figures that are there
_FOR_MACHINES = frozenset({"/metrics", "/healthz", "/readyz"})
_PATHS = {
    "/": "The page for people.",
    "/api": "This list.",
    "/api/status": "How the worker is: rates, lag, delay, what is up and down, its last warnings and errors.",
    "/api/pools": "The pools that have ever been played in, 500 at most.",
    "/api/leaderboard?pool=POOL[&limit=1..100][&after=CURSOR]": "As `rating-worker leaderboard --json`.",
    "/api/player?id=PLAYER[&pool=POOL][&limit=0..100][&before=VERSION]": "As `rating-worker player --json`.",
    "/api/history?id=PLAYER&pool=POOL[&before=VERSION]": (
        "A player's rating over time: the latest 1,000 changes, thinned to 300 points; `before` goes further back."
    ),
    "/api/match?id=MATCH": "As `rating-worker explain --json`.",
    "/metrics": "Prometheus metrics.",
    "/healthz": "Alive? 200 or 503.",
    "/readyz": "Taking matches? 200 or 503.",
}


class Page:
    """What people see of a worker.

    They are served on the loop that rates matches, so only so many requests are let in as nobody notices there, and
    what the ledger knows is asked for on a connection that is not the pipeline's.

    Args:
        metrics: Of the worker.
        health: Of the worker.
        answers: Who answers what the ledger knows; without one there are no such paths.
    """

    def __init__(self, metrics: Metrics, health: Health, answers: Answers | None = None) -> None:
        self._status = Status(metrics.registry, health)
        self._answers = answers
        self._admission = Admission()
        self._assets = Assets()

    def start(self) -> None:
        """Watch the metrics from now on."""
        self._status.sampling.start()

    async def stop(self) -> None:
        """Watch no more, and leave Postgres."""
        self._status.sampling.stop()
        if self._answers is not None:
            await self._answers.close()

    def add_to(self, app: web.Application) -> None:
        """Add the paths to an application."""
        app.router.add_get("/", self._index)
        app.router.add_get(_FILES + "{digest}/{name}", self._file)
        app.router.add_get("/api", self._list)
        app.router.add_get(_STATUS, self._now)
        if self._answers is not None:
            LedgerPaths(self._answers).add_to(app)
        app.middlewares.append(self._guarded)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let people in as far as there is room, and say in words what they can't have. Machines are always let in."""
        if request.path in _FOR_MACHINES:
            return await handler(request)
        if not await self._admission.admit(
            1.0 if request.path.startswith(_COSTLY) and request.path != _STATUS else _CHEAP
        ):
            return busy()
        try:
            return await handler(request)
        except ParameterError as error:
            return in_words(str(error), HTTPStatus.BAD_REQUEST)
        except web.HTTPNotFound:
            return in_words(f"There is nothing at {request.path}; /api lists what there is.", HTTPStatus.NOT_FOUND)
        except web.HTTPMethodNotAllowed as error:
            response = in_words("Nothing here changes anything: GET and HEAD only.", error.status)
            response.headers["Allow"] = "GET, HEAD"
            return response

    async def _index(self, _request: web.Request) -> web.Response:
        return of_asset(self._assets.index, for_ever=False)

    async def _file(self, request: web.Request) -> web.Response:
        file = self._assets.files.get(request.match_info["name"])
        if file is None or request.match_info["digest"] != self._assets.digest:
            raise web.HTTPNotFound
        return of_asset(file, for_ever=True)

    async def _list(self, request: web.Request) -> web.Response:
        Parameters(request)
        return as_json({"paths": _PATHS})

    async def _now(self, request: web.Request) -> web.Response:
        Parameters(request)
        return of_json(self._status.body())
