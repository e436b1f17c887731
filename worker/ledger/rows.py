"""Rows of the bulk tables; their fields are the columns that the batch transaction writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from worker.ledger.values import Publication
from worker.rating.model import Change, Factor, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from worker.ledger.references import References
    from worker.rating.model import PlayerState
    from worker.rating.policy import Policy


class RatingRow(NamedTuple):
    """A row of `ratings`."""

    rating_id: int
    pool_id: int
    player_id: str
    rating: float
    version: int
    games: int
    wins: int
    draws: int
    losses: int
    peak: float
    provisional: bool
    title: str
    last_played_at: datetime | None

    @classmethod
    def of(cls, rating_id: int, pool_id: int, player_id: str, state: PlayerState, policy: Policy) -> RatingRow:
        """Make the row of a player whose state stands under `policy`."""
        return cls(
            rating_id,
            pool_id,
            player_id,
            state.rating,
            state.version,
            state.games,
            state.wins,
            state.draws,
            state.losses,
            state.peak,
            policy.provisional(state.games),
            policy.title(state.rating),
            state.last_played_at,
        )

    def without_key(self) -> tuple[Any, ...]:
        """Give what an update sends: the rating_id, then what can change."""
        return (self.rating_id, *self[3:])


class MatchRow(NamedTuple):
    """A row of `matches`; lo and hi are the players by player id."""

    match_id: str
    source_id: int
    source_partition: int
    source_offset: int
    digest: bytes
    lo_rating_id: int
    hi_rating_id: int
    lo_version: int | None
    hi_version: int | None
    lo_score: float
    finished_at: datetime
    match_type: str
    tournament_id: str | None
    verified: bool
    attributes: dict[str, int] | None
    unrated_reason: str | None


class LedgerRow(NamedTuple):
    """A row of `ledger`."""

    rating_id: int
    version: int
    opponent_rating_id: int
    match_id: str
    reason: str
    before: float
    after: float
    delta: float
    expected: float | None
    score: float | None
    k: float | None
    k_rule: str | None
    weight: float
    factors: list[list[Any]] | None
    adjusted: list[str] | None
    games: int
    policy_id: int
    occurred_at: datetime

    @classmethod
    def of(cls, change: Change, rating_id: int, opponent_rating_id: int, policy_id: int) -> LedgerRow:
        """Make the row of a change."""
        return cls(
            rating_id,
            change.version,
            opponent_rating_id,
            change.match_id,
            change.reason,
            change.before,
            change.after,
            change.delta,
            change.expected,
            change.score,
            change.k,
            change.k_rule,
            change.weight,
            [[factor.name, factor.value, factor.why] for factor in change.factors] or None,
            list(change.adjusted) or None,
            change.games,
            policy_id,
            change.occurred_at,
        )


def change_of(row: Mapping[str, Any], references: References) -> Change:
    """Make the change again that a ledger row (joined with its names) was written from, equal in every field."""
    policy = references.policy(row["policy_id"])
    return Change(
        pool=row["pool"],
        player_id=row["player_id"],
        opponent_id=row["opponent_id"],
        match_id=row["match_id"],
        reason=Reason(row["reason"]),
        version=row["version"],
        before=row["before"],
        after=row["after"],
        delta=row["delta"],
        expected=row["expected"],
        score=row["score"],
        k=row["k"],
        k_rule=row["k_rule"],
        weight=row["weight"],
        factors=tuple(Factor(*factor) for factor in row["factors"] or ()),
        adjusted=tuple(row["adjusted"] or ()),
        games=row["games"],
        provisional=policy.provisional(row["games"]),
        title_before=policy.title(row["before"]),
        title_after=policy.title(row["after"]),
        policy=policy.ref,
        occurred_at=row["occurred_at"],
    )


def publication_of(row: Mapping[str, Any], references: References, traceparent: str | None) -> Publication:
    """Make what is published of a ledger row, under the trace that its match carries this time."""
    return Publication(change_of(row, references), traceparent)


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Turn rows into the column arrays that a bulk statement unnests."""
    return [list(column) for column in zip(*rows, strict=True)]
