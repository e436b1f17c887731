"""The shipped policies say what rules.md says. Titles, K and the table are in tests/unit/rating."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import worker.policies
from worker.policies import load_policy_file

if TYPE_CHECKING:
    from worker.rating import Policy

FOLDER = Path(worker.policies.__file__).parent
YIBOARD, BICIID, FIDE_1, FIDE_2 = (
    load_policy_file(FOLDER / f"{name}.toml") for name in ("yiboard", "biciid", "fide", "fide-2")
)

DECAY = {"window_hours": 24.0, "full_weight_games": 3, "factor": 0.5, "minimum": 0.1}

FIDE_BOUNDS = """3,10,17,25,32,39,46,53,61,68,76,83,91,98,106,113,121,129,137,145,153,162,170,179,188,197,206,215,225,
235,245,256,267,278,290,302,315,328,344,357,374,391,411,432,456,484,517,559,619,735"""


def conditions(policy: Any) -> list[dict[str, Any]]:
    """Give the K rules of a policy as they stand in its file."""
    return [rule.model_dump(exclude_none=True) for rule in policy.k_factor]


INACTIVITY = {
    "after_days": 90.0,
    "step_days": 30.0,
    "step_points": 15,
    "lowest": 1200,
    "requalify_games": 5,
    "boost_games": 5,
    "boost": 1.25,
}

TOURNAMENTS = {
    "refuse_provisional": True,
    "refuse_inactive": True,
    "protection_days": 90.0,
    "protection_points": 100.0,
}

SIGNALS = {
    "farming": {"games": 20, "share": 0.5, "window_games": 40},
    "win_trading": {"games": 6, "hours": 24.0, "each_wins": 0.4},
    "boosting": {"losses": 5},
    "sandbagging": {"points": 150.0, "days": 7.0, "below": 200.0},
}


def test_yiboard() -> None:
    """The yiboard policy is that of rules.md."""
    assert (YIBOARD.start, YIBOARD.provisional_games, YIBOARD.require_verified) == (1200, 10, True)
    assert YIBOARD.expected.model_dump(exclude_none=True) == {"method": "logistic", "scale": 400.0}
    assert conditions(YIBOARD) == [
        {"name": "provisional", "games_below": 10, "k": 64.0},
        {"name": "established", "k": 32.0},
    ]
    assert YIBOARD.repeat_pair is not None
    assert YIBOARD.repeat_pair.model_dump() == DECAY
    assert (YIBOARD.inactivity, YIBOARD.tournaments) == (None, None)
    assert (YIBOARD.floor, YIBOARD.match_types, YIBOARD.draws, YIBOARD.rounding) == (None, {}, "half", "none")


def test_biciid() -> None:
    """The BICIID policy is that of rules.md."""
    assert (BICIID.start, BICIID.provisional_games, BICIID.require_verified) == (1000, 20, False)
    assert BICIID.expected.model_dump(exclude_none=True) == {"method": "logistic", "scale": 400.0}
    assert conditions(BICIID) == [
        {"name": "provisional", "games_below": 20, "k": 40.0},
        {"name": "elite", "rating_from": 2200.0, "k": 16.0},
        {"name": "established", "k": 32.0},
    ]
    assert BICIID.repeat_pair is not None
    assert BICIID.repeat_pair.model_dump() == DECAY
    assert BICIID.floor is not None
    assert BICIID.floor.model_dump() == {"at": 0, "action": "clamp"}
    assert BICIID.inactivity is not None
    assert BICIID.inactivity.model_dump() == INACTIVITY
    assert BICIID.tournaments is not None
    assert BICIID.tournaments.model_dump() == TOURNAMENTS
    assert BICIID.match_types == {"ranked": 1.0, "tournament": 1.25, "casual": 0.0}
    assert (BICIID.draws, BICIID.rounding) == ("half", "none")


def test_fide() -> None:
    """The second FIDE version is that of rules.md."""
    assert (FIDE_2.start, FIDE_2.provisional_games, FIDE_2.require_verified) == (1500, 30, False)
    assert FIDE_2.expected.model_dump() == {
        "method": "fide-table",
        "table": tuple(int(bound) for bound in FIDE_BOUNDS.split(",")),
        "gap_cap": 400.0,
        "gap_cap_below": 2650.0,
    }
    assert conditions(FIDE_2) == [
        {"name": "rapid-and-blitz", "pools": ("*/rapid", "*/blitz"), "k": 20.0},
        {"name": "new", "games_below": 30, "k": 40.0},
        {"name": "elite", "peak_from": 2400.0, "k": 10.0},
        {"name": "junior", "age_until": 18, "rating_below": 2300.0, "k": 40.0},
        {"name": "established", "k": 20.0},
    ]
    assert FIDE_2.floor is not None
    assert FIDE_2.floor.model_dump() == {"at": 1400, "action": "restart"}
    assert FIDE_2.inactivity is not None
    assert FIDE_2.inactivity.model_dump(exclude_defaults=True) == {"after_days": 365.0}
    assert FIDE_2.tournaments is None
    assert (FIDE_2.repeat_pair, FIDE_2.match_types, FIDE_2.draws, FIDE_2.rounding) == (None, {}, "half", "none")
    assert [rung.title for rung in FIDE_2.ladder][::7] == ["novice", "elite"]


@pytest.mark.parametrize(
    "policy", [YIBOARD, BICIID, FIDE_1, FIDE_2], ids=lambda policy: f"{policy.name}-{policy.version}"
)
def test_signals(policy: Policy) -> None:
    """The thresholds of the signals are those of rules.md, in every policy."""
    assert policy.signals is not None
    assert policy.signals.model_dump() == SIGNALS


def test_the_versions_of_fide_differ_by_the_exception_alone() -> None:
    """The second version adds the exception to the gap cap, its date and reason, and a note, and nothing else."""
    first, second = FIDE_1.model_dump(), FIDE_2.model_dump()
    assert first.pop("version") == 1
    assert second.pop("version") == 2
    assert first.pop("valid_from") is None
    assert second.pop("valid_from").isoformat() == "2025-10-01T00:00:00+00:00"
    assert first.pop("reason") == ""
    assert "2650" in second.pop("reason")
    assert first["expected"].pop("gap_cap_below") is None
    assert second["expected"].pop("gap_cap_below") == 2650
    assert set(second.pop("notes")) > set(first.pop("notes"))
    assert first == second


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("yiboard.toml", "[repeat_pair] # our default"),
        ("yiboard.toml", 'draws = "half" # our default'),
        ("biciid.toml", "start = 1000 # our default"),
        ("biciid.toml", "rating_from = 2200 # our default"),
        ("biciid.toml", "[match_types] # our default"),
        ("biciid.toml", "[repeat_pair] # our default"),
        ("biciid.toml", "[inactivity] # our defaults, all seven"),
        ("biciid.toml", "protection_days = 90 # our default"),
        ("biciid.toml", "protection_points = 100 # our default"),
        ("biciid.toml", "window_games = 40 # our default"),
        ("fide.toml", "start = 1500 # our default"),
        ("fide-2.toml", "start = 1500 # our default"),
    ],
)
def test_what_is_our_default_says_so(file: str, line: str) -> None:
    """A number that the source leaves open is marked as ours in the file."""
    assert line in (FOLDER / file).read_text("utf-8")


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        (YIBOARD.notes, ["A draw counts 0.5", "Repeated pairings"]),
        (BICIID.notes, ["starting rating", "Elite", "match types", "Repeated pairings", "absence", "seeding"]),
        (FIDE_1.notes, ["starting rating", "700 in a month", "no titles"]),
        (FIDE_2.notes, ["starting rating", "700 in a month", "no titles", "zero-sum"]),
    ],
)
def test_notes(notes: tuple[str, ...], words: list[str]) -> None:
    """Notes tell people what is our default and what of the source is not applied."""
    for word in words:
        assert any(word in note for note in notes), word
