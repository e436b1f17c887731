"""`rating-worker rate` gives every figure of the rule texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.cli.matches import lines, policy_file
from worker.policies import load_policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.cli.conftest import Ended

    Cli = Callable[..., Ended]

_FOLDER = Path(__file__).parents[1] / "rating" / "vectors"
VECTORS: dict[str, Any] = json.loads((_FOLDER / "rules.json").read_text(encoding="utf-8"))
SCORES = {"win": 1.0, "draw": 0.5, "loss": 0.0}
SHIPPED = Path(__file__).parents[3] / "worker" / "policies"

FIDE_TABLE = next(policy for policy in load_policies().policies if policy.name == "fide").expected
FIDE_METHOD = f'[expected]\nmethod = "fide-table"\ntable = {list(getattr(FIDE_TABLE, "table", ()))}\n'


def with_results(section: str) -> list[tuple[dict[str, Any], str]]:
    """Pair each entry of a section with each result that it has a figure for."""
    return [(case, result) for case in VECTORS[section] for result in SCORES if result in case]


def apart(gap: int, k: float) -> list[str]:
    """Give K rules by which a player's first game sets two equal players `gap` points apart; then `k` holds."""
    return [f"games_below = 1\nk = {gap}", f"k = {k}"]


def changes_of(ended: Ended, match_id: str) -> dict[str, dict[str, Any]]:
    """Give a match's changes by player."""
    assert ended.code == 0, ended.err
    return {change["player_id"]: change for change in ended.lines if change["match_id"] == match_id}


@pytest.mark.parametrize("case", VECTORS["expected_score"], ids=str)
def test_expected_score(cli: Cli, tmp_path: Path, case: dict[str, int]) -> None:
    """A player so far behind is expected to score so many percent."""
    gap = case["behind_by"]
    policy = policy_file(tmp_path, apart(abs(gap), 20) if gap else ["k = 20"])
    games = [("b", "a", 1.0), ("a", "b", 0.5)] if gap else [("a", "b", 0.5), ("a", "b", 0.5)]
    change = changes_of(cli("rate", "--policy", policy, stdin=lines(*games)), "m1")["a" if gap >= 0 else "b"]
    assert round(change["expected"] * 100) == case["percent"]


