"""A match and its explanation, as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from worker.cli.output import cell, sentence, table
from worker.cli.render import when

if TYPE_CHECKING:
    from rich.console import Console

    from worker.cli.explanation import Explanation
    from worker.ledger.reads import MatchRecord, SideRecord
    from worker.rating.model import Change, Match

_STRESSED = {"change": "bold", "after": "bold"}


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
        "players": [_player_json(side, explanation) for side in record.sides],
        "consistent": not explanation.contradictions,
        "contradictions": explanation.contradictions,
    }


def print_explanation(out: Console, record: MatchRecord, explanation: Explanation) -> None:
    """Print a match, then for each player every number and where it came from."""
    match = record.match
    sentence(out, f"Match {match.match_id} in {match.pool}: {_result(match)}", style="bold")
    kind = match.match_type + (f", {match.tournament_id}" if match.tournament_id else "")
    verified = "verified" if match.verified else "not verified"
    sentence(out, f"Finished {when(match.finished_at)}; {kind}; {verified}.")
    source = f"topic {record.topic}, partition {record.partition}, offset {record.offset}"
    sentence(out, f"Recorded {when(record.recorded_at)}, from {source}.")
    if record.policy_ref is not None:
        ref = record.policy_ref
        sentence(out, f"Rated by policy {ref.name}, version {ref.version} (digest {ref.digest}).")
    if explanation.unrated is not None:
        sentence(out, f"Not rated: {explanation.unrated}.", style="bold yellow")
    if record.void is not None:
        void = record.void
        sentence(out, f"Voided as of {when(void.voided_at)} by {void.by}: {void.why}", style="bold yellow")
    for side in explanation.sides:
        shown = table("", "", "why", title=side.player_id)
        for line in side.lines:
            shown.add_row(cell(line.name), cell(line.value, _STRESSED.get(line.name, "")), cell(line.why))
        out.print(shown)
    if explanation.sides and not explanation.contradictions:
        sentence(out, "Rated again from what the ledger keeps: the same, to the last bit.")
    for text in explanation.contradictions:
        sentence(out, f"CONTRADICTION: {text}", style="bold red")


def _player_json(side: SideRecord, explanation: Explanation) -> dict[str, Any]:
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


def _result(match: Match) -> str:
    one, other = match.sides
    if one.score == other.score:
        return f"{one.id} and {other.id} drew"
    winner, loser = (one, other) if one.score > other.score else (other, one)
    return f"{winner.id} beat {loser.id}"
