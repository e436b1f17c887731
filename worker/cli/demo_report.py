"""What the demo found, as tables and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from worker.cli import render, render_match
from worker.cli.output import cell, sentence, table
from worker.generator import Kind
from worker.ledger.reads import shapes
from worker.rating.model import Reason

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from worker.ledger.reads import MatchRecord, Page
    from worker.ledger.reads.explanation import Explanation
    from worker.settings import Settings


@dataclass
class Report:
    """One run of the demo.

    Attributes:
        sent: Records by what they were meant to be.
        outcomes: Matches by why they were not rated; the empty text for those that were.
        dead_letters: By reason, as read back.
        changes: How many changes were read back, each once.
        twice: How many came again under an event id that was there before.
        throughput: Records a second while the worker worked the backlog off; None if another worker did.
        waits_ms: From sending a single match to seeing its changes, in milliseconds, ascending.
    """

    run: str
    settings: Settings
    sent: dict[Kind, int]
    outcomes: dict[str, int]
    dead_letters: Counter[str]
    changes: int
    twice: int
    throughput: float | None
    waits_ms: list[float]
    leaderboards: dict[str, Page] = field(default_factory=dict)
    explained: tuple[MatchRecord, Explanation] | None = None

    @property
    def rated(self) -> int:
        """How many matches moved ratings."""
        return self.outcomes.get("", 0)

    @property
    def unrated(self) -> dict[str, int]:
        """How many matches did not, by reason."""
        return {reason: count for reason, count in self.outcomes.items() if reason}

    def faults(self) -> Iterator[str]:
        """Say what must not be: a match that is lost, a change that came twice, a number that contradicts the rules."""
        recorded = sum(self.outcomes.values())
        if recorded != self.sent[Kind.MATCH]:
            yield f"{self.sent[Kind.MATCH]} matches were sent and {recorded} are recorded"
        if self.twice:
            yield f"{self.twice} changes came twice"
        if (dead := self.dead_letters.total()) != self.sent[Kind.BAD]:
            yield f"{self.sent[Kind.BAD]} bad records were sent and {dead} were dead-lettered"
        if self.explained is not None:
            yield from self.explained[1].contradictions

    def wait_ms(self, share: float) -> float | None:
        """Give the wait that so large a share of the single matches did not exceed."""
        if not self.waits_ms:
            return None
        return self.waits_ms[min(len(self.waits_ms) - 1, int(share * len(self.waits_ms)))]


def telling(changes: Iterable[dict[str, Any]]) -> str | None:
    """Choose a match that shows something: a win against the odds, weakened by repetition, that brought a title."""
    best: tuple[float, str] | None = None
    for change in changes:
        if change["reason"] != Reason.MATCH or change["expected"] is None:
            continue
        worth = (change["score"] - change["expected"]) * (change["score"] == 1.0)
        worth += 0.5 * any(factor["name"] == "repeat-pair" for factor in change["factors"])
        worth += 0.2 * (change["title_before"] != change["title_after"]) + 0.2 * (not change["provisional"])
        best = max(best or (worth, change["match_id"]), (worth, change["match_id"]))
    return None if best is None else best[1]


def as_json(report: Report) -> dict[str, Any]:
    """Give the report."""
    return {
        "run": report.run,
        "sent": dict(report.sent),
        "rated": report.rated,
        "unrated": report.unrated,
        "dead_lettered": dict(report.dead_letters),
        "changes": report.changes,
        "changes_twice": report.twice,
        "matches_per_second": report.throughput,
        "latency_ms": {"p50": report.wait_ms(0.5), "p99": report.wait_ms(0.99), "matches": len(report.waits_ms)},
        "leaderboards": [shapes.page_json(pool, page) for pool, page in report.leaderboards.items()],
        "explained": None if report.explained is None else shapes.explanation_json(*report.explained),
        "faults": list(report.faults()),
    }


def print_report(out: Console, report: Report) -> None:
    """Print the report."""
    shown = table("what became of the records", "records", numbers=("records",))
    shown.add_row("rated", str(report.rated))
    for reason, count in sorted(report.unrated.items()):
        shown.add_row(cell(f"recorded, not rated: {reason}"), str(count))
    shown.add_row("sent twice: the second one changed nothing", str(report.sent[Kind.REPEAT]))
    for reason, count in sorted(report.dead_letters.items()):
        shown.add_row(cell(f"dead-lettered: {reason}"), str(count))
    shown.add_section()
    shown.add_row("sent", str(sum(report.sent.values())))
    shown.add_row("rating changes read back, each once", str(report.changes))
    out.print(shown)
    for pool, page in report.leaderboards.items():
        out.print()
        render.print_page(out, pool, page)
    if report.explained is not None:
        out.print()
        render_match.print_explanation(out, *report.explained)
    out.print()
    for line in _speed(report):
        sentence(out, line)
    out.print()
    for line in _next(report):
        sentence(out, line)


def _speed(report: Report) -> Iterator[str]:
    if report.throughput is not None:
        yield f"Throughput: {report.throughput:,.0f} records a second, while one worker process worked the backlog off."
    p50, p99 = report.wait_ms(0.5), report.wait_ms(0.99)
    if p50 is not None and p99 is not None:
        yield (
            f"Latency: {p50:.0f} ms (p50), {p99:.0f} ms (p99) from sending a match to a consumer seeing its changes, "
            f"over {len(report.waits_ms)} matches sent one by one."
        )


def _next(report: Report) -> Iterator[str]:
    match_id = report.explained[0].match.match_id if report.explained else "MATCH_ID"
    page = next((page for page in report.leaderboards.values() if page.standings), None)
    player = page.standings[0].player_id if page else "PLAYER"
    yield "`make demo` stops its servers now, with all that is in them; `make dev` keeps some up, under steady traffic,"
    yield "and prints where to look in a browser: throughput, lag, leaderboards, a player's rating, a match explained."
    yield "Dashboards, alerts and the runbook are under deploy/."
    yield "On servers of your own, look further:"
    yield "  rating-worker leaderboard yi --limit 50"
    yield f"  rating-worker player {player}"
    yield f"  rating-worker explain {match_id}"
    yield "  rating-worker check"
