"""Signals of manipulation, by the letter of rules.md."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.rating.examples import BICIID, FIDE, NOON, YIBOARD, policy
from worker.rating import NoticeKind
from worker.rating.signals import (
    Boosting,
    Evidence,
    Farming,
    PlayedGame,
    Sandbagging,
    Signals,
    WinTrading,
    boosting,
    farming,
    flagged,
    sandbagging,
    win_trading,
)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)

signals = YIBOARD.signals
assert signals is not None
assert signals.farming is not None
assert signals.win_trading is not None
assert signals.boosting is not None
assert signals.sandbagging is not None
FARMING, WIN_TRADING, BOOSTING, SANDBAGGING = (
    signals.farming,
    signals.win_trading,
    signals.boosting,
    signals.sandbagging,
)


def game(
    delta: float = 0.0,
    against: str = "bob",
    *,
    score: float | None = None,
    after: timedelta = timedelta(),
    ahead: float = 0.0,
    games: int = 100,
) -> PlayedGame:
    """Play a game that gives so many points, by default won if they are more than none."""
    score = float(delta > 0) if score is None else score
    return PlayedGame(against, score, delta, 1500.0 + ahead, 1500.0, NOON + after, games)


def hourly(*games: PlayedGame, apart: timedelta = HOUR) -> list[PlayedGame]:
    """Play games one after the other."""
    return [one._replace(finished_at=NOON + n * apart) for n, one in enumerate(games)]


@pytest.mark.parametrize(
    ("games", "opponent"),
    [
        # one opponent supplies more than half of a player's rating gain over 20 rated games or more
        ([game(10)] * 20, "bob"),
        ([game(10)] * 19, None),
        ([game(10)] * 10 + [game(10, "cat")] * 10, None),
        ([game(10)] * 11 + [game(10, "cat")] * 9, "bob"),
        ([game(10)] * 10 + [game(-9, "cat"), game(9, "cat")] * 5, "bob"),
        ([game(10), game(-10)] * 10, None),
        ([game(-10)] * 20, None),
        ([game(10)] * 10 + [game(-10, "cat")] * 10, None),
        ([game(10, "ann")] * 40 + [game(1)] * 40, "bob"),
        ([game(10, "ann")] * 21 + [game(10)] * 19, "ann"),
    ],
)
def test_farming(games: list[PlayedGame], opponent: str | None) -> None:
    """One opponent supplies more than half of a player's rating gain over 20 rated games or more."""
    found = farming(hourly(*games), FARMING)
    assert (found.opponent_id if found else None) == opponent


def test_evidence_of_farming() -> None:
    """The evidence has the games, the gain, what came from the opponent, and when they last met."""
    found = farming(hourly(*[game(12)] * 15, *[game(-4, "cat")] * 5), FARMING)
    assert found == Evidence(
        "farming",  # type: ignore[arg-type]
        "bob",
        {"games": 20, "gain": 160, "from_opponent": 180, "share": 1.125},
        "180 of the 160 points gained in 20 rated games came from bob",
        NOON + 14 * HOUR,
    )


@pytest.mark.parametrize(
    ("won", "apart", "games"),
    [
        # a pair plays 6 or more in 24 h with each side winning at least 40 %
        ("WLWLWL", HOUR, 6),
        ("WLWLW", HOUR, None),
        ("WWWLLL", timedelta(hours=4), 6),
        ("WWWLLL", timedelta(hours=4.8), None),
        ("WWWWLL", HOUR, None),
        ("WWWLLD", HOUR, None),
        ("WWWWLLLLDD", HOUR, 10),
        ("WWWWWWLLLL", HOUR, 10),
        ("WWWWWWWLLL", HOUR, 7),
        ("WLWLWLWWWWWWWWWW", HOUR, 7),
        ("DDDDDD", HOUR, None),
    ],
)
def test_win_trading(won: str, apart: timedelta, games: int | None) -> None:
    """A pair plays 6 or more in 24 h with each side winning at least 40 %."""
    score = {"W": 1.0, "D": 0.5, "L": 0.0}
    found = win_trading(hourly(*(game(score=score[one]) for one in won), apart=apart), WIN_TRADING)
    assert (found.figures["games"] if found else None) == games


def test_evidence_of_win_trading() -> None:
    """The evidence has the latest run of games, its hours, and who won how many."""
    found = win_trading(hourly(*[game(score=n % 2) for n in range(7)]), WIN_TRADING)
    assert found == Evidence(
        "win-trading",  # type: ignore[arg-type]
        "bob",
        {"games": 7, "hours": 24, "wins": 3, "losses": 4},
        "7 rated games with bob in 24 h: 3 won, 4 lost",
        NOON + 6 * HOUR,
    )


def test_win_trading_within_24_h() -> None:
    """The first and the last of the games are less than 24 h apart, as in the decay of repeated pairings."""
    games = [game(score=n % 2, after=n * HOUR) for n in range(5)]
    for last, found in ((DAY - INSTANT, True), (DAY, False)):
        assert (win_trading([*games, game(score=1, after=last)], WIN_TRADING) is not None) == found


def losses(count: int, against: str = "bob", games: int = 1) -> list[PlayedGame]:
    """Lose so many games in a row, the first being one's game number `games`."""
    return [game(-10, against, games=games + n, after=n * HOUR) for n in range(count)]


