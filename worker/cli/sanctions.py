"""`sanctions`: what was imposed on a player, why, by whom, and what became of it."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from datetime import UTC, datetime
from typing import Annotated

import typer

from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, plain, print_json
from worker.cli.render_sanctions import print_sanctions
from worker.cli.running import run
from worker.ledger import reads
from worker.ledger.reads.shapes import sanctions_json
from worker.settings import Settings, load_settings


@command
def sanctions(
    player_id: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every sanction of a player: what, where, since when and until when, why and by whom; lifted ones, too.

    A suspension or a tournament ban is in force, to come, over or lifted, as of now. A rating reset acts once: it is
    done, or lifted, with the points that it took and gave back.
    """
    settings = load_settings()
    found = run(_sanctions(settings, player_id))
    now = datetime.now(UTC)
    if as_json:
        print_json(sanctions_json(player_id, found, now))
    else:
        print_sanctions(console(), player_id, found, now)


async def _sanctions(settings: Settings, player_id: str) -> list[reads.SanctionRecord]:
    async with postgres(settings) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        found = await reads.sanctions(connection, player_id)
        if not found and not await reads.standings(connection, player_id):
            raise CommandError(f"Player {plain(player_id)} has neither a match nor a sanction.", Exit.FAILED)
        return found
