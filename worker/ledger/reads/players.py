"""What people and pages read from the ledger: leaderboards, players, histories, matches with all that explains them.

Every function takes a connection whose jsonb comes decoded (`ledger.open_pool` gives such), and reads by key: a page at
most, never a whole table.
"""

from __future__ import annotations

import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from worker.ledger import sql
from worker.rating.model import Change, Factor, Match, PlayerState, PolicyRef, Reason, Side
from worker.rating.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

    Connection = asyncpg.Connection[Any] | PoolConnectionProxy[Any]

_SQL = sql.load("reads.sql")
_FIRST_TIME = datetime.min.replace(tzinfo=UTC)
_LAST_VERSION = 2**31 - 1
_STORED = ("version", "before", "after", "delta", "expected", "score", "k", "k_rule", "weight", "games", "occurred_at")


class Cursor(NamedTuple):
    """A place in a leaderboard: what stands there, and its rank when the page was read."""

    rating: float
    rating_id: int
    rank: int

    def __str__(self) -> str:
        return urlsafe_b64encode(orjson.dumps(list(self))).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read a cursor that a page gave.

        Raises:
            ValueError: It is none.
        """
        try:
            rating, rating_id, rank = orjson.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            cursor = cls(float(rating), int(rating_id), int(rank))
        except (ValueError, TypeError, Base64Error):
            raise ValueError(f"{text!r} is no cursor that a leaderboard gave") from None
        if not 0 <= cursor.rating_id < 2**63:
            raise ValueError(f"{text!r} is no cursor that a leaderboard gave")
        return cursor


TOP = Cursor(math.inf, 0, 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a player stands in a pool.

    Attributes:
        version: How many changes the player's chain has.
        peak: The highest rating ever held after a rated game, or the start.
        rank: The place in the leaderboard, from 1; None outside one.
    """

    pool: str
    player_id: str
    rating: float
    title: str
    games: int
    wins: int
    draws: int
    losses: int
    last_played_at: datetime | None
    version: int
    peak: float
    provisional: bool
    rating_id: int
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a leaderboard, and where the next one starts; None after the last."""

    standings: list[Standing]
    after: Cursor | None


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a player's rating, as a history shows it; without match and opponent where no match gave it."""

    version: int
    match_id: str | None
    opponent_id: str | None
    reason: Reason
    before: float
    after: float
    delta: float
    score: float | None
    weight: float
    factors: tuple[Factor, ...]
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class SideRecord:
    """What a match gave one player, with what stood before it.

    Attributes:
        changes: One, two where a floor restarted the player, none where the match is not rated.
        before: Where the player stood when the match was rated, as far as rating it asks for; None if it is not rated.
    """

    side: Side
    changes: tuple[Change, ...]
    before: PlayerState | None


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """A recorded match with everything that its numbers came from.

    Attributes:
        sides: By player id.
        policy: The version that rated it, as the ledger keeps it; None where it is not rated.
        policy_ref: What the ledger calls that version.
        earlier_pair_games: The pair's rated matches in the policy's window before this one, when it was rated.
    """

    match: Match
    topic: str
    partition: int
    offset: int
    recorded_at: datetime
    unrated_reason: str | None
    sides: tuple[SideRecord, SideRecord]
    policy: Policy | None
    policy_ref: PolicyRef | None
    earlier_pair_games: int


async def pools(connection: Connection) -> list[str]:
    """Name the pools that have ever been played in."""
    return [row["name"] for row in await connection.fetch(_SQL["pools"])]


async def leaderboard(connection: Connection, pool: str, *, limit: int, after: Cursor = TOP) -> Page | None:
    """Give a page of a pool's leaderboard: those who are no longer provisional, by rating.

    Args:
        connection: To the ledger.
        pool: The pool.
        limit: How many players at most.
        after: Where the page before ended.

    Returns:
        The page, None where nobody ever played in the pool.
    """
    pool_id = await connection.fetchval(_SQL["pool_id"], pool)
    if pool_id is None:
        return None
    rows = await connection.fetch(_SQL["leaderboard_page"], pool_id, after.rating, after.rating_id, limit + 1)
    page = [Standing(pool=pool, rank=after.rank + place, **row) for place, row in enumerate(rows[:limit], start=1)]
    last = page[-1] if len(rows) > limit else None
    return Page(page, None if last is None else Cursor(last.rating, last.rating_id, last.rank or 0))


async def standings(connection: Connection, player_id: str, pool: str | None = None) -> list[Standing]:
    """Give where a player stands, in every pool or in one; empty for one whom the ledger does not know."""
    return [Standing(**row) for row in await connection.fetch(_SQL["standings"], player_id, pool)]


