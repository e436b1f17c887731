"""Signals of manipulation and what stands behind them, as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker.cli.output import cell, sentence, table
from worker.cli.render import when
from worker.events import whole_points
from worker.ledger.reads import LATEST
from worker.ledger.reads.explanation import RESULTS, signed

if TYPE_CHECKING:
    from rich.console import Console

    from worker.cli.evidence import Case
    from worker.cli.review import Review
    from worker.ledger.reads import RatedGame

_MOST_SHOWN = 20


def review_json(player_id: str, found: Review) -> dict[str, Any]:
    """Give all that there is to look at."""
    return {
        "player_id": player_id,
        "now": [_case_json(case) for case in found.now],
        "published": [_case_json(case) for case in found.before],
        "more": found.more,
    }


def print_review(out: Console, player_id: str, found: Review) -> None:
    """Print all that there is to look at."""
    now, before, more = found
    if now:
        sentence(out, f"What the latest games of {player_id} look like now", style="bold underline")
    else:
        sentence(out, f"Nothing in the latest {LATEST} changes of {player_id}, in each pool, crosses a threshold now.")
    for case in now:
        _print_case(out, case)
    if before:
        out.print()
        sentence(out, f"What was published before about {player_id}, or names them", style="bold underline")
    elif not now:
        sentence(out, "Nothing was published about them.")
    for case in before:
        _print_case(out, case)
    if more:
        sentence(out, "There are older ones: --limit shows more.")
    if now or before:
        sentence(out, "A signal is no verdict. `rating-worker explain MATCH_ID` says what a match did, and why.")


def _print_case(out: Console, case: Case) -> None:
    out.print()
    sentence(out, f"{case.signal}: {case.player_id} in {case.pool}, {case.last_at:%Y-%m-%d}", style="bold")
    told = "not published yet" if case.published_at is None else f"published {when(case.published_at)}"
    name, version = case.policy
    sentence(out, f"{case.why}; {told}.")
    if case.measures:
        shown = table("figure", "found", f"flagged from ({name} {version})", numbers=("found",))
        for measure in case.measures:
            shown.add_row(*map(cell, measure))
        out.print(shown)
    else:
        sentence(out, f"The thresholds of {name} version {version} can't be read by this release.")
    _print_games(out, case)


def _print_games(out: Console, case: Case) -> None:
    several = case.opponent_id is None
    opponent = ("opponent",) if several else ()
    shown = table("finished (UTC)", *opponent, "rated", "result", "change", "match", numbers=("rated", "change"))
    for one in case.games[-_MOST_SHOWN:]:
        game = one.game
        shown.add_row(
            f"{game.finished_at:%Y-%m-%d %H:%M:%S}",
            *((cell(game.opponent_id),) if several else ()),
            f"{whole_points(game.before)}:{whole_points(game.opponent_before)}",
            RESULTS[game.score],
            signed(game.delta),
            cell(f"{one.match_id}{' (voided since)' if one.voided else ''}"),
        )
    if case.games:
        out.print(shown)
    if len(case.games) > _MOST_SHOWN:
        sentence(out, f"The latest {_MOST_SHOWN} of {len(case.games)} matches; --json has them all.")
    if not case.adds_up:
        sentence(out, "These matches are not all that the figures speak of: some are no longer among the latest.")


def _case_json(case: Case) -> dict[str, Any]:
    name, version = case.policy
    return {
        "signal": case.signal,
        "pool": case.pool,
        "player_id": case.player_id,
        "opponent_id": case.opponent_id,
        "day": f"{case.last_at:%Y-%m-%d}",
        "last_at": case.last_at,
        "published_at": case.published_at,
        "why": case.why,
        "evidence": dict(case.figures),
        "measures": [measure._asdict() for measure in case.measures],
        "policy": {"name": name, "version": version},
        "matches": [_game_json(one) for one in case.games],
        "adds_up": case.adds_up,
    }


def _game_json(one: RatedGame) -> dict[str, Any]:
    game = one.game
    return {
        "match_id": one.match_id,
        "finished_at": game.finished_at,
        "opponent_id": game.opponent_id,
        "score": game.score,
        "delta": game.delta,
        "before": game.before,
        "opponent_before": game.opponent_before,
        "voided": one.voided,
    }
