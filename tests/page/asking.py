"""Asking a worker's page, as programs do."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import orjson

from tests.support.running import running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from worker.settings import Settings


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Parse it."""
        return orjson.loads(self.body)

    def error(self) -> str:
        """Give the words of a refusal."""
        document = self.json()
        assert set(document) == {"error"}, document
        return str(document["error"])


class Visitor:
    """Somebody who asks the page of one worker.

    Args:
        url: Where it answers.
        session: To ask with.
    """

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def get(
        self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, **asked: Any
    ) -> Reply:
        """Ask for a path; parameters are encoded as a browser does."""
        given = {name: str(value) for name, value in asked.items() if value is not None}
        async with self._session.request(method, self.url + path, params=given, headers=headers) as answer:
            return Reply(answer.status, answer.headers, await answer.read())

    async def json(self, path: str, **asked: Any) -> Any:
        """Ask for JSON that there is."""
        reply = await self.get(path, **asked)
        assert reply.status == 200, reply.body
        return reply.json()


@asynccontextmanager
async def visiting(settings: Settings) -> AsyncIterator[Visitor]:
    """Run a worker while the block runs, and ask its page."""
    async with running(settings) as worker, aiohttp.ClientSession() as session:
        yield Visitor(worker.http.url, session)
