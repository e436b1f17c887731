"""A match and its explanation, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.cli.output import cell, sentence, table
from worker.cli.render import when

if TYPE_CHECKING:
    from rich.console import Console

    from worker.ledger.reads import MatchRecord
    from worker.ledger.reads.explanation import Explanation
    from worker.rating.model import Match

_STRESSED = {"change": "bold", "after": "bold"}


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


def _result(match: Match) -> str:
    one, other = match.sides
    if one.score == other.score:
        return f"{one.id} and {other.id} drew"
    winner, loser = (one, other) if one.score > other.score else (other, one)
    return f"{winner.id} beat {loser.id}"
