"""The games behind a signal are those that the core's figures speak of, whatever the games."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import YIBOARD
from worker.cli.evidence import adds_up, behind, case_of, key_of, measures
from worker.housekeeping.integrity import Integrity
from worker.ledger.reads import LATEST, RatedGame
from worker.policies import load_policies
from worker.rating.signals import Evidence, PlayedGame, Signal, flagged, signals_in

if TYPE_CHECKING:
    from collections.abc import Sequence

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = YIBOARD.signals
assert RULES is not None


def made(seed: int, count: int, *, weak: bool) -> list[RatedGame]:
    """Make ann's latest games, some of them at the same moment; weak, she mostly loses to those far below."""
    chance = random.Random(seed)
    opponents = ["bea", "bob", "cid"][: chance.choice([1, 2, 3])]
    scores = chance.choice([(0.0, 0.0, 0.0, 1.0), (0.0, 1.0), (1.0, 1.0, 1.0, 0.5, 0.0)])
    games, hours, rating = [], 0.0, 1500.0
    for number in range(count):
        hours += chance.choice([0.0, 0.5, 0.5, 1.0, 30.0])
        score = chance.choice(scores)
        delta = (score - chance.uniform(0.1, 0.9)) * 64
        ahead = 300.0 if weak else chance.choice([0.0, 199.9, 200.0, 250.5])
        at = NOON + timedelta(hours=hours)
        game = PlayedGame(chance.choice(opponents), score, delta, rating, rating - ahead, at, number + 1)
        games.append(RatedGame(f"m{number}", game, voided=False))
        rating += delta
    return games


histories = st.builds(made, st.integers(0, 2**32), st.integers(0, LATEST), weak=st.booleans())


def the_core_says(games: Sequence[RatedGame]) -> list[Evidence]:
    """Give what the core finds."""
    return list(signals_in([one.game for one in games], YIBOARD))


def test_the_histories_have_every_signal() -> None:
    """What is drawn below would say nothing if it never showed one of the signals."""
    found = {one.signal for seed in range(40) for one in the_core_says(made(seed, 64, weak=seed % 2 == 0))}
    assert found == set(Signal)


@given(histories)
def test_the_games_behind_a_signal_add_up_to_its_figures(games: list[RatedGame]) -> None:
    """Of any history, each signal's games are found, give its figures, and end when the core says that they do."""
    for found in the_core_says(games):
        its = behind(found.signal, found.opponent_id, found.figures, found.last_at, games)
        assert adds_up(found.signal, found.figures, its)
        assert its[-1].game.finished_at == found.last_at
        assert {one.game.opponent_id for one in its} == {found.opponent_id} or found.opponent_id is None


@given(histories)
def test_games_that_are_missing_are_noticed(games: list[RatedGame]) -> None:
    """Without one of its games a signal's figures are not given any more."""
    for found in the_core_says(games):
        its = behind(found.signal, found.opponent_id, found.figures, found.last_at, games)
        if all(one.game.delta for one in its):
            assert not adds_up(found.signal, found.figures, its[1:])


@given(histories)
def test_what_housekeeping_flags_is_found_under_the_same_key(games: list[RatedGame]) -> None:
    """Every notice of housekeeping about a player is among what a reviewer of that player sees, under its key."""
    played = [one.game for one in games]
    notices = Integrity(load_policies())._flags("yi", "ann", played, NOON)
    keys = [key_of("yi", "ann", found, YIBOARD) for found in signals_in(played, YIBOARD)]
    assert [notice.key for notice in notices] == keys  # ann comes first by id, so win trading is flagged from her side


def test_win_trading_is_one_case_from_either_side() -> None:
    """The player with the higher id sees the pair's case under the key that it was published by."""
    turns = [PlayedGame("ann", n % 2, 16.0, 1200, 1200, NOON + timedelta(minutes=n), 30 + n) for n in range(8)]
    [found] = signals_in(turns, YIBOARD)
    mirrored = found._replace(opponent_id="zoe")
    assert key_of("yi", "zoe", found, YIBOARD) == flagged("yi", "ann", mirrored, YIBOARD).key


FIGURES: list[tuple[Signal, dict[str, Any], list[tuple[str, str]]]] = [
    (
        Signal.FARMING,
        {"games": 24, "gain": 100.0, "from_opponent": 62.0, "share": 0.62},
        [("62% of 100 points", "more than 50%"), ("24", "20 or more")],
    ),
    (
        Signal.WIN_TRADING,
        {"games": 8, "hours": 24, "wins": 4, "losses": 4},
        [("8", "6 or more"), ("50%", "40% or more")],
    ),
    (Signal.BOOSTING, {"losses": 6, "games": 7}, [("6", "5 or more")]),
    (
        Signal.SANDBAGGING,
        {"points": 180.25, "days": 7, "games": 6, "below": 210.0},
        [("180.2", "150 or more"), ("210", "200 or more")],
    ),
]


@pytest.mark.parametrize(("signal", "figures", "said"), FIGURES, ids=lambda one: one if isinstance(one, str) else "")
def test_figures_stand_beside_their_thresholds(
    signal: Signal, figures: dict[str, Any], said: list[tuple[str, str]]
) -> None:
    """Each figure that a rule looks at is told with what the policy flags."""
    assert RULES is not None
    assert [(value, threshold) for _, value, threshold in measures(signal, figures, RULES)] == said


def test_a_case_has_all_that_a_reviewer_asks_for() -> None:
    """Signal, opponent, figures, thresholds and matches are those of the evidence."""
    losses = [PlayedGame("bob", 0.0, -30.0, 1200, 1200, NOON + timedelta(hours=n), n + 1) for n in range(6)]
    games = [RatedGame(f"m{n}", game, voided=n == 2) for n, game in enumerate(losses)]
    [found] = [one for one in signals_in(losses, YIBOARD) if one.signal is Signal.BOOSTING]
    case = case_of("yi", "ann", found, YIBOARD, games)
    assert (case.signal, case.opponent_id, case.policy) == (Signal.BOOSTING, "bob", ("yiboard", 1))
    assert case.games == tuple(games)
    assert case.adds_up
    assert case.measures[0].threshold == "5 or more"
