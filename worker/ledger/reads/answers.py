"""What the worker's page asks of the ledger: pools, leaderboards, players, ratings over time, matches explained."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from worker.events import whole_points
from worker.ledger import sql
from worker.ledger.reads import shapes
from worker.ledger.reads.desk import Answer, Desk, Refusal, refused
from worker.ledger.reads.explanation import explain
from worker.ledger.reads.matches import match_record
from worker.ledger.reads.players import TOP, Cursor, history, leaderboard, standings
from worker.ledger.reads.trace import thinned, trace
from worker.ledger.reads.verdicts import sanctions
from worker.rating.errors import UnknownPoolError

if TYPE_CHECKING:
    from worker.ledger.reads.players import Connection, Standing
    from worker.rating.policy_set import PolicySet
    from worker.settings import Settings

_SQL = sql.load("page.sql")
_MOST_POOLS = 500
_MOST_STANDINGS = 20
_TRACED = 1_000
_DRAWN = 300


class Answers:
    """The ledger's answers for the page, with the words for what is not there.

    Args:
        settings: Where Postgres is.
        policies: Whose titles a plot shows.
    """

    def __init__(self, settings: Settings, policies: PolicySet) -> None:
        self._desk = Desk(settings)
        self._policies = policies

    async def close(self) -> None:
        """Leave Postgres."""
        await self._desk.close()

    async def pools(self) -> Answer:
        """Name the pools that have ever been played in, some hundred at most."""

        async def question(connection: Connection) -> Any:
            names = [row["name"] for row in await connection.fetch(_SQL["some_pools"], _MOST_POOLS + 1)]
            return {"pools": names[:_MOST_POOLS], "more": len(names) > _MOST_POOLS}

        return await self._desk.ask(("pools",), question)

    async def leaderboard(self, pool: str, limit: int, after: str | None) -> Answer:
        """Give a page of a leaderboard, as `rating-worker leaderboard --json` does."""
        try:
            cursor = TOP if after is None else Cursor.parse(after)
        except ValueError as error:
            return refused("wrong", f"after: {error}.")

        async def question(connection: Connection) -> Any:
            page = await leaderboard(connection, pool, limit=limit, after=cursor)
            if page is None:
                raise Refusal("unknown", f"Nobody has played in pool {pool}.")
            return shapes.page_json(pool, page)

        return await self._desk.ask(("leaderboard", pool, limit, after), question)

    async def player(self, player_id: str, pool: str | None, limit: int, before: int) -> Answer:
        """Give a player, as `rating-worker player --json` does; the changes before a version."""

        async def question(connection: Connection) -> Any:
            found = (await self._standings(connection, player_id, pool))[:_MOST_STANDINGS]
            steps = [
                (one, await history(connection, one.rating_id, limit=limit, before_version=before)) for one in found
            ]
            imposed = await sanctions(connection, player_id)
            return shapes.player_json(player_id, steps, imposed, datetime.now(UTC), pool)

        return await self._desk.ask(("player", player_id, pool, limit, before), question)

    async def history(self, player_id: str, pool: str, before: int) -> Answer:
        """Give a player's rating over time in a pool: the latest changes before a version, thinned for a plot."""

        async def question(connection: Connection) -> Any:
            [standing] = await self._standings(connection, player_id, pool)
            points = await trace(connection, standing.rating_id, limit=_TRACED, before_version=before)
            drawn = thinned(points, _DRAWN)
            return {
                "player_id": player_id,
                "pool": pool,
                "rating": standing.rating,
                "display_rating": whole_points(standing.rating),
                "version": standing.version,
                "changes": len(points),
                "before": points[0].version if points and points[0].version > 1 else None,
                "points": [point._asdict() for point in drawn],
                "titles": self._titles(pool),
            }

        return await self._desk.ask(("history", player_id, pool, before), question)

    async def match(self, match_id: str) -> Answer:
        """Explain a match, as `rating-worker explain --json` does."""

        async def question(connection: Connection) -> Any:
            record = await match_record(connection, match_id)
            if record is None:
                raise Refusal(
                    "unknown",
                    f"Match {match_id} is not recorded. Either it has not arrived yet, or it was refused: "
                    "`rating-worker dead-letters list` finds it then, and why.",
                )
            return shapes.explanation_json(record, explain(record))

        return await self._desk.ask(("match", match_id), question)

    @staticmethod
    async def _standings(connection: Connection, player_id: str, pool: str | None) -> list[Standing]:
        found = await standings(connection, player_id, pool)
        if not found:
            where = "in any pool" if pool is None else f"in pool {pool}"
            raise Refusal("unknown", f"Player {player_id} has no match {where}.")
        return found

    def _titles(self, pool: str) -> list[dict[str, Any]]:
        try:
            policy = self._policies.at(pool, datetime.now(UTC))
        except UnknownPoolError:  # what rated it is not at work any more
            return []
        return [{"title": rung.title, "lower": rung.lower} for rung in policy.ladder]
