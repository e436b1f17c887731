"""`rating-worker integrity` on a real Postgres, with what a real housekeeping has flagged."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.test_housekeeping import housekeeper
from tests.integration.test_ledger import apply, arrivals
from tests.support.matches import START, stream
from tests.unit.cli.processes import cli
from worker.ledger import reads
from worker.ledger.ledger import Ledger
from worker.policies import load_policies
from worker.rating.model import Match, Side, Void

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings

POLICIES = load_policies(None, ())
SETTLED = timedelta(minutes=10)


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database."""
    opened = await Ledger.open(settings, POLICIES)
    yield opened
    await opened.close()


def boosts(count: int, *, first: int = 0) -> list[Match]:
    """Let a new account lose again and again to one player."""
    return [
        Match(f"boost-{n}", "yi", START + timedelta(minutes=n), (Side("booster", 1.0), Side("fresh", 0.0)))
        for n in range(first, first + count)
    ]


def trades(count: int) -> list[Match]:
    """Let a pair take turns at winning."""
    return [
        Match(f"trade-{n}", "yi", START + timedelta(minutes=n), (Side("left", n % 2), Side("right", 1 - n % 2)))
        for n in range(count)
    ]


async def seen(settings: Settings, player: str, *options: object) -> Any:
    """Give what the command shows, as JSON."""
    ended = await cli(settings, "integrity", player, "--json", *options)
    assert ended.code == 0, ended.err
    return ended.json()


async def flag(settings: Settings, ledger: Ledger) -> None:
    """Let housekeeping look at all that is recorded."""
    keeper = housekeeper(settings, ledger, datetime.now(UTC) + SETTLED)
    await keeper.turn(asyncio.Event())
    await keeper.leave()


async def test_what_is_there_before_anything_was_published(settings: Settings, ledger: Ledger) -> None:
    """A signal is seen as soon as the ledger gives it, with figures, thresholds and matches that can be explained."""
    await apply(ledger, arrivals([*boosts(4)]))
    nothing = await cli(settings, "integrity", "fresh")
    assert nothing.code == 0
    assert "crosses a threshold now" in nothing.out
    await apply(ledger, arrivals(boosts(2, first=4), first_offset=100))
    review = await seen(settings, "fresh")
    assert review["published"] == []
    [case] = review["now"]
    assert (case["signal"], case["opponent_id"], case["published_at"]) == ("boosting", "booster", None)
    assert case["evidence"] == {"losses": 6, "games": 6}
    assert case["measures"][0]["threshold"] == "5 or more"
    assert [one["match_id"] for one in case["matches"]] == [f"boost-{n}" for n in range(6)]
    shown = await cli(settings, "integrity", "fresh")
    assert "not published yet" in shown.out
    explained = await cli(settings, "explain", case["matches"][0]["match_id"])
    assert explained.code == 0


async def test_what_was_published(settings: Settings, ledger: Ledger) -> None:
    """A published signal is shown with the games of then, from either side, though the ledger has long gone on."""
    await apply(ledger, arrivals([*boosts(6), *trades(8)]))
    await flag(settings, ledger)
    [now] = (await seen(settings, "right", "--kind", "win-trading"))["now"]
    assert now["published_at"] is not None
    assert (now["player_id"], now["opponent_id"]) == ("right", "left")
    later = [
        Match(f"later-{player}-{n}", "yi", START + timedelta(hours=n), (Side(player, 1.0), Side(f"{player}-{n}", 0.0)))
        for n in range(2, 80)
        for player in ("fresh", "left", "right")
    ]
    await apply(ledger, arrivals(later, first_offset=1_000))
    for player in ("left", "right"):
        review = await seen(settings, player, "--kind", "win-trading")
        assert review["now"] == []
        [case] = review["published"]
        assert (case["player_id"], case["opponent_id"], case["adds_up"]) == ("left", "right", True)
        assert case["evidence"] == {"games": 8, "hours": 24, "wins": 4, "losses": 4}
        assert [one["match_id"] for one in case["matches"]] == [f"trade-{n}" for n in range(8)]
    for player in ("fresh", "booster"):
        [case] = (await seen(settings, player, "--kind", "boosting"))["published"]
        assert (case["player_id"], case["opponent_id"]) == ("fresh", "booster")
        assert [one["match_id"] for one in case["matches"]] == [f"boost-{n}" for n in range(6)]
    assert "published" in (await cli(settings, "integrity", "fresh")).out
    assert (await seen(settings, "fresh", "--pool", "yi", "--limit", 0))["more"] is True


async def test_a_match_that_was_voided_since(settings: Settings, ledger: Ledger) -> None:
    """A voided match belongs to no signal of now; in one that was published it is still shown, and marked."""
    await apply(ledger, arrivals(boosts(6)))
    await flag(settings, ledger)
    void = Void("boost-2", "yi", ("booster", "fresh"), START + timedelta(days=1), "arranged", "the desk")
    await apply(ledger, arrivals([void], first_offset=500))
    [now] = (await seen(settings, "fresh"))["now"]
    assert now["evidence"]["losses"] == 5
    assert "boost-2" not in [one["match_id"] for one in now["matches"]]
    more = [boosts(1, first=n)[0]._replace(finished_at=START + timedelta(days=2, hours=n)) for n in range(6, 8)]
    await apply(ledger, arrivals(more, first_offset=600))
    [before] = (await seen(settings, "fresh"))["published"]
    assert before["evidence"]["losses"] == 6
    assert [one["match_id"] for one in before["matches"] if one["voided"]] == ["boost-2"]
    assert "boost-2 (voided since)" in (await cli(settings, "integrity", "fresh")).out


async def test_whom_nobody_knows(settings: Settings, ledger: Ledger) -> None:
    """A player without a match, in any pool or in one, ends the command with 1."""
    await apply(ledger, arrivals(boosts(1)))
    assert (await cli(settings, "integrity", "nobody")).code == 1
    ended = await cli(settings, "integrity", "fresh", "--pool", "shax")
    assert (ended.code, ended.err) == (1, "Player fresh has no match in pool shax.\n")
    assert (await cli(settings, "integrity", "fresh", "--kind", "cheating")).code == 2


async def test_the_games_of_any_moment(ledger: Ledger) -> None:
    """The latest games as of any moment are those that were recorded by then, at most so many, in order of time."""
    matches = stream(500, players=4, seed=4, pools=("yi",))
    for start in range(0, 500, 50):
        await apply(ledger, arrivals(matches[start : start + 50], first_offset=start))
    async with ledger.connection() as connection:
        rating_id = await connection.fetchval("select rating_id from ratings order by version desc limit 1")
        moments = await connection.fetch("select distinct recorded_at from ledger order by 1")
        assert len(moments) == 10
        for moment in [None, moments[0][0] - timedelta(days=1), *(row[0] for row in moments)]:
            rows = await connection.fetch(
                "select match_id from (select * from ledger where rating_id = $1 and ($2::timestamptz is null or "
                "recorded_at <= $2) order by version desc limit $3) l order by occurred_at, version",
                *(rating_id, moment, reads.LATEST),
            )
            games = await reads.latest_games(connection, rating_id, moment)
            assert [one.match_id for one in games] == [row["match_id"] for row in rows]
