"""A connection to Postgres for the questions of people, such that the batches beside it can't tell."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import asyncpg
import orjson

from worker.futures import retrieve
from worker.ledger.connecting import setup_advice
from worker.ledger.errors import PASSING_FAULTS, SETUP_FAULTS
from worker.ledger.ledger import set_codecs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from worker.settings import Settings

_STATEMENT_MS = 1_000
_CONNECT_S = 2.0
_QUESTION_S = 2.0  # all statements of one question
_TURN_S = 2.0  # for the questions before it to be answered
_MOST_WAITING = 16
_FRESH_S = 1.0
_MOST_KEPT = 64
_MOST_BYTES = 1_000_000
_REST = 4.0  # times what a question took: Postgres and the loop work for the page a fifth of the time at most
_LEAST_REST_S = 0.02
_REST_AFTER_FAULT_S = 1.0
_IDLE_S = 30.0
_CLOSE_S = 1.0
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS

Found = Literal["found", "unknown", "wrong", "away", "busy"]


class Answer(NamedTuple):
    """What came of a question.

    Attributes:
        found: Whether there is such a thing; why not, otherwise.
        body: JSON: what was asked for, or an object whose `error` says in words what is wrong.
    """

    found: Found
    body: bytes


class Refusal(Exception):  # noqa: N818 - no fault of ours: an answer in words
    """There is nothing to give: `found` is `unknown` or `wrong`, the message says it in words."""

    def __init__(self, found: Found, words: str) -> None:
        super().__init__(words)
        self.found: Found = found


def refused(found: Found, words: str) -> Answer:
    """Make an answer that says why there is none."""
    return Answer(found, orjson.dumps({"error": words}))


class Desk:
    """Answers questions, one after the other, from a read-only connection of its own.

    The connection is opened when somebody asks and closed when nobody did for half a minute. A statement may take a
    second. After each question the desk rests, four times as long as the question took. Few may wait; the others are
    told that it is busy. An answer is kept for a second, and given to all who ask the same.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turn = asyncio.Lock()
        self._connection: asyncpg.Connection[Any] | None = None
        self._kept: OrderedDict[Hashable, tuple[float, Answer]] = OrderedDict()
        self._asked: dict[Hashable, asyncio.Task[Answer]] = {}
        self._rested_at = 0.0
        self._leaving: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    async def ask(self, key: Hashable, question: Callable[[Any], Awaitable[Any]]) -> Answer:
        """Ask a question.

        Args:
            key: The same for the same question.
            question: Takes the connection, in a read-only transaction, and gives what JSON is made of; raises `Refusal`
                where there is nothing to give.
        """
        kept = self._kept.get(key)
        if kept is not None and asyncio.get_running_loop().time() < kept[0]:
            return kept[1]
        task = self._asked.get(key)
        if task is None:
            if len(self._asked) >= _MOST_WAITING:
                return refused("busy", "Too many questions at once. Ask again in a moment.")
            task = self._asked[key] = asyncio.create_task(self._in_turn(key, question))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
            task.add_done_callback(retrieve)
        return await asyncio.shield(task)  # who goes away takes nobody else's answer along

    async def close(self) -> None:
        """Give up what is asked, and the connection."""
        asked = list(self._asked.values())
        for task in asked:
            task.cancel()
        if asked:
            await asyncio.wait(asked, timeout=_CLOSE_S)
        self._hang_up()
        if self._closing is not None:
            await self._closing

    async def _in_turn(self, key: Hashable, question: Callable[[Any], Awaitable[Any]]) -> Answer:
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(_TURN_S) as patience, self._turn:
                await asyncio.sleep(self._rested_at - clock())
                patience.reschedule(None)
                started = clock()
                answer = await self._answer(question)
                took = clock() - started
                rest = _REST_AFTER_FAULT_S if answer.found == "away" else max(_LEAST_REST_S, _REST * took)
                self._rested_at = clock() + rest
        except TimeoutError:
            return refused("busy", "Postgres is kept for the matches first. Ask again in a moment.")
        self._keep(key, answer)
        self._leave_later()
        return answer

    async def _answer(self, question: Callable[[Any], Awaitable[Any]]) -> Answer:
        try:
            async with asyncio.timeout(_CONNECT_S + _QUESTION_S):
                connection = await self._connected()
                async with (
                    asyncio.timeout(_QUESTION_S),
                    connection.transaction(isolation="repeatable_read", readonly=True),
                ):
                    document = await question(connection)
        except Refusal as refusal:
            return refused(refusal.found, str(refusal))
        except PASSING_FAULTS as error:  # those to be mended are among them: they are Postgres' own too
            return self._fault(error)
        body = orjson.dumps(document, option=_OPTIONS)
        if len(body) > _MOST_BYTES:
            return refused("wrong", "That is more than fits in one answer. Ask for less with `limit`.")
        return Answer("found", body)

    def _fault(self, error: Exception) -> Answer:
        if isinstance(error, asyncpg.DataError):
            return refused("wrong", "Postgres can keep no such text, so nothing has that name.")
        if isinstance(error, asyncpg.QueryCanceledError):
            return refused("away", f"Postgres took longer than {_STATEMENT_MS / 1000:g} s for this, and was stopped.")
        self._hang_up()
        if isinstance(error, SETUP_FAULTS):
            return refused("away", setup_advice(error))
        # No more of it: what a driver says may hold an address with a password in it.
        return refused("away", f"Postgres does not answer ({type(error).__name__}).")

    async def _connected(self) -> asyncpg.Connection[Any]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._settings.database_url.get_secret_value(),
                timeout=_CONNECT_S,
                command_timeout=_QUESTION_S,
                server_settings={
                    "application_name": f"rating-page {self._settings.instance_id}"[:63],
                    "default_transaction_read_only": "on",
                    "statement_timeout": str(_STATEMENT_MS),
                    "lock_timeout": str(_STATEMENT_MS // 4),
                    "idle_in_transaction_session_timeout": str(int(2 * _QUESTION_S * 1000)),
                    "jit": "off",
                },
            )
            await set_codecs(self._connection)
        return self._connection

    def _keep(self, key: Hashable, answer: Answer) -> None:
        self._kept[key] = asyncio.get_running_loop().time() + _FRESH_S, answer
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def _leave_later(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        self._leaving = asyncio.get_running_loop().call_later(_IDLE_S, self._hang_up)

    def _hang_up(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        self._kept.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._closing = asyncio.create_task(_close(connection))


async def _close(connection: asyncpg.Connection[Any]) -> None:
    with suppress(*PASSING_FAULTS):
        await connection.close(timeout=_CLOSE_S)
