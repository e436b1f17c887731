"""What was read from the ledger, as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from worker.cli.explanation import RESULTS, number, rating, signed
from worker.cli.output import cell, plain, table
from worker.events import whole_points
from worker.rating.model import Reason

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from worker.cli.explanation import Explanation
    from worker.ledger.reads import MatchRecord, Page, Standing, Step

_REASONS = {Reason.FLOOR: "restart"}


def page_json(pool: str, page: Page) -> dict[str, Any]:
    """Give a leaderboard's page."""
    keys = ("rank", "player_id", "rating", "title", "games", "wins", "draws", "losses", "last_played_at")
    players = [
        {"display_rating": whole_points(one.rating), **{key: getattr(one, key) for key in keys}}
        for one in page.standings
    ]
    return {"pool": pool, "players": players, "after": None if page.after is None else str(page.after)}


def print_page(out: Console, pool: str, page: Page) -> None:
    """Print a leaderboard's page, and how to get the next."""
    numbers = ("#", "rating", "games", "won", "drawn", "lost")
    shown = table("#", "player", "rating", "title", *numbers[2:], "last played", numbers=numbers, title=plain(pool))
    for one in page.standings:
        shown.add_row(
            str(one.rank),
            cell(one.player_id),
            str(whole_points(one.rating)),
            cell(one.title),
            *map(str, (one.games, one.wins, one.draws, one.losses)),
            when(one.last_played_at),
        )
    if page.standings:
        out.print(shown)
    else:
        out.print(Text(f"{plain(pool)}: nobody more is established yet; those with few rated games are not listed."))
    if page.after is not None:
        out.print(Text(f"More: --after {page.after}"))


def standing_json(standing: Standing, steps: list[Step]) -> dict[str, Any]:
    """Give a player's standing in a pool and the last changes there."""
    kept = {name: value for name, value in asdict(standing).items() if name not in {"rating_id", "rank", "player_id"}}
    return {
        **kept,
        "display_rating": whole_points(standing.rating),
        "history": [{**asdict(step), "display_delta": whole_points(step.delta)} for step in steps],
    }


def print_player(out: Console, standing: Standing, steps: list[Step]) -> None:
    """Print a player's standing in a pool and the last changes there."""
    one = standing
    provisional = ", provisional" if one.provisional else ""
    out.print(
        Text.assemble(
            (plain(one.player_id), "bold"),
            f" in {plain(one.pool)}: ",
            (str(whole_points(one.rating)), "bold"),
            f", {plain(one.title)}{provisional}. {one.wins} won, {one.draws} drawn, {one.losses} lost; "
            f"{one.games} rated games; last played {when(one.last_played_at)}.",
        )
    )
    if not steps:
        return
    shown = table("when", "opponent", "", "before", "change", "after", "match", numbers=("before", "change", "after"))
    for step in steps:
        result = _REASONS.get(step.reason) or RESULTS.get(step.score if step.score is not None else -1.0, "")
        shown.add_row(
            when(step.occurred_at),
            cell(step.opponent_id),
            result if step.weight == 1 else f"{result} × {number(step.weight)}",
            str(whole_points(step.before)),
            signed(step.delta),
            str(whole_points(step.after)),
            cell(step.match_id),
        )
    out.print(shown)


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
        "policy": None if record.policy_ref is None else asdict(record.policy_ref),
        "players": [
            {
                "player_id": side.side.id,
                "score": side.side.score,
                "changes": [
                    {**change._asdict(), "factors": [asdict(factor) for factor in change.factors], "policy": None}
                    for change in side.changes
                ],
                "lines": [
                    line._asdict()
                    for explained in explanation.sides
                    if explained.player_id == side.side.id
                    for line in explained.lines
                ],
            }
            for side in record.sides
        ],
        "consistent": not explanation.contradictions,
        "contradictions": explanation.contradictions,
    }


def print_explanation(out: Console, record: MatchRecord, explanation: Explanation) -> None:
    """Print a match, then for each player every number and where it came from."""
    match = record.match
    one, other = match.sides
    result = {1.0: f"{one.id} beat {other.id}", 0.0: f"{other.id} beat {one.id}"}.get(
        one.score, f"{one.id} and {other.id} drew"
    )
    out.print(
        Text.assemble(("Match ", ""), (plain(match.match_id), "bold"), f" in {plain(match.pool)}: {plain(result)}")
    )
    kind = match.match_type + (f", {plain(match.tournament_id)}" if match.tournament_id else "")
    out.print(Text(f"Finished {when(match.finished_at)}; {kind}; {'verified' if match.verified else 'not verified'}."))
    out.print(
        Text(
            f"Recorded {when(record.recorded_at)}, from topic {record.topic}, partition {record.partition}, "
            f"offset {record.offset}."
        )
    )
    if record.policy_ref is not None:
        ref = record.policy_ref
        out.print(Text(f"Rated by policy {ref.name}, version {ref.version} (digest {ref.digest})."))
    if explanation.unrated is not None:
        out.print(Text.assemble(("Not rated", "bold yellow"), f": {plain(explanation.unrated)}."))
    for side in explanation.sides:
        shown = table("", "", "why", numbers=(), title=plain(side.player_id))
        for line in side.lines:
            shown.add_row(
                cell(line.name), cell(line.value, "bold" if line.name in {"change", "after"} else ""), cell(line.why)
            )
        out.print(shown)
    if explanation.sides and not explanation.contradictions:
        out.print(Text("Rated again from what the ledger keeps: the same, to the last bit."))
    for text in explanation.contradictions:
        out.print(Text(f"CONTRADICTION: {plain(text)}", style="bold red"))


def when(time: datetime | None) -> str:
    """Give a time in UTC, to the second; "never" for none."""
    return "never" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


__all__ = [
    "explanation_json",
    "page_json",
    "print_explanation",
    "print_page",
    "print_player",
    "rating",
    "standing_json",
    "when",
]
