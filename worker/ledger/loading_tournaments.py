"""Loading a book with the tournaments that a batch's events name."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.rating.model import EntriesClosed, Match, TournamentFinished, TournamentOpened
from worker.rating.tournaments import Tournament

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from asyncpg.pool import PoolConnectionProxy

    from worker.rating.book import Book
    from worker.rating.model import Event
    from worker.rating.policy_set import PolicySet

_SQL = sql.load("rulebook.sql")


async def load_tournaments(
    connection: PoolConnectionProxy[Any], policies: PolicySet, book: Book, events: Sequence[Event]
) -> dict[str, dict[str, float]]:
    """Enter the tournaments that are known.

    Returns:
        Of the entries that the batch closes, the best rating that is recorded of entrants in the time that the policy
        protects, by tournament and player; who did not move in it is not named.
    """
    named = {
        event.tournament_id
        for event in events
        if isinstance(event, Match | TournamentOpened | EntriesClosed | TournamentFinished) and event.tournament_id
    }
    if not named:
        return {}
    known: dict[str, tuple[str, bool, dict[str, str]]] = {}
    for tournament_id, pool, closed_at, player_id, refused in await connection.fetch(_SQL["tournaments"], list(named)):
        _, _, refusals = known.setdefault(tournament_id, (pool, closed_at is not None, {}))
        if player_id is not None:
            refusals[player_id] = refused
    for tournament_id, (pool, closed, refusals) in known.items():
        book.put_tournament(tournament_id, Tournament(pool, closed, refusals))
    bests: dict[str, dict[str, float]] = {}
    for event in events:
        if isinstance(event, EntriesClosed) and (since := protected_since(policies, event)) is not None:
            entrants, until = list(event.entrants), event.closed_at
            rows = await connection.fetch(_SQL["best_ratings"], event.pool, entrants, since, until)
            bests[event.tournament_id] = dict(map(tuple, rows))
    return bests


def protected_since(policies: PolicySet, event: EntriesClosed) -> datetime | None:
    """Tell from when on a best rating counts for the seeds; None where the policy seeds by current ratings alone."""
    rule = policies.at(event.pool, event.closed_at).tournaments
    if rule is None or rule.protection_days is None:
        return None
    return event.closed_at - timedelta(days=rule.protection_days)
