"""Loading a book with what a batch needs to know, locking the players on the way.

No table of pairs: both players' ratings are locked, and with them the pair; how often it played is read from the
matches themselves. Players of a void whose match has not come get a row too: it is what a match and its void meet at,
when two workers have them at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from worker.ledger import sql
from worker.ledger.loading_rules import load_rules
from worker.ledger.loading_tournaments import load_tournaments
from worker.rating.book import Book
from worker.rating.model import EntriesClosed, Lift, Match, PlayerState, Sanction, SanctionKind, Void
from worker.rating.named import new
from worker.rating.pair_times import pair_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta

    from asyncpg.pool import PoolConnectionProxy

    from worker.ledger.references import References
    from worker.rating.model import Event
    from worker.rating.policy_set import PolicySet

_BATCH = sql.load("batch.sql")
_RULEBOOK = sql.load("rulebook.sql")
_FIRST_TIME = datetime.min.replace(tzinfo=UTC)

Player = tuple[str, str]
"""A pool and a player in it."""


@dataclass(slots=True)
class Loaded:
    """A book with the batch's players in it, and the keys under which Postgres knows them.

    Attributes:
        book: The locked ratings, and all else that decides what the batch's events do to them.
        pool_ids: The short key of each pool.
        rating_ids: The short key of each player of each pool, those who are new included.
        new: The players who have no row yet and get one.
        waiting_lifts: Lifts whose sanction had not come, by the sanction's id.
        bests: Of the entries that the batch closes, the best rating that each entrant has had of late, by tournament.
    """

    book: Book
    pool_ids: Mapping[str, int]
    rating_ids: dict[Player, int] = field(default_factory=dict)
    new: frozenset[Player] = frozenset()
    waiting_lifts: Mapping[str, Lift] = field(default_factory=dict)
    bests: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


async def load(
    connection: PoolConnectionProxy[Any], policies: PolicySet, references: References, events: Sequence[Event]
) -> Loaded:
    """Lock the players of the events and load what applying them needs."""
    matches = [event for event in events if isinstance(event, Match)]
    others = [event for event in events if not isinstance(event, Match)]
    verdicts = {event.player_id for event in others if isinstance(event, Sanction | Lift)}
    if verdicts:
        await connection.execute(_RULEBOOK["lock_verdicts"], list(verdicts))
    playing = {(match.pool, side.id) for match in matches for side in match.sides}
    playing |= {(event.pool, player) for event in others if isinstance(event, Void) for player in event.players}
    players = playing | await _players_named(connection, others) if others else playing
    loaded = Loaded(Book(policies), await references.pool_ids({pool for pool, _ in players}))
    await _lock_players(connection, loaded, players)
    loaded.new = frozenset(playing - loaded.rating_ids.keys())
    if loaded.new:
        ids = await connection.fetch(_BATCH["new_rating_ids"], len(loaded.new))
        loaded.rating_ids.update(zip(sorted(loaded.new), (row[0] for row in ids), strict=True))
    await _load_pair_times(connection, policies, loaded, matches)
    loaded.waiting_lifts = await load_rules(connection, references, loaded.book, matches, others)
    loaded.bests = await load_tournaments(connection, policies, loaded.book, events)
    return loaded


async def _players_named(connection: PoolConnectionProxy[Any], others: Sequence[Event]) -> set[Player]:
    """Give the players that events move or ask about which are neither a match nor a void."""
    players: set[Player] = set()
    everywhere: set[str] = set()
    lifted = [event.sanction_id for event in others if isinstance(event, Lift)]
    for event in others:
        if isinstance(event, EntriesClosed):
            players.update((event.pool, entrant) for entrant in event.entrants)
        elif isinstance(event, Sanction) and event.kind is SanctionKind.RESET:
            if event.pool is None:
                everywhere.add(event.player_id)
            else:
                players.add((event.pool, event.player_id))
    if everywhere:
        rows = await connection.fetch(_RULEBOOK["pools_played"], list(everywhere))
        players.update((pool, player) for pool, player in rows)
    if lifted:
        rows = await connection.fetch(_RULEBOOK["pools_reset"], lifted)
        players.update((pool, player) for pool, player in rows)
    return players


async def _lock_players(connection: PoolConnectionProxy[Any], loaded: Loaded, players: set[Player]) -> None:
    """Lock the players who have a row, and put them into the book."""
    await _lock(connection, "lock_ratings", loaded, players)
    # Two workers who share players wait for each other in every batch. Without a second look, the one who waits would
    # take for new whom the other has just recorded, fail, and find the other at work again, as long as new ones come.
    if missing := players - loaded.rating_ids.keys():
        await _lock(connection, "lock_newcomers", loaded, missing)


async def _lock(
    connection: PoolConnectionProxy[Any], statement: str, loaded: Loaded, players: Iterable[Player]
) -> None:
    asked = list(players)
    pool_ids = loaded.pool_ids
    pool_names = {pool_ids[pool]: pool for pool, _ in asked}
    rows = await connection.fetch(
        _BATCH[statement], [pool_ids[pool] for pool, _ in asked], [player for _, player in asked]
    )
    for rating_id, pool_id, player_id, *state in rows:
        pool = pool_names[pool_id]
        loaded.rating_ids[pool, player_id] = rating_id
        loaded.book.put_state(pool, player_id, new(PlayerState, state))


async def _load_pair_times(
    connection: PoolConnectionProxy[Any], policies: PolicySet, loaded: Loaded, matches: Sequence[Match]
) -> None:
    """Tell the book when the pairs played rated matches, as far as their windows reach."""
    reaches: dict[tuple[str, str, str], tuple[datetime, datetime]] = {}
    for match in matches:
        pool, finished_at = match.pool, match.finished_at
        window = policies.at(pool, finished_at).pair_window
        if window is None:
            continue
        one, other = match.sides
        pair = pair_of(pool, one.id, other.id)
        if (pool, one.id) in loaded.new or (pool, other.id) in loaded.new:
            continue  # who is new has met nobody
        since = _before(finished_at, window)
        reach = reaches.get(pair)
        if reach is not None:
            earliest, latest = reach
            reaches[pair] = (min(earliest, since), max(latest, finished_at))
        else:
            reaches[pair] = (since, finished_at)
    if not reaches:
        return
    pairs = list(reaches)
    rows = await connection.fetch(
        _BATCH["pair_times"],
        [loaded.rating_ids[pool, lo] for pool, lo, _ in pairs],
        [loaded.rating_ids[pool, hi] for pool, _, hi in pairs],
        [since for since, _ in reaches.values()],
        [until for _, until in reaches.values()],
    )
    times: dict[int, list[datetime]] = {}
    for place, finished_at in rows:
        times.setdefault(place, []).append(finished_at)
    for place, finished in times.items():
        loaded.book.put_pair_times(*pairs[place - 1], finished)


def _before(time: datetime, window: timedelta) -> datetime:
    try:
        return time - window
    except OverflowError:  # year 1 has no day before it
        return _FIRST_TIME
