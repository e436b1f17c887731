"""What the page asks of the ledger, and what it takes for an answer. `worker.ledger.reads.answers` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable


class Answer(Protocol):
    """An answer."""

    @property
    def found(self) -> str:
        """`found`, or why not: `unknown`, `wrong`, `away` or `busy`."""

    @property
    def body(self) -> bytes:
        """JSON: what was asked for, or an object whose `error` says in words what is wrong."""


class Answers(Protocol):
    """Who gives answers. None of these raises or takes long."""

    def pools(self) -> Awaitable[Answer]:
        """Name the pools."""

    def leaderboard(self, pool: str, limit: int, after: str | None) -> Awaitable[Answer]:
        """Give a page of a leaderboard."""

    def player(self, player_id: str, pool: str | None, limit: int, before: int) -> Awaitable[Answer]:
        """Give a player with the last changes before a version."""

    def history(self, player_id: str, pool: str, before: int) -> Awaitable[Answer]:
        """Give a player's rating over time."""

    def match(self, match_id: str) -> Awaitable[Answer]:
        """Explain a match."""

    def close(self) -> Awaitable[None]:
        """Let go of whatever answers them."""
