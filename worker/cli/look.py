"""`leaderboard`, `player` and `explain`: what the ledger says about players and matches."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import shlex
from datetime import UTC, datetime
from typing import Annotated

import typer

from worker.cli import render, render_match, render_sanctions
from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, plain, print_json, sentence
from worker.cli.running import run
from worker.ledger import reads
from worker.ledger.reads import shapes
from worker.ledger.reads.explanation import Explanation, explain
from worker.settings import Settings, load_settings

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, with every number exact.")]

_LONGEST_PAGE = 10_000


@command
def leaderboard(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="Such as yi, shax or chess/blitz.")],
    limit: Annotated[int, typer.Option(min=1, max=_LONGEST_PAGE, help="How many players.")] = 20,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a pool's leaderboard: its established players, by rating.

    Not on it are players with too few rated games (provisional), who have not played for long or have yet to requalify
    after that, and who are suspended.
    """
    settings = load_settings()
    try:
        cursor = reads.TOP if after is None else reads.Cursor.parse(after)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--after") from error
    page = run(_leaderboard(settings, pool, limit, cursor))
    if as_json:
        print_json(shapes.page_json(pool, page))
    else:
        render.print_page(console(), pool, page, first=after is None)


@command
def player(
    player_id: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    limit: Annotated[
        int, typer.Option(min=0, max=_LONGEST_PAGE, help="How many of the last changes, in each pool.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show a player: rating, title, wins, draws and losses in each pool, and the last changes.

    Above them, in one line, what sanctions are in force.
    """
    settings = load_settings()
    found, imposed = run(_player(settings, player_id, pool, limit))
    now = datetime.now(UTC)
    hint = render_sanctions.hint(player_id, imposed, now, pool)
    if not found:
        where = "in any pool" if pool is None else f"in pool {plain(pool)}"
        raise CommandError(
            f"Player {plain(player_id)} has no match {where}." + (f" {plain(hint)}" if hint else ""), Exit.FAILED
        )
    if as_json:
        print_json(shapes.player_json(player_id, found, imposed, now, pool))
        return
    out = console()
    if hint:
        sentence(out, hint, style="bold red")
    for standing, steps in found:
        render.print_player(out, standing, steps)


@command
def explain_match(
    match_id: Annotated[str, typer.Argument(metavar="MATCH_ID", help="The match's id.")],
    as_json: AsJson = False,
) -> None:
    """Explain a match: every number of both changes and the rule that it came from.

    The match is also rated again, from what the ledger keeps. Should a number come out differently, that is said, and
    the command ends with 65.
    """
    settings = load_settings()
    record, explanation = run(_explain(settings, match_id))
    if as_json:
        print_json(shapes.explanation_json(record, explanation))
    else:
        render_match.print_explanation(console(), record, explanation)
    if explanation.contradictions:
        raise CommandError(
            f"The ledger contradicts its own rules in match {plain(match_id)}: "
            + "; ".join(map(plain, explanation.contradictions)),
            Exit.DATA,
        )


async def _leaderboard(settings: Settings, pool: str, limit: int, after: reads.Cursor) -> reads.Page:
    async with postgres(settings) as connection:
        page = await reads.leaderboard(connection, pool, limit=limit, after=after)
        if page is None:
            names = ", ".join(map(plain, await reads.pools(connection)))
            raise CommandError(
                f"Nobody has played in pool {plain(pool)}; "
                + (f"there are {names}." if names else "nor in any other: the ledger is empty."),
                Exit.FAILED,
            )
        return page


async def _player(
    settings: Settings, player_id: str, pool: str | None, limit: int
) -> tuple[list[tuple[reads.Standing, list[reads.Step]]], list[reads.SanctionRecord]]:
    async with postgres(settings) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        found = [
            (standing, await reads.history(connection, standing.rating_id, limit=limit))
            for standing in await reads.standings(connection, player_id, pool)
        ]
        return found, await reads.sanctions(connection, player_id)


async def _explain(settings: Settings, match_id: str) -> tuple[reads.MatchRecord, Explanation]:
    async with postgres(settings) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        record = await reads.match_record(connection, match_id)
    if record is None:
        raise CommandError(
            f"Match {plain(match_id)} is not recorded. Either it has not arrived yet, or it was refused: "
            f"`rating-worker dead-letters list --text {shlex.quote(plain(match_id))}` finds it then, and why.",
            Exit.FAILED,
        )
    return record, explain(record)
