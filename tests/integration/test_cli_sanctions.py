"""`rating-worker sanctions`, and what `player` says of them, on a real Postgres."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_ledger import apply, arrivals
from tests.support.matches import START
from tests.unit.cli.processes import cli, sql
from worker.ledger.ledger import Ledger
from worker.policies import load_policies
from worker.rating.model import Lift, Match, Sanction, SanctionKind, Side

if TYPE_CHECKING:
    from worker.rating.model import Event
    from worker.settings import Settings

DAY = timedelta(days=1)
NOW = datetime.now(UTC)


def sanction(
    sanction_id: str, kind: SanctionKind, *, ends_at: datetime | None = None, pool: str | None = None
) -> Sanction:
    """Give a verdict on ann that holds from a day after the first match on."""
    return Sanction(sanction_id, "ann", kind, START + DAY, ends_at, pool, f"why {sanction_id}", "the desk")


GAMES = [
    Match(f"m{n}", pool, START + timedelta(minutes=n), (Side("ann", 1.0), Side("bob", 0.0)))
    for n, pool in enumerate(["yi", "yi", "shax"])
]
SUSPENSION = sanction("s1", SanctionKind.SUSPENSION, ends_at=NOW + 9 * DAY)
RESET = sanction("s2", SanctionKind.RESET, pool="yi")
BAN = sanction("s3", SanctionKind.TOURNAMENT_BAN, pool="yi")
LATER = sanction("s4", SanctionKind.SUSPENSION)._replace(starts_at=NOW + 30 * DAY)
APPEALS = [Lift(one.sanction_id, "ann", START + 2 * DAY, "appeal upheld", "the board") for one in (RESET, BAN)]


async def judge(settings: Settings, *events: Event) -> None:
    """Apply events as a worker does."""
    ledger = await Ledger.open(settings, load_policies(None, ()))
    known = await sql(settings, "select count(*) from events")
    await apply(ledger, arrivals(events, first_offset=1_000 * known))
    await ledger.close()


@pytest.mark.parametrize("order", ["in order", "lifts first"])
async def test_the_history(settings: Settings, order: str) -> None:
    """Every sanction is told with kind, pool, times, who and why, and what became of it, whichever event came first."""
    verdicts = [SUSPENSION, RESET, BAN, LATER]
    await judge(settings, *GAMES)
    await judge(settings, *(verdicts if order == "in order" else APPEALS))
    await judge(settings, *(APPEALS if order == "in order" else verdicts))
    ended = await cli(settings, "sanctions", "ann", "--json")
    assert ended.code == 0
    found = {one["sanction_id"]: one for one in ended.json()["sanctions"]}
    assert {name: one["state"] for name, one in found.items()} == {
        "s1": "in force",
        "s2": "lifted",
        "s3": "lifted",
        "s4": "to come",
    }
    assert [name for name, one in found.items() if one["in_force"]] == ["s1"]
    assert (found["s3"]["kind"], found["s3"]["pool"], found["s3"]["ends_at"]) == ("tournament-ban", "yi", None)
    assert (found["s3"]["why"], found["s3"]["by"]) == ("why s3", "the desk")
    assert (found["s3"]["lifted"]["why"], found["s3"]["lifted"]["by"]) == ("appeal upheld", "the board")
    if order == "in order":
        took, gave = found["s2"]["changes"]
        assert (took["pool"], took["reason"], took["after"]) == ("yi", "reset", 1200)
        assert (gave["reason"], gave["after"]) == ("lift", took["before"])
    else:
        assert found["s2"]["changes"] == []  # a reset that is lifted when it comes takes nothing
    shown = (await cli(settings, "sanctions", "ann")).out
    assert "Suspension s1, in every pool: in force" in shown
    assert "by the board: appeal upheld" in shown


async def test_player_has_a_hint(settings: Settings) -> None:
    """Whoever looks at a player learns in one line what is in force, and where to read why."""
    await judge(settings, *GAMES)
    assert "In force" not in (await cli(settings, "player", "ann")).out
    await judge(settings, SUSPENSION, BAN)
    shown = await cli(settings, "player", "ann")
    [hint] = [line for line in shown.out.splitlines() if line.startswith("In force: ")]
    assert "suspension, in every pool" in hint
    assert "`rating-worker sanctions ann`" in hint
    in_json = (await cli(settings, "player", "ann", "--pool", "shax", "--json")).json()
    assert [one["sanction_id"] for one in in_json["sanctions_in_force"]] == ["s1"]
    assert (await cli(settings, "player", "bob", "--json")).json()["sanctions_in_force"] == []


async def test_who_has_none(settings: Settings) -> None:
    """A player without sanctions has an empty history; whom nobody knows is told; who never played may have one."""
    await judge(settings, *GAMES)
    clean = await cli(settings, "sanctions", "bob")
    assert (clean.code, clean.out) == (0, "bob has never been sanctioned.\n")
    unknown = await cli(settings, "sanctions", "nobody")
    assert (unknown.code, unknown.err) == (1, "Player nobody has neither a match nor a sanction.\n")
    await judge(settings, SUSPENSION._replace(player_id="newcomer"))
    assert "s1, in every pool: in force" in (await cli(settings, "sanctions", "newcomer")).out
    player = await cli(settings, "player", "newcomer")
    assert player.code == 1
    assert "has no match in any pool. In force: suspension" in player.err
