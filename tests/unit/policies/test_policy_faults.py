"""What a policy file must not say, and what the operator is told: file, key, value and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from worker.policies import load_policy_file
from worker.rating import PolicyError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
name = "mine"
version = 1
start = 1000
provisional_games = 10

[expected]
method = "logistic"
scale = 400

[[k_factor]]
name = "new"
games_below = 10
k = 40

[[k_factor]]
name = "all"
k = 20

[repeat_pair]
window_hours = 24
full_weight_games = 3
factor = 0.5
minimum = 0.1

[[ladder]]
title = "low"

[[ladder]]
title = "high"
lower = 1500
"""

TABLE = ", ".join(str(bound) for bound in range(50))


def faults(text: str, folder: Path) -> list[str]:
    """Give the faults of a file, each without its name, which each must carry."""
    file = folder / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(PolicyError) as caught:
        load_policy_file(file)
    found = [fault.removeprefix(f"{file}: ") for fault in caught.value.faults]
    assert [f"{file}: {fault}" for fault in found] == list(caught.value.faults)
    return found


def test_the_file_without_a_fault_is_good(tmp_path: Path) -> None:
    """What the faults below are put into is a policy by itself."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, "utf-8")
    policy = load_policy_file(file)
    assert (policy.name, policy.start, len(policy.k_factor), policy.title(1500.0)) == ("mine", 1000, 2, "high")


@pytest.mark.parametrize(
    ("good", "bad", "fault"),
    [
        ('name = "mine"\n', "", "name: is missing"),
        (
            'name = "mine"\n',
            'name = "My Own"\n',
            "name = 'My Own': should be at most 64 lower-case letters, digits and hyphens, a letter first",
        ),
        ("version = 1", "version = 0", "version = 0: should be greater than or equal to 1"),
        (
            "version = 1",
            'version = 2\nreason = "r"',
            "valid_from: a version after the first must say from when it holds",
        ),
        (
            "version = 1",
            'version = 2\nvalid_from = 2026-01-01T00:00:00Z\nreason = " "',
            "reason = ' ': a version after the first must say why it came to be",
        ),
        (
            "version = 1",
            "version = 1\nvalid_from = 2026-01-01T00:00:00",
            "valid_from = 2026-01-01 00:00:00: should have an offset, such as Z",
        ),
        (
            "version = 1",
            "version = 1\nvalid_from = 2026-01-01",
            "valid_from = 2026-01-01: should be a time with an offset, such as 2026-01-01T00:00:00Z",
        ),
        ("version = 1", 'version = 1\nnotes = "none"', "notes = 'none': should be a list"),
        ("version = 1", "version = 1\nnotes = [3]", "notes #1 = 3: should be text"),
        ("version = 1", 'version = 1\nnotes = [""]', "notes #1 = '': should not be empty"),
        ("start = 1000", "start = 1000.5", "start = 1000.5: should be a whole number"),
        ("start = 1000", 'start = "1000"', "start = '1000': should be a whole number"),
        ("start = 1000", "start = 1000\nrequire_verified = 1", "require_verified = 1: should be true or false"),
        ("start = 1000", 'start = 1000\nrounding = "up"', "rounding = 'up': should be 'none' or 'integer'"),
        ("start = 1000", 'start = 1000\ndraws = "no"', "draws = 'no': should be 'half' or 'unrated'"),
        (
            "provisional_games = 10",
            "provisional_games = -1",
            "provisional_games = -1: should be greater than or equal to 0",
        ),
        ("scale = 400", "scale = 0", "expected, scale = 0: should be greater than 0"),
        ("scale = 400", "scale = nan", "expected, scale = nan: should be a finite number"),
        ("scale = 400", "", "expected, scale: is missing"),
        ('method = "logistic"\n', "", "expected, method: is missing"),
        (
            'method = "logistic"',
            'method = "glicko"',
            "expected, method = 'glicko': should be one of 'logistic', 'fide-table'",
        ),
        (
            "scale = 400",
            "scale = 400\ntable = [1]",
            "expected, table: no such key; there are gap_cap, gap_cap_below, method, scale",
        ),
        ("scale = 400", "scale = 400\ngap_cap = 0", "expected, gap_cap = 0: should be greater than 0"),
        (
            "scale = 400",
            "scale = 400\ngap_cap_below = 2650",
            "expected, gap_cap_below = 2650: there is no gap_cap that it could limit",
        ),
        (
            'method = "logistic"\nscale = 400',
            'method = "fide-table"\ntable = [3, 10]',
            "expected, table: 50 upper bounds are needed, for .50 to .99; there are 2",
        ),
        (
            'method = "logistic"\nscale = 400',
            f'method = "fide-table"\ntable = [{TABLE.replace("3,", "2,", 1)}]',
            "expected, table: upper bounds must rise: 2 comes after 2",
        ),
        (
            'method = "logistic"\nscale = 400',
            f'method = "fide-table"\ntable = [{TABLE.replace("0,", "-1,", 1)}]',
            "expected, table: the first upper bound must not be negative: -1",
        ),
        ("k = 40", "k = 0", "k_factor #1, k = 0: should be greater than 0"),
        ("k = 20", "k = inf", "k_factor #2, k = inf: should be a finite number"),
        ("k = 40", 'k = "40"', "k_factor #1, k = '40': should be a number"),
        ("k = 40", "k = true", "k_factor #1, k = true: should be a number"),
        (
            "games_below = 10",
            "games_under = 10",
            "k_factor #1, games_under = 10: no such key; there are name, k, games_below, rating_from, rating_below",
        ),
        (
            "games_below = 10",
            "pools = []",
            "k_factor #1, pools: needs a pattern, or the rule never holds; leave the key out for all pools",
        ),
        (
            "games_below = 10\n",
            "",
            "k_factor: rule 'new' has no conditions, so the rules after it never apply: put it last",
        ),
        (
            "k = 20",
            "k = 20\nage_until = 18",
            "k_factor: the last rule, 'all', must have no conditions, so that everyone has a K",
        ),
        ('name = "all"', 'name = "new"', "k_factor: names must differ; given more than once: new"),
        ("window_hours = 24", "window_hours = 0", "repeat_pair, window_hours = 0: should be greater than 0"),
        (
            "window_hours = 24",
            "window_hours = 1e9",
            "repeat_pair, window_hours = 1000000000.0: should be less than or equal to 8784",
        ),
        (
            "full_weight_games = 3",
            "full_weight_games = 0",
            "repeat_pair, full_weight_games = 0: should be greater than or equal to 1",
        ),
        ("factor = 0.5", "factor = 0.0", "repeat_pair, factor = 0.0: should be greater than 0"),
        ("factor = 0.5", "factor = 1.1", "repeat_pair, factor = 1.1: should be less than or equal to 1"),
        ("minimum = 0.1", "minimum = 0", "repeat_pair, minimum = 0: should be greater than 0"),
        ("minimum = 0.1", "minimum = 2", "repeat_pair, minimum = 2: should be less than or equal to 1"),
        (
            "[repeat_pair]",
            "[match_types]\nranked = -1\n[repeat_pair]",
            "match_types, ranked = -1: should be greater than or equal to 0",
        ),
        (
            "[repeat_pair]",
            "[match_types]\nfriendly = 1\n[repeat_pair]",
            "match_types, friendly = 'friendly': no such match type; there are ranked, casual, tournament",
        ),
        ("start = 1000", "start = 1000\nfloor = 0", "floor = 0: should be a table"),
        (
            "start = 1000",
            'start = 1000\nfloor = { at = 0.5, action = "clamp" }',
            "floor, at = 0.5: should be a whole number",
        ),
        (
            "start = 1000",
            'start = 1000\nfloor = { at = 0, action = "stop" }',
            "floor, action = 'stop': should be 'clamp' or 'restart'",
        ),
        (
            "start = 1000",
            'start = 1000\nfloor = { at = 1001, action = "restart" }',
            "floor: at = 1001 must not be above the start, 1000",
        ),
        ('title = "low"', 'title = ""', "ladder #1, title = '': should not be empty"),
        (
            'title = "low"',
            'title = "low"\nlower = 1500',
            "ladder: lower bounds must rise from rung to rung: 'high' at 1500 comes after 'low' at 1500",
        ),
        ("lower = 1500", "", "ladder: rung 'high' needs a lower bound: only the first may have none"),
        (
            "start = 1000",
            "start = 1000\nspeed = 3",
            "speed = 3: no such key; there are name, version, valid_from, reason",
        ),
        ("start = 1000", "start = \n", "is not TOML: Invalid value (at line 4, column 9)"),
        ("start = 1000", "start = 1000\nstart = 1000", "is not TOML: Cannot overwrite a value"),
    ],
)
def test_each_fault_is_named(good: str, bad: str, fault: str, tmp_path: Path) -> None:
    """A file with one fault is refused in one sentence: key, value and what is allowed."""
    assert good in GOOD
    (found,) = faults(GOOD.replace(good, bad, 1), tmp_path)
    assert found.startswith(fault)


def test_no_rules_and_no_rungs(tmp_path: Path) -> None:
    """Empty lists are refused where something is needed."""
    text = 'name = "mine"\nversion = 1\nstart = 0\nprovisional_games = 0\nk_factor = []\nladder = []\nexpected = 3\n'
    assert faults(text, tmp_path) == [
        "expected = 3: should be a table",
        "k_factor: at least one rule is needed, so that everyone has a K",
        "ladder: at least one rung is needed, so that everyone has a title",
    ]


def test_all_faults_at_once(tmp_path: Path) -> None:
    """Every fault of a file is told in one go."""
    text = GOOD.replace("k = 40", "k = -40").replace("scale = 400", "").replace("minimum = 0.1", "minimum = 7")
    assert faults(text, tmp_path) == [
        "expected, scale: is missing",
        "k_factor #1, k = -40: should be greater than 0",
        "repeat_pair, minimum = 7: should be less than or equal to 1",
    ]


def test_long_values_are_cut(tmp_path: Path) -> None:
    """A value of any length leaves the sentence readable."""
    (fault,) = faults(GOOD.replace('name = "mine"', f'name = "{"X" * 5000}"'), tmp_path)
    assert len(fault) < 200


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is missing, or no text, is a fault like any other."""
    with pytest.raises(PolicyError, match=r"none\.toml: cannot be read: No such file"):
        load_policy_file(tmp_path / "none.toml")
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "\xe9"')
    with pytest.raises(PolicyError, match=r"latin\.toml: is not UTF-8: .* at byte 8"):
        load_policy_file(latin)
