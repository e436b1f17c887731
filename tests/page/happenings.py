"""A ledger with all that a page has to show: every kind of change, names that are meant to break it, a long history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, seen
from worker.cli.watching import lag
from worker.events import encode_event
from worker.rating.model import Lift, Match, Sanction, SanctionKind, Side, Void

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.rating.model import Event
    from worker.settings import Settings

BEGUN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=300)
HOSTILE = (
    "<script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=`taken`">',
    "a&b=c#d?e/f%2Fg+h i",
    "../../api/status",
    "javascript:alert(1)",
    "100%",
    "%41%00%FF",
    "\u202egnp.exe",
    "' or ''='",
    "ünï 🙂 名",
)
"""Ids, each of which is somebody's."""
HOSTILE_POOL = "yi/<b onclick='alert(1)'>&?#%2F"
POOL = "shax"
HERO = "ann"
"""Has changes of every kind in `POOL`, but for the floor."""


async def happen(settings: Settings) -> None:
    """Let a worker take all of it, in order."""
    games = _games()
    reset = Sanction("s1", HERO, SanctionKind.RESET, BEGUN + timedelta(days=130), None, POOL, "<i>cheating</i>", "desk")
    lift = Lift("s1", HERO, BEGUN + timedelta(days=135), "appeal", "board")
    suspended = Sanction("s2", "b1", SanctionKind.SUSPENSION, BEGUN, None, None, "<i>insults</i>", "desk")
    taken_back = games[20]
    void = Void(taken_back.match_id, POOL, _ids(taken_back), BEGUN + timedelta(days=3), "<u>arranged</u>", "desk")
    back = Match("back", POOL, BEGUN + timedelta(days=290), _sides(HERO, "c", 0.0))
    await seen(settings)
    async with running(settings):
        parts: list[list[Event]] = [[*games], [void, reset, suspended], [lift], [back, *_hostile()]]
        for part in parts:
            await _take(settings, part)


async def _take(settings: Settings, events: Sequence[Event]) -> None:
    sent = await cli(settings, "produce", stdin=b"\n".join(map(encode_event, events)))
    assert (sent.code, sent.err) == (0, f"{len(events)} sent.\n")

    async def taken() -> bool:
        return await lag(settings) == 0

    await until(taken, 60)


def _games() -> list[Match]:
    return [
        Match(
            f"g{number}", POOL, BEGUN + timedelta(hours=number), _sides(HERO, f"b{number % 40}", float(number % 15 > 0))
        )
        for number in range(120)
    ]


def _hostile() -> list[Match]:
    """Everybody beats the next often enough to be on the leaderboard."""
    matches = []
    for number in range(60 * len(HOSTILE)):
        place = number % len(HOSTILE)
        winner, loser = HOSTILE[place], HOSTILE[(place + 1 + number // len(HOSTILE) % 4) % len(HOSTILE)]
        name = f"{HOSTILE[place]}{number}"
        matches.append(Match(name, HOSTILE_POOL, BEGUN + timedelta(days=250, hours=number), _sides(winner, loser, 1.0)))
    return matches


def _sides(one: str, other: str, score: float) -> tuple[Side, Side]:
    first, second = Side(one, score), Side(other, 1.0 - score)
    return (first, second) if one < other else (second, first)


def _ids(match: Match) -> tuple[str, str]:
    one, other = match.sides
    return one.id, other.id
