"""Loading a book with what the rules beside the formula need: voids, sanctions, the matches that a void names."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.stored import change_of, lift_of, void_of
from worker.rating.model import EntriesClosed, Lift, Match, Sanction, SanctionKind, Side, Void
from worker.rating.sanctions import Imposed, Taken
from worker.rating.voids import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.references import References
    from worker.rating.book import Book
    from worker.rating.model import Change, Event

_BATCH = sql.load("batch.sql")
_RULEBOOK = sql.load("rulebook.sql")


async def load_rules(
    connection: PoolConnectionProxy[Any],
    references: References,
    book: Book,
    matches: Sequence[Match],
    others: Sequence[Event],
) -> dict[str, Lift]:
    """Enter what is recorded of sanctions and voids, as far as the batch's events need it.

    Returns:
        The lifts that came before their sanction, for the sanctions of the batch.
    """
    players = {side.id for match in matches for side in match.sides}
    for event in others:
        if isinstance(event, Sanction | Lift):
            players.add(event.player_id)
        elif isinstance(event, EntriesClosed):
            players.update(event.entrants)
    await _load_sanctions(connection, book, players)
    if matches:
        ids = [match.match_id for match in matches]
        for row in await connection.fetch(_RULEBOOK["waiting_voids"], ids):
            book.put_waiting_void(void_of(row["body"]))
    voided = [event.match_id for event in others if isinstance(event, Void)]
    if voided:
        await _load_recorded(connection, references, book, voided)
    imposed = [f"lift:{event.sanction_id}" for event in others if isinstance(event, Sanction)]
    rows = await connection.fetch(_RULEBOOK["waiting_lifts"], imposed) if imposed else []
    lifts = [lift_of(row["body"]) for row in rows]
    for lift in lifts:
        book.put_waiting_lift(lift)
    return {lift.sanction_id: lift for lift in lifts}


async def _load_sanctions(connection: PoolConnectionProxy[Any], book: Book, players: Iterable[str]) -> None:
    by_player: defaultdict[str, list[Imposed]] = defaultdict(list)
    for row in await connection.fetch(_RULEBOOK["sanctions_of"], list(players)):
        sanction_id, player_id, kind, starts_at, ends_at, pool, why, by, lifted_at, taken = row
        sanction = Sanction(sanction_id, player_id, SanctionKind(kind), starts_at, ends_at, pool, why, by)
        by_player[player_id].append(Imposed(sanction, lifted_at, tuple(Taken(*one) for one in taken or ())))
    for player_id, imposed in by_player.items():
        book.put_sanctions(player_id, imposed)


async def _load_recorded(
    connection: PoolConnectionProxy[Any], references: References, book: Book, match_ids: Sequence[str]
) -> None:
    """Enter the recorded matches that the batch voids, with what they gave."""
    given: defaultdict[str, list[Change]] = defaultdict(list)
    rows = await connection.fetch(_BATCH["changes_of_matches"], match_ids)
    await references.know_policies(row["policy_id"] for row in rows)
    for row in rows:
        given[row["of_match"]].append(change_of(row, references))
    for row in await connection.fetch(_RULEBOOK["recorded_matches"], match_ids):
        match = _match_of(row)
        changes = tuple(given[match.match_id])
        book.put_recorded(match.match_id, Recorded(match, changes, row["voided"], row["unrated_reason"]))


def _match_of(row: Mapping[str, Any]) -> Match:
    attributes = row["attributes"] or {}
    lo_score = float(row["lo_score"])
    return Match(
        row["match_id"],
        row["pool"],
        row["finished_at"],
        (
            Side(row["lo_player"], lo_score, attributes.get("lo_birth_year")),
            Side(row["hi_player"], 1.0 - lo_score, attributes.get("hi_birth_year")),
        ),
        row["match_type"],
        row["tournament_id"],
        row["verified"],
    )