@pytest.mark.parametrize(("case", "result"), with_results("single_match"), ids=str)
def test_single_match(cli: Cli, tmp_path: Path, case: dict[str, int], result: str) -> None:
    """A match between two ratings moves a player by so many whole points."""
    own, opponent = case["own"], case["opponent"]
    policy = policy_file(tmp_path, apart(abs(own - opponent) or 1, case["k"]), start=(own + opponent) // 2)
    first = 0.5 if own == opponent else float(own > opponent)
    change = changes_of(
        cli("rate", "--policy", policy, stdin=lines(("a", "b", first), ("a", "b", SCORES[result]))), "m1"
    )["a"]
    assert change["before"] == own
    assert change["display_delta"] == case[result]


@pytest.mark.parametrize(("name", "section"), [("yiboard", "yiboard_title"), ("biciid", "biciid_tier")])
def test_title(cli: Cli, tmp_path: Path, name: str, section: str) -> None:
    """A rating has the title of its rung, to the hundredth."""
    ladder = "[[ladder]]" + (SHIPPED / f"{name}.toml").read_text(encoding="utf-8").partition("[[ladder]]")[2]
    for rating, title in VECTORS[section]:
        whole = -int(-rating // 1)  # rounded up: an equal opponent's win takes a hundredth at K = 0.02
        policy = policy_file(tmp_path, ["k = 0.02"], start=whole, ladder=ladder)
        change = changes_of(cli("rate", "--policy", policy, stdin=lines(("a", "b", 0.0))), "m0")["a"]
        reached = "before" if rating == whole else "after"
        assert change[reached] == pytest.approx(rating)
        assert change[f"title_{reached}"] == title


@pytest.mark.parametrize("case", VECTORS["k_factor"], ids=str)
def test_k_factor(cli: Cli, tmp_path: Path, case: dict[str, Any]) -> None:
    """A player with so many games, rating and peak has such a K by the policy that ships with the worker."""
    games, rating = case["rated_games_before"], case["rating"]
    start = int(case.get("peak", rating))
    source = (SHIPPED / f"{case['policy']}.toml").read_text(encoding="utf-8")
    source = re.sub(r"^start = \d+", f"start = {start}", source, flags=re.MULTILINE)
    played = [("a", "b", 0.5)] * games  # draws of equal players move nobody
    if rating != start:
        # The last of these games takes the player to the rating, by a K that holds for these games alone.
        rule = f'[[k_factor]]\nname = "before"\ngames_below = {games}\nk = {2 * abs(rating - start)}\n\n'
        source = source.replace("[[k_factor]]", f"{rule}[[k_factor]]", 1)
        played[-1] = ("a", "c", float(rating > start))
    policy = tmp_path / "policy.toml"
    policy.write_text(source, encoding="utf-8")
    ended = cli("rate", "--policy", policy, stdin=lines(*played, ("a", "d", 0.5), pool=case.get("pool", "any")))
    change = changes_of(ended, f"m{games}")["a"]
    assert change["before"] == pytest.approx(rating)
    assert change["games"] == games + 1
    assert change["k"] == case["k"]


@pytest.mark.parametrize("policy", ["yiboard", "biciid"])
def test_repeat_pair_weight(cli: Cli, policy: str) -> None:
    """A game weighs the less, the more the pair has played within a day."""
    weights = {case["earlier_games_of_the_pair_in_24h"]: case["weight"] for case in VECTORS["repeat_pair_weight"]}
    ended = cli("rate", "--policy", policy, stdin=lines(*[("a", "b", 1.0)] * (max(weights) + 1)))
    for earlier, weight in weights.items():
        assert [change["weight"] for change in changes_of(ended, f"m{earlier}").values()] == [weight, weight]


@pytest.mark.parametrize("case", [case for case in VECTORS["fide_table"] if "gap" in case], ids=str)
def test_fide_table(cli: Cli, tmp_path: Path, case: dict[str, Any]) -> None:
    """The stronger side's expected score by the gap in whole points is FIDE's."""
    policy = policy_file(tmp_path, apart(case["gap"], 20), rest=FIDE_METHOD)
    ended = cli("rate", "--policy", policy, stdin=lines(("a", "b", 1.0), ("a", "b", 0.5)))
    assert changes_of(ended, "m1")["a"]["expected"] == case["expected"]


@pytest.mark.parametrize(("case", "result"), with_results("fide_table"), ids=str)
def test_fide_match(cli: Cli, tmp_path: Path, case: dict[str, Any], result: str) -> None:
    """A match by FIDE's table moves a player by so many points, to the tenth."""
    own, opponent = case["own"], case["opponent"]
    policy = policy_file(tmp_path, apart(2 * (opponent - own) or 1, case["k"]), start=own, rest=FIDE_METHOD)
    first = [("b", "c", 1.0 if opponent > own else 0.5), ("a", "d", 0.5)]
    change = changes_of(cli("rate", "--policy", policy, stdin=lines(*first, ("a", "b", SCORES[result]))), "m2")["a"]
    assert change["before"] == own
    assert change["delta"] == pytest.approx(case[result], abs=1e-9)


def test_three_wins(cli: Cli, tmp_path: Path) -> None:
    """Three wins in a row between the same two give these ratings: nothing is rounded on the way."""
    case = VECTORS["sequences"][0]
    policy = policy_file(tmp_path, [f"k = {case['k']}"], start=case["a"])
    ended = cli("rate", "--policy", policy, stdin=lines(*[("a", "b", 1.0)] * len(case["a_after"])))
    after = [changes_of(ended, f"m{number}")["a"]["after"] for number in range(len(case["a_after"]))]
    assert after == pytest.approx(case["a_after"], abs=5e-8)


def test_a_win_to_four_decimals(cli: Cli, tmp_path: Path) -> None:
    """A win between these two ratings gives this rating, to four decimals."""
    case = VECTORS["sequences"][1]
    gap = case["own"] - case["opponent"]
    policy = policy_file(tmp_path, apart(gap, case["k"]), start=case["own"] - gap // 2)
    change = changes_of(cli("rate", "--policy", policy, stdin=lines(*[("a", "b", 1.0)] * 2)), "m1")["a"]
    assert change["before"] == case["own"]
    assert change["after"] == pytest.approx(case["win_gives"], abs=5e-5)


def test_no_section_is_left_out() -> None:
    """The tests above cover every section of the file."""
    assert set(VECTORS) == {
        *("note", "expected_score", "single_match", "yiboard_title", "biciid_tier"),
        *("k_factor", "repeat_pair_weight", "fide_table", "sequences"),
    }