@pytest.mark.parametrize(
    ("games", "row"),
    [
        # a provisional or newly reset account takes 5 or more losses in a row to the same opponent
        (losses(5), 5),
        (losses(4), None),
        (losses(7), 7),
        (losses(5, games=6), 5),  # games 6 to 10 of 10 provisional ones
        (losses(5, games=7), None),  # the last was game 11
        (losses(6, games=6), 5),
        ([*losses(4), game(10), *losses(4)], None),
        ([*losses(4), game(score=0.5), *losses(4)], None),
        (losses(3) + losses(2, "cat") + losses(2), 5),
        ([*losses(3), game(10, "cat", games=4), *losses(2)], 5),
        (losses(3) + losses(2, "cat"), None),
        (losses(5) + [game(10)] * 3, 5),
    ],
)
def test_boosting(games: list[PlayedGame], row: int | None) -> None:
    """A provisional or newly reset account takes 5 or more losses in a row to the same opponent."""
    found = boosting(games, BOOSTING, YIBOARD)
    assert (found.figures["losses"] if found else None) == row


def test_evidence_of_boosting() -> None:
    """The evidence has the row of losses and how new the account is."""
    found = boosting(losses(6, games=2), BOOSTING, YIBOARD)
    assert found == Evidence(
        "boosting",  # type: ignore[arg-type]
        "bob",
        {"losses": 6, "games": 7},
        "a provisional account of 7 rated games lost 6 in a row to bob",
        NOON + 5 * HOUR,
    )


@pytest.mark.parametrize(
    ("games", "points"),
    [
        # a player loses 150 points or more in 7 days to opponents rated 200 or more below
        (hourly(*[game(-30, ahead=200)] * 5), 150),
        (hourly(*[game(-30, ahead=200)] * 4, game(-29, ahead=200)), None),
        (hourly(*[game(-30, ahead=199)] * 9), None),
        (hourly(*[game(-30, ahead=200)] * 5, apart=1.75 * DAY - INSTANT), 150),
        (hourly(*[game(-30, ahead=200)] * 5, apart=1.75 * DAY), None),
        (hourly(*[game(-30, ahead=300), game(8, ahead=300)] * 5), 150),
        (hourly(*[game(-10, score=0.5, ahead=400)] * 15), 150),
        (hourly(*[game(-30, f"{n}", ahead=250) for n in range(6)]), 180),
        (hourly(*[game(-30, ahead=-200)] * 9), None),
        (hourly(*[game(-50, ahead=200)] * 3, *[game(20)] * 50), 150),
    ],
)
def test_sandbagging(games: list[PlayedGame], points: float | None) -> None:
    """A player loses 150 points or more in 7 days to opponents rated 200 or more below."""
    found = sandbagging(games, SANDBAGGING)
    assert (found.figures["points"] if found else None) == points


def test_evidence_of_sandbagging() -> None:
    """The evidence has the points, the days, the games, and how far below the nearest of the opponents was."""
    found = sandbagging(hourly(game(-80, ahead=350), game(-90, "cat", ahead=250)), SANDBAGGING)
    assert found == Evidence(
        "sandbagging",  # type: ignore[arg-type]
        None,
        {"points": 170, "days": 7, "games": 2, "below": 250},
        "170 points lost in 7 days, in 2 games against opponents rated 250 or more below",
        NOON + HOUR,
    )


@pytest.mark.parametrize("rest", [[], [game(1)]])
def test_nothing_is_nothing(rest: list[PlayedGame]) -> None:
    """Of no games, or one, nothing follows."""
    assert farming(rest, FARMING) is None
    assert win_trading(rest, WIN_TRADING) is None
    assert boosting(rest, BOOSTING, YIBOARD) is None
    assert sandbagging(rest, SANDBAGGING) is None


def test_the_notice() -> None:
    """A case is told once a day: signal, pool, player, opponent and the day of the last game make the key."""
    found = boosting(losses(5), BOOSTING, YIBOARD)
    assert found is not None
    notice = flagged("yi", "ann", found, YIBOARD)
    assert (notice.kind, notice.subject) == (NoticeKind.INTEGRITY_FLAGGED, "yi|ann")
    assert notice.key == "boosting\x1fyi\x1fann\x1fbob\x1f2026-03-01"
    assert notice.occurred_at == NOON + 4 * HOUR
    ref = YIBOARD.ref
    assert notice.body == {
        "signal": "boosting",
        "pool": "yi",
        "player_id": "ann",
        "opponent_id": "bob",
        "day": "2026-03-01",
        "evidence": {"losses": 5, "games": 5},
        "why": "a provisional account of 5 rated games lost 5 in a row to bob",
        "policy": {"name": ref.name, "version": ref.version, "digest": ref.digest},
    }
    alone = flagged("yi", "ann", found._replace(opponent_id=None), YIBOARD)
    assert alone.key == "boosting\x1fyi\x1fann\x1f\x1f2026-03-01"


def test_thresholds_are_policy_data() -> None:
    """All three policies have the thresholds of rules.md, and another policy may have others or none."""
    for system in (YIBOARD, BICIID, FIDE):
        assert system.signals == Signals(
            farming=Farming(games=20, share=0.5, window_games=40),
            win_trading=WinTrading(games=6, hours=24, each_wins=0.4),
            boosting=Boosting(losses=5),
            sandbagging=Sandbagging(points=150, days=7, below=200),
        )
    own: dict[str, Any] = {"boosting": {"losses": 2}}
    made = policy(signals=own, provisional_games=5).signals
    assert made is not None
    assert made.farming is None
    assert made.boosting == Boosting(losses=2)
    assert boosting(losses(2), made.boosting, policy(provisional_games=2)) is not None
    assert policy().signals is None


def test_a_window_must_hold_the_games() -> None:
    """A window with fewer games than the signal asks for would never give one."""
    with pytest.raises(ValidationError, match="window_games = 10 must not be below games, 20"):
        Farming(games=20, share=0.5, window_games=10)
