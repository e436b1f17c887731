"""Sanctions, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.cli.output import sentence
from worker.cli.render import when
from worker.events import whole_points
from worker.ledger.reads import SanctionState
from worker.ledger.reads.explanation import signed
from worker.ledger.reads.shapes import in_force
from worker.rating.model import Reason, SanctionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.console import Console

    from worker.ledger.reads import ResetChange, SanctionRecord

_NAMES = {
    SanctionKind.RESET: "Rating reset",
    SanctionKind.SUSPENSION: "Suspension",
    SanctionKind.TOURNAMENT_BAN: "Tournament ban",
}


def print_sanctions(out: Console, player_id: str, found: Sequence[SanctionRecord], now: datetime) -> None:
    """Print a player's sanctions, each with what became of it."""
    if not found:
        sentence(out, f"{player_id} has never been sanctioned.")
    for place, record in enumerate(found):
        if place:
            out.print()
        one, state = record.sanction, record.state(now)
        bold = "bold red" if state is SanctionState.IN_FORCE else "bold"
        sentence(out, f"{_NAMES[one.kind]} {one.sanction_id}, {_where(one.pool)}: {state}", style=bold)
        sentence(out, f"  {_time(record)}, by {one.by}: {one.why}")
        if (lifting := record.lifting) is not None:
            verb = "lifted" if lifting.at <= now else "will be lifted"
            sentence(out, f"  {verb} {when(lifting.at)} by {lifting.by}: {lifting.why}")
        for change in record.changes:
            sentence(out, f"  {_change(change)}")


def hint(player_id: str, found: Iterable[SanctionRecord], now: datetime, pool: str | None) -> str | None:
    """Say in one line what is in force against a player, in every pool or in one; None for nothing."""
    held = [
        f"{_NAMES[one.kind].lower()}, {_where(one.pool)}, {_end(record)}"
        for record in in_force(found, now, pool)
        for one in (record.sanction,)
    ]
    return f"In force: {'; '.join(held)}. `rating-worker sanctions {player_id}` says why." if held else None


def _where(pool: str | None) -> str:
    return "in every pool" if pool is None else f"in {pool}"


def _time(record: SanctionRecord) -> str:
    one = record.sanction
    if one.kind is SanctionKind.RESET:
        return f"as of {when(one.starts_at)}"
    if one.ends_at is None and record.lifting is not None:
        return f"from {when(one.starts_at)}"
    return f"from {when(one.starts_at)} {_end(record)}"


def _end(record: SanctionRecord) -> str:
    ends_at = record.sanction.ends_at
    return "until it is lifted" if ends_at is None else f"until {when(ends_at)}"


def _change(change: ResetChange) -> str:
    what = "given back" if change.reason is Reason.LIFT else "reset"
    points = signed(change.delta)
    return f"{what} in {change.pool}: {whole_points(change.before)} → {whole_points(change.after)} ({points})"
