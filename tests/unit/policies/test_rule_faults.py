"""What is refused in the tables of inactivity, tournaments and signals, and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.policies.test_policy_faults import GOOD, faults
from worker.policies import load_policy_file

if TYPE_CHECKING:
    from pathlib import Path

INACTIVITY = """
[inactivity]
after_days = 90
step_days = 30
step_points = 15
lowest = 1200
requalify_games = 5
boost_games = 5
boost = 1.25
"""

TOURNAMENTS = """
[tournaments]
refuse_provisional = true
refuse_inactive = true
protection_days = 90
protection_points = 100
"""

SIGNALS = """
[signals.farming]
games = 20
share = 0.5
window_games = 40

[signals.win_trading]
games = 6
hours = 24
each_wins = 0.4

[signals.boosting]
losses = 5

[signals.sandbagging]
points = 150
days = 7
below = 200
"""


def test_the_tables_are_good(tmp_path: Path) -> None:
    """The tables that the faults are put into have none, together and each alone."""
    path = tmp_path / "mine.toml"
    for table in ("", INACTIVITY, TOURNAMENTS, SIGNALS):
        path.write_text(GOOD + (table or INACTIVITY + TOURNAMENTS + SIGNALS), "utf-8")
        load_policy_file(path)


@pytest.mark.parametrize(
    ("table", "good", "bad", "fault"),
    [
        (INACTIVITY, "after_days = 90\n", "", "inactivity, after_days: is missing"),
        (INACTIVITY, "= 90", "= 0", "inactivity, after_days = 0: should be greater than 0"),
        (INACTIVITY, "= 90", "= 1e9", "inactivity, after_days = 1000000000.0: should be less than or equal to 36600"),
        (INACTIVITY, "= 30", "= 0", "inactivity, step_days = 0: should be greater than 0"),
        (INACTIVITY, "= 15", "= 0", "inactivity, step_points = 0: should be greater than 0"),
        (INACTIVITY, "= 15", "= 1.5", "inactivity, step_points = 1.5: should be a whole number"),
        (INACTIVITY, "= 1200", "= -1", "inactivity, lowest = -1: should be greater than or equal to 0"),
        (
            INACTIVITY,
            "step_points = 15\n",
            "",
            "inactivity: step_days, step_points, lowest go together; there is only step_days and lowest",
        ),
        (
            INACTIVITY,
            "games = 5",
            "games = -1",
            "inactivity, requalify_games = -1: should be greater than or equal to 0",
        ),
        (INACTIVITY, "boost = 1.25", "boost = 0", "inactivity, boost = 0: should be greater than 0"),
        (
            INACTIVITY,
            "boost = 1.25",
            "bonus = 1.25",
            "inactivity, bonus = 1.25: no such key; there are after_days, step_days, step_points, lowest",
        ),
        (TOURNAMENTS, "= true", "= 1", "tournaments, refuse_provisional = 1: should be true or false"),
        (TOURNAMENTS, "= 90", "= 0", "tournaments, protection_days = 0: should be greater than 0"),
        (TOURNAMENTS, "= 100", "= -1", "tournaments, protection_points = -1: should be greater than or equal to 0"),
        (
            TOURNAMENTS,
            "protection_days = 90\n",
            "",
            "tournaments: protection_days and protection_points go together",
        ),
        (SIGNALS, "games = 20", "games = 0", "signals, farming, games = 0: should be greater than or equal to 1"),
        (SIGNALS, "= 0.5", "= 1.5", "signals, farming, share = 1.5: should be less than or equal to 1"),
        (SIGNALS, "= 40", "= 10", "signals, farming: window_games = 10 must not be below games, 20"),
        (SIGNALS, "= 24", "= 0", "signals, win_trading, hours = 0: should be greater than 0"),
        (SIGNALS, "= 0.4", "= 0.6", "signals, win_trading, each_wins = 0.6: should be less than or equal to 0.5"),
        (SIGNALS, "losses = 5", "", "signals, boosting, losses: is missing"),
        (SIGNALS, "= 150", "= 0", "signals, sandbagging, points = 0: should be greater than 0"),
        (SIGNALS, "= 7", '= "7"', "signals, sandbagging, days = '7': should be a number"),
        (
            SIGNALS,
            "signals.boosting",
            "signals.smurfing",
            "signals, smurfing: no such key; there are farming, win_trading",
        ),
    ],
)
def test_each_fault_is_named(table: str, good: str, bad: str, fault: str, tmp_path: Path) -> None:
    """A file with one fault is refused in one sentence: key, value and what is allowed."""
    assert good in table
    (found,) = faults(GOOD + table.replace(good, bad, 1), tmp_path)
    assert found.startswith(fault)


def test_decay_ends_above_the_floor(tmp_path: Path) -> None:
    """Decay that could take a player below the floor is refused."""
    text = GOOD.replace("start = 1000", 'start = 1000\nfloor = { at = 800, action = "restart" }')
    assert faults(text + INACTIVITY.replace("1200", "799"), tmp_path) == [
        "inactivity: lowest = 799 must not be below the floor, 800"
    ]
