"""The paths whose answers come from the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.ops.page.parameters import Parameters
from worker.ops.page.replies import of_answer

if TYPE_CHECKING:
    from aiohttp import web

    from worker.ops.page.questions import Answers

_MOST_ROWS = 100
_USUAL_PLACES = 50
_USUAL_CHANGES = 10
_LAST_VERSION = 2**31 - 1


class LedgerPaths:
    """Checks what is asked for and passes it on.

    Args:
        answers: Who answers.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def add_to(self, app: web.Application) -> None:
        """Add the paths to an application."""
        app.router.add_get("/api/pools", self._pools)
        app.router.add_get("/api/leaderboard", self._leaderboard)
        app.router.add_get("/api/player", self._player)
        app.router.add_get("/api/history", self._history)
        app.router.add_get("/api/match", self._match)

    async def _pools(self, request: web.Request) -> web.Response:
        Parameters(request)
        return of_answer(await self._answers.pools())

    async def _leaderboard(self, request: web.Request) -> web.Response:
        asked = Parameters(request, "pool", "limit", "after")
        limit = asked.whole("limit", _USUAL_PLACES, 1, _MOST_ROWS)
        return of_answer(await self._answers.leaderboard(asked.text("pool"), limit, asked.optional_text("after")))

    async def _player(self, request: web.Request) -> web.Response:
        asked = Parameters(request, "id", "pool", "limit", "before")
        limit = asked.whole("limit", _USUAL_CHANGES, 0, _MOST_ROWS)
        before = asked.whole("before", _LAST_VERSION, 1, _LAST_VERSION)
        return of_answer(await self._answers.player(asked.text("id"), asked.optional_text("pool"), limit, before))

    async def _history(self, request: web.Request) -> web.Response:
        asked = Parameters(request, "id", "pool", "before")
        before = asked.whole("before", _LAST_VERSION, 1, _LAST_VERSION)
        return of_answer(await self._answers.history(asked.text("id"), asked.text("pool"), before))

    async def _match(self, request: web.Request) -> web.Response:
        asked = Parameters(request, "id")
        return of_answer(await self._answers.match(asked.text("id")))
