"""Leaderboards and players, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from worker.cli.output import cell, counted, plain, sentence, table
from worker.events import whole_points
from worker.ledger.reads.explanation import RESULTS, number, signed

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from worker.ledger.reads import Page, Standing, Step

_NOBODY_YET = (
    "nobody is on the leaderboard. Not on it are players with too few rated games (provisional), absent or suspended "
    "ones; `rating-worker player` shows them."
)


def print_page(out: Console, pool: str, page: Page, *, first: bool = True) -> None:
    """Print a leaderboard's page, the first of it or a later one, and how to get the next."""
    numbers = ("#", "rating", "games", "W/D/L")
    others = (*numbers[2:], "last played")
    shown = table("#", "player", "rating", "title", *others, numbers=numbers, whole=(*numbers, *others), title=pool)
    for one in page.standings:
        shown.add_row(
            str(one.rank),
            cell(one.player_id),
            str(whole_points(one.rating)),
            cell(one.title),
            str(one.games),
            f"{one.wins}/{one.draws}/{one.losses}",
            "never" if one.last_played_at is None else f"{one.last_played_at:%Y-%m-%d}",
        )
    if page.standings:
        out.print(shown)
    else:
        sentence(out, f"{pool}: {_NOBODY_YET if first else 'that was everybody.'}")
    if page.after is not None:
        sentence(out, f"More: --after {page.after}")


def print_player(out: Console, standing: Standing, steps: list[Step]) -> None:
    """Print a player's standing in a pool and the last changes there."""
    one = standing
    state = ", provisional" if one.provisional else ""
    if one.inactive:
        state += ", inactive"
    elif one.requalify:
        state += f", {counted(one.requalify, 'game')} to requalify"
    out.print(
        Text.assemble(
            (plain(one.player_id), "bold"),
            f" in {plain(one.pool)}: ",
            (str(whole_points(one.rating)), "bold"),
            f", {plain(one.title)}{state}. {one.wins} won, {one.draws} drawn, {one.losses} lost; "
            f"{counted(one.games, 'rated game')}; last played {when(one.last_played_at)}.",
        ),
        soft_wrap=True,
    )
    if not steps:
        return
    numbers = ("before", "change", "after")
    shown = table(
        *("when (UTC)", "opponent", "", *numbers, "match"), numbers=numbers, whole=("when (UTC)", "", *numbers)
    )
    for step in steps:
        result = step.reason.value if step.score is None else RESULTS[step.score]
        shown.add_row(
            f"{step.occurred_at:%Y-%m-%d %H:%M}",
            cell(step.opponent_id or ""),
            result if step.weight == 1 else f"{result} × {number(step.weight)}",
            str(whole_points(step.before)),
            signed(step.delta),
            str(whole_points(step.after)),
            cell(step.match_id or ""),
        )
    out.print(shown)


def when(time: datetime | None) -> str:
    """Give a time in UTC, to the second; "never" for none."""
    return "never" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"
