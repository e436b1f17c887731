"""What is read from the ledger, as JSON has it: the same shapes on the command line and on the worker's page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from worker.events import whole_points
from worker.ledger.reads.verdicts import SanctionState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from worker.ledger.reads.explanation import Explanation
    from worker.ledger.reads.matches import MatchRecord, SideRecord
    from worker.ledger.reads.players import Page, Standing, Step
    from worker.ledger.reads.verdicts import SanctionRecord
    from worker.rating.model import Change


def page_json(pool: str, page: Page) -> dict[str, Any]:
    """Give a leaderboard's page."""
    keys = ("rank", "player_id", "rating", "title", "games", "wins", "draws", "losses", "last_played_at")
    players = [
        {"display_rating": whole_points(one.rating), **{key: getattr(one, key) for key in keys}}
        for one in page.standings
    ]
    return {"pool": pool, "players": players, "after": None if page.after is None else str(page.after)}


def player_json(
    player_id: str,
    found: Iterable[tuple[Standing, list[Step]]],
    imposed: Iterable[SanctionRecord],
    now: datetime,
    pool: str | None = None,
) -> dict[str, Any]:
    """Give a player: what sanctions are in force, and in each pool the standing and the last changes."""
    return {
        "player_id": player_id,
        "sanctions_in_force": [sanction_json(one, now) for one in in_force(imposed, now, pool)],
        "pools": [standing_json(*one) for one in found],
    }


def standing_json(standing: Standing, steps: Iterable[Step]) -> dict[str, Any]:
    """Give a player's standing in a pool and the last changes there."""
    kept = {name: value for name, value in asdict(standing).items() if name not in {"rating_id", "rank", "player_id"}}
    return {
        **kept,
        "display_rating": whole_points(standing.rating),
        "history": [{**asdict(step), "display_delta": whole_points(step.delta)} for step in steps],
    }


def sanctions_json(player_id: str, found: Sequence[SanctionRecord], now: datetime) -> dict[str, Any]:
    """Give a player's sanctions."""
    return {"player_id": player_id, "as_of": now, "sanctions": [sanction_json(one, now) for one in found]}


def sanction_json(record: SanctionRecord, now: datetime) -> dict[str, Any]:
    """Give one sanction; of no player, as it stands with one."""
    one, state = record.sanction, record.state(now)
    return {
        "sanction_id": one.sanction_id,
        "kind": one.kind,
        "pool": one.pool,
        "starts_at": one.starts_at,
        "ends_at": one.ends_at,
        "in_force": state is SanctionState.IN_FORCE,
        "state": state,
        "why": one.why,
        "by": one.by,
        "recorded_at": record.recorded_at,
        "lifted": None if record.lifting is None else asdict(record.lifting),
        "changes": [asdict(change) for change in record.changes],
    }


def in_force(found: Iterable[SanctionRecord], now: datetime, pool: str | None) -> list[SanctionRecord]:
    """Give those that are in force, in every pool or in one."""
    return [
        one
        for one in found
        if one.state(now) is SanctionState.IN_FORCE and (pool is None or one.sanction.pool in {None, pool})
    ]


def explanation_json(record: MatchRecord, explanation: Explanation) -> dict[str, Any]:
    """Give an explanation with the ledger's exact numbers."""
    match = record.match
    return {
        "match_id": match.match_id,
        "pool": match.pool,
        "finished_at": match.finished_at,
        "recorded_at": record.recorded_at,
        "match_type": match.match_type,
        "tournament_id": match.tournament_id,
        "verified": match.verified,
        "source": {"topic": record.topic, "partition": record.partition, "offset": record.offset},
        "rated": record.unrated_reason is None,
        "unrated_reason": record.unrated_reason,
        "why_unrated": explanation.unrated,
        "void": None if record.void is None else record.void._asdict(),
        "unrated_player": record.unrated_player,
        "policy": None if record.policy_ref is None else record.policy_ref._asdict(),
        "players": [_side_json(side, explanation) for side in record.sides],
        "consistent": not explanation.contradictions,
        "contradictions": explanation.contradictions,
    }


def _side_json(side: SideRecord, explanation: Explanation) -> dict[str, Any]:
    lines = [line for one in explanation.sides if one.player_id == side.side.id for line in one.lines]
    return {
        "player_id": side.side.id,
        "score": side.side.score,
        "changes": [_change_json(change) for change in _all_changes(side)],
        "lines": [line._asdict() for line in lines],
    }


def _all_changes(side: SideRecord) -> tuple[Change, ...]:
    return (*side.absence, *side.changes, *((side.reversal,) if side.reversal else ()))


def _change_json(change: Change) -> dict[str, Any]:
    said_above = {"pool", "player_id", "match_id", "policy"}
    fields = {name: value for name, value in change._asdict().items() if name not in said_above}
    return fields | {"factors": [asdict(factor) for factor in change.factors]}
