"""Rows of the bulk tables; their fields are the columns that the batch transaction writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from worker.rating.named import new

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from worker.rating.model import Change, Notice, PlayerState
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
    restarted: int
    idle_steps: int
    inactive: bool
    requalify: int
    boost: int

    @classmethod
    def of(cls, rating_id: int, pool_id: int, player_id: str, state: PlayerState, policy: Policy) -> RatingRow:
        """Make the row of a player whose state stands under `policy`."""
        return new(
            cls,
            (
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
                state.restarted,
                state.idle_steps,
                state.inactive,
                state.requalify,
                state.boost,
            ),
        )

    @property
    def marked(self) -> bool:
        """Whether an absence is still felt: few players' is, so that what marks it is left out for all others."""
        return bool(self.idle_steps or self.inactive or self.requalify or self.boost)

    def update(self) -> tuple[Any, ...]:
        """Give what an update sends: the rating_id, then what can change; the marks only of one who is marked."""
        return (self.rating_id, *self[3:]) if self.marked else (self.rating_id, *self[3:14])


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
    unrated_player: str | None
    lo_steps: int
    hi_steps: int


class LedgerRow(NamedTuple):
    """A row of `ledger`."""

    rating_id: int
    version: int
    opponent_rating_id: int | None
    match_id: str | None
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
    cause: str | None
    opponent_before: float | None

    @classmethod
    def of(cls, change: Change, rating_id: int, opponent_rating_id: int | None, policy_id: int) -> LedgerRow:
        """Make the row of a change."""
        return new(
            cls,
            (
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
                [[factor.name, factor.value, factor.why] for factor in change.factors] if change.factors else None,
                list(change.adjusted) if change.adjusted else None,
                change.games,
                policy_id,
                change.occurred_at,
                change.cause,
                change.opponent_before,
            ),
        )


class EventRow(NamedTuple):
    """A row of `events`."""

    event_id: str
    kind: str
    source_id: int
    source_partition: int
    source_offset: int
    digest: bytes
    body: dict[str, Any]
    changes: list[list[int]] | None


class SanctionRow(NamedTuple):
    """A row of `sanctions`, its fields in the order of a Sanction's; `taken` are the fields of each Taken."""

    sanction_id: str
    player_id: str
    kind: str
    starts_at: datetime
    ends_at: datetime | None
    pool: str | None
    why: str
    decided_by: str
    taken: list[list[Any]] | None = None


class TournamentRow(NamedTuple):
    """What an event says of a tournament; None is what it does not say."""

    tournament_id: str
    pool: str
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    finished_at: datetime | None = None
    standings: list[str] | None = None


class EntryRow(NamedTuple):
    """A row of `entries`: a seed, or a refusal."""

    tournament_id: str
    player_id: str
    place: int | None = None
    seeding_rating: float | None = None
    rating: float | None = None
    best: float | None = None
    refused: str | None = None


class NoticeRow(NamedTuple):
    """A row of `notices`, and the trace that it is published under."""

    notice: Notice
    origin: str | None
    traceparent: str | None

    @classmethod
    def of(cls, notice: Notice, origin: str | None, traceparent: str | None) -> NoticeRow:
        """Make the row of a notice, its body as JSON gives it back: what is published now and again is the same."""
        body = orjson.loads(orjson.dumps(notice.body, option=orjson.OPT_UTC_Z))
        return cls(replace(notice, body=body), origin, traceparent)

    def arguments(self) -> tuple[Any, ...]:
        """Give what `add_notices` takes."""
        notice = self.notice
        body = orjson.dumps(notice.body).decode()
        return notice.kind, notice.key, notice.subject, body, notice.occurred_at, self.origin


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Turn rows into the column arrays that a bulk statement unnests."""
    return [list(column) for column in zip(*rows, strict=True)]
