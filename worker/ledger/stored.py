"""Values made again from what is stored, equal in every field to those that it was written from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from worker.rating.model import Change, Factor, Lift, Notice, NoticeKind, Reason, Void

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worker.ledger.references import References
    from worker.rating.model import Event


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
        cause=row["cause"],
        opponent_before=row["opponent_before"],
    )


def notice_of(row: Mapping[str, Any]) -> Notice:
    """Make the notice again that a row of `notices` was written from."""
    return Notice(NoticeKind(row["kind"]), row["key"], row["subject"], row["occurred_at"], row["body"])


def body_of(event: Event) -> dict[str, Any]:
    """Give an event's fields for `events.body`: times as RFC 3339 text, the rest as JSON has it."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in event._asdict().items()
    }


def void_of(body: Mapping[str, Any]) -> Void:
    """Make the void again that `body_of` was given."""
    fields = dict(body)
    voided_at = datetime.fromisoformat(fields.pop("voided_at"))
    one, other = fields.pop("players")
    return Void(**fields, voided_at=voided_at, players=(one, other))


def lift_of(body: Mapping[str, Any]) -> Lift:
    """Make the lift again that `body_of` was given."""
    fields = dict(body)
    lifted_at = datetime.fromisoformat(fields.pop("lifted_at"))
    return Lift(**fields, lifted_at=lifted_at)