async def history(
    connection: Connection, rating_id: int, *, limit: int, before_version: int = _LAST_VERSION
) -> list[Step]:
    """Give a player's changes in a pool, newest first, starting before a version."""
    rows = await connection.fetch(_SQL["history_page"], rating_id, before_version, limit)
    return [Step(**{**row, "reason": Reason(row["reason"]), "factors": _factors(row)}) for row in rows]


async def match_record(connection: Connection, match_id: str) -> MatchRecord | None:
    """Give a match with all that its numbers came from, None for one that is not recorded.

    Several statements: call it in one repeatable-read transaction.
    """
    row = await connection.fetchrow(_SQL["match"], match_id)
    if row is None:
        return None
    match = _match(row)
    policy, ref, earlier = None, None, 0
    sides = [SideRecord(side, (), None) for side in match.sides]
    if row["unrated_reason"] is None:
        chains = [(row[f"{name}_rating_id"], row[f"{name}_version"]) for name in ("lo", "hi")]
        entries = [await connection.fetch(_SQL["changes_of_match"], *chain, match_id) for chain in chains]
        peaks = [await connection.fetchval(_SQL["peak_before"], *chain) for chain in chains]
        rated_by = entries[0][0]
        policy = Policy.model_validate_json(orjson.dumps(rated_by["policy_body"]))
        ref = PolicyRef(rated_by["policy_name"], rated_by["policy_version"], rated_by["policy_digest"])
        earlier = await _earlier_pair_games(connection, row, policy)
        sides = [
            _side_record(match, place, entries[place], peaks[place], policy, ref) for place in range(len(match.sides))
        ]
    return MatchRecord(
        match,
        topic=row["topic"],
        partition=row["source_partition"],
        offset=row["source_offset"],
        recorded_at=row["recorded_at"],
        unrated_reason=row["unrated_reason"],
        sides=(sides[0], sides[1]),
        policy=policy,
        policy_ref=ref,
        earlier_pair_games=earlier,
    )


async def policies(connection: Connection) -> list[PolicyRef]:
    """Name every policy version that the ledger knows."""
    return [PolicyRef(row["name"], row["version"], row["digest"]) for row in await connection.fetch(_SQL["policies"])]


async def missing_rights(connection: Connection) -> list[str]:
    """Name what the worker must do in a migrated database and this role may not."""
    return [row["lacking"] for row in await connection.fetch(_SQL["missing_rights"])]


async def outcomes(connection: Connection, match_ids: Sequence[str]) -> dict[str, int]:
    """Count given matches by what became of them: the reason of those not rated, the empty text for those rated."""
    return {row["unrated_reason"]: row["matches"] for row in await connection.fetch(_SQL["outcomes"], match_ids)}


def _match(row: Mapping[str, Any]) -> Match:
    born = row["attributes"] or {}
    return Match(
        row["match_id"],
        row["pool"],
        row["finished_at"],
        (
            Side(row["lo_player_id"], row["lo_score"], born.get("lo_birth_year")),
            Side(row["hi_player_id"], 1.0 - row["lo_score"], born.get("hi_birth_year")),
        ),
        row["match_type"],
        row["tournament_id"],
        row["verified"],
    )


async def _earlier_pair_games(connection: Connection, row: Mapping[str, Any], policy: Policy) -> int:
    window = policy.pair_window
    if window is None:
        return 0
    at = row["finished_at"]
    since = at - min(window, at - _FIRST_TIME)
    pair = (row["lo_rating_id"], row["hi_rating_id"])
    count: int = await connection.fetchval(_SQL["earlier_pair_games"], *pair, since, at, row["lo_version"])
    return count


def _side_record(
    match: Match, place: int, entries: Sequence[Mapping[str, Any]], peak: float | None, policy: Policy, ref: PolicyRef
) -> SideRecord:
    side, opponent = match.sides[place], match.sides[1 - place]
    changes = tuple(
        Change(
            pool=match.pool,
            player_id=side.id,
            opponent_id=opponent.id,
            match_id=match.match_id,
            provisional=policy.provisional(row["games"]),
            title_before=policy.title(row["before"]),
            title_after=policy.title(row["after"]),
            policy=ref,
            reason=Reason(row["reason"]),
            factors=_factors(row),
            adjusted=tuple(row["adjusted"] or ()),
            **{name: row[name] for name in _STORED},
        )
        for row in entries
    )
    first = changes[0]
    peak = float(policy.start) if peak is None else peak
    return SideRecord(side, changes, PlayerState(first.before, first.version - 1, first.games - 1, peak=peak))


def _factors(row: Mapping[str, Any]) -> tuple[Factor, ...]:
    return tuple(Factor(*factor) for factor in row["factors"] or ())
