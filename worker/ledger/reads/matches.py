"""A match with everything that its numbers came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from worker.ledger import sql
from worker.ledger.reads.players import factors_of
from worker.ledger.stored import void_of
from worker.rating.model import Change, Match, PlayerState, PolicyRef, Reason, Side
from worker.rating.policy import Policy
from worker.rating.rate import ACTIVITY_BOOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worker.ledger.reads.players import Connection
    from worker.rating.model import Void

_SQL = sql.load("reads.sql")
_FIRST_TIME = datetime.min.replace(tzinfo=UTC)
_STORED = (
    *("version", "before", "after", "delta", "expected", "score", "k", "k_rule", "weight", "games", "occurred_at"),
    *("cause", "opponent_before"),
)


@dataclass(frozen=True, slots=True)
class SideRecord:
    """What a match gave one player, with what stood before it.

    Attributes:
        side: The player's part in it.
        changes: One, two where a floor restarted the player, none where the match is not rated.
        before: Where the player stood when the match was rated, as far as rating it asks for; None if it is not rated.
        absence: The steps of inactivity that came due right before it.
        reversal: What a void took back or gave back; None where the match stands.
    """

    side: Side
    changes: tuple[Change, ...] = ()
    before: PlayerState | None = None
    absence: tuple[Change, ...] = ()
    reversal: Change | None = None


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """A recorded match with everything that its numbers came from.

    Attributes:
        match: Its sides by player id.
        topic: Where it came from, with its `partition` and `offset`.
        partition: See `topic`.
        offset: See `topic`.
        recorded_at: When the ledger took it.
        unrated_reason: Why it is not rated, None if it is.
        sides: By player id.
        policy: The version that rated it, as the ledger keeps it; None where it is not rated.
        policy_ref: What the ledger calls that version.
        earlier_pair_games: The pair's rated matches in the policy's window before this one, when it was rated.
        unrated_player: Whom the reason is about, None where it is the match as a whole.
        void: What nullified it; None where it stands.
    """

    match: Match
    topic: str
    partition: int
    offset: int
    recorded_at: datetime
    unrated_reason: str | None
    sides: tuple[SideRecord, SideRecord]
    policy: Policy | None = None
    policy_ref: PolicyRef | None = None
    earlier_pair_games: int = 0
    unrated_player: str | None = None
    void: Void | None = None


async def match_record(connection: Connection, match_id: str) -> MatchRecord | None:
    """Give a match with all that its numbers came from, None for one that is not recorded.

    Several statements: call it in one repeatable-read transaction.
    """
    row = await connection.fetchrow(_SQL["match"], match_id)
    if row is None:
        return None
    match = _match(row)
    one, other = match.sides
    sides = SideRecord(one), SideRecord(other)
    policy, ref, earlier = None, None, 0
    if row["unrated_reason"] is None:
        sides = await _side(connection, row, match, 0), await _side(connection, row, match, 1)
        policy, ref = await _policy(connection, row)
        earlier = await _earlier_pair_games(connection, row, policy)
    return MatchRecord(
        match=match,
        topic=row["topic"],
        partition=row["source_partition"],
        offset=row["source_offset"],
        recorded_at=row["recorded_at"],
        unrated_reason=row["unrated_reason"],
        sides=sides,
        policy=policy,
        policy_ref=ref,
        earlier_pair_games=earlier,
        unrated_player=row["unrated_player"],
        void=void_of(row["void"]) if row["void"] is not None and row["voided"] else None,
    )


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


async def _side(connection: Connection, row: Mapping[str, Any], match: Match, place: int) -> SideRecord:
    name = ("lo", "hi")[place]
    rating_id, version = row[f"{name}_rating_id"], row[f"{name}_version"]
    rows = await connection.fetch(
        _SQL["changes_of_match"], rating_id, version, row[f"{name}_steps"], match.match_id, row["voided"]
    )
    entries = [_change(match, place, entry) for entry in rows]
    given = tuple(change for change in entries if change.version >= version and change.reason is not Reason.VOID)
    peak = await connection.fetchval(_SQL["peak_before"], rating_id, version)
    first = given[0]
    before = PlayerState(
        first.before,
        first.version - 1,
        first.games - 1,
        peak=first.before if peak is None else peak,
        boost=int(ACTIVITY_BOOST in first.adjusted),
    )
    return SideRecord(
        match.sides[place],
        given,
        before,
        absence=tuple(change for change in entries if change.version < version),
        reversal=next((change for change in entries if change.reason is Reason.VOID), None),
    )


def _change(match: Match, place: int, row: Mapping[str, Any]) -> Change:
    policy, ref = _policy_of(row)
    reason = Reason(row["reason"])
    absent = reason is Reason.INACTIVITY  # no match gave it
    return Change(
        pool=match.pool,
        player_id=match.sides[place].id,
        opponent_id=None if absent else match.sides[1 - place].id,
        match_id=None if absent else match.match_id,
        reason=reason,
        provisional=policy.provisional(row["games"]),
        title_before=policy.title(row["before"]),
        title_after=policy.title(row["after"]),
        policy=ref,
        factors=factors_of(row),
        adjusted=tuple(row["adjusted"] or ()),
        **{name: row[name] for name in _STORED},
    )


async def _policy(connection: Connection, row: Mapping[str, Any]) -> tuple[Policy, PolicyRef]:
    """Give the policy that rated the match: that of its own change."""
    arguments = row["lo_rating_id"], row["lo_version"], 0, row["match_id"], False
    return _policy_of((await connection.fetch(_SQL["changes_of_match"], *arguments))[0])


def _policy_of(row: Mapping[str, Any]) -> tuple[Policy, PolicyRef]:
    ref = PolicyRef(row["policy_name"], row["policy_version"], row["policy_digest"])
    return Policy.model_validate_json(orjson.dumps(row["policy_body"])), ref


async def _earlier_pair_games(connection: Connection, row: Mapping[str, Any], policy: Policy) -> int:
    window = policy.pair_window
    if window is None:
        return 0
    at = row["finished_at"]
    since = at - min(window, at - _FIRST_TIME)
    pair = (row["lo_rating_id"], row["hi_rating_id"])
    count: int = await connection.fetchval(_SQL["earlier_pair_games"], *pair, since, at, row["lo_version"])
    return count
