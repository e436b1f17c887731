"""Every figure of the rule texts, as vectors/rules.json has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.rating.examples import BICIID, FIDE, POLICIES, POOLS, YIBOARD, match, player, policy, rated
from worker.rating import Policy, display
from worker.rating.k_factor import choose_k

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "rules.json").read_text())

SCORES = {"win": 1.0, "draw": 0.5, "loss": 0.0}


def with_results(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """Pair each row with each result that it has a figure for."""
    return [(row, result) for row in rows for result in SCORES if result in row]


def with_k(k: float) -> Policy:
    """Make a policy by the curve in which everyone has one K."""
    return policy(k_factor=[{"name": "all", "k": k}])


def test_no_figure_is_left_out() -> None:
    """The tests below cover every section of the file and every key of its entries."""
    assert set(VECTORS) == {
        "note",
        "expected_score",
        "single_match",
        "yiboard_title",
        "biciid_tier",
        "k_factor",
        "repeat_pair_weight",
        "fide_table",
        "sequences",
    }
    assert {key for entry in VECTORS["single_match"] for key in entry} == {"k", "own", "opponent", *SCORES}
    assert {key for entry in VECTORS["fide_table"] for key in entry} == {
        *("k", "own", "opponent", *SCORES),
        *("gap", "expected"),
    }
    assert {key for entry in VECTORS["k_factor"] for key in entry} == {
        *("policy", "pool", "rated_games_before", "rating", "peak", "k")
    }
    assert [set(entry) for entry in VECTORS["sequences"]] == [
        {"k", "a", "b", "results", "a_after"},
        {"k", "own", "opponent", "win_gives"},
    ]


@pytest.mark.parametrize("row", VECTORS["expected_score"])
def test_expected_score(row: dict[str, int]) -> None:
    """The curve gives the expected scores of the text, in whole percent."""
    expected, _ = YIBOARD.expected.score(2000.0, 2000.0 + row["behind_by"])
    assert display(100 * expected) == row["percent"]


@pytest.mark.parametrize(("row", "result"), with_results(VECTORS["single_match"]))
def test_single_match(row: dict[str, int], result: str) -> None:
    """A match moves a player by the whole points of the text, win, draw or loss."""
    outcome = rated(match(SCORES[result]), player(row["own"]), player(row["opponent"]), with_k(row["k"]))
    assert display(outcome.changes[0].delta) == row[result]
    assert display(outcome.changes[1].delta) == -row[result]


@pytest.mark.parametrize(("rating", "title"), VECTORS["yiboard_title"])
def test_yiboard_title(rating: float, title: str) -> None:
    """A yiboard rating holds the grade or dan of the text."""
    assert YIBOARD.title(rating) == title


@pytest.mark.parametrize(("rating", "tier"), VECTORS["biciid_tier"])
def test_biciid_tier(rating: float, tier: str) -> None:
    """A BICIID rating stands in the tier of the text."""
    assert BICIID.title(rating) == tier


@pytest.mark.parametrize("row", VECTORS["k_factor"])
def test_k_factor(row: dict[str, Any]) -> None:
    """A player has the K of the text, by rated games, rating, peak and pool."""
    name = row["policy"]
    state = player(row["rating"], games=row["rated_games_before"], peak=row.get("peak", row["rating"]))
    game = match(pool=row.get("pool", POOLS[name]))
    assert choose_k(POLICIES[name].k_factor, state, None, game.pool, game.finished_at).k == row["k"]
    assert rated(game, state, player(), POLICIES[name]).changes[0].k == row["k"]


@pytest.mark.parametrize("row", VECTORS["repeat_pair_weight"])
@pytest.mark.parametrize("name", ["yiboard", "biciid"])
def test_repeat_pair_weight(row: dict[str, Any], name: str) -> None:
    """A match weighs what the text says by the earlier games of the pair within a day."""
    outcome = rated(match(), player(), player(), POLICIES[name], row["earlier_games_of_the_pair_in_24h"])
    assert [change.weight for change in outcome.changes] == [row["weight"]] * 2


@pytest.mark.parametrize("row", [row for row in VECTORS["fide_table"] if "gap" in row])
def test_fide_table(row: dict[str, Any]) -> None:
    """FIDE's table gives the stronger side the score of the text."""
    assert FIDE.expected.of_stronger(row["gap"]) == row["expected"]


@pytest.mark.parametrize(("row", "result"), with_results(VECTORS["fide_table"]))
def test_match_by_fide_table(row: dict[str, Any], result: str) -> None:
    """A match by FIDE's table moves a player by the points of the text, to one decimal."""
    game = match(SCORES[result], pool="chess/standard")
    change = rated(game, player(row["own"]), player(row["opponent"]), FIDE).changes[0]
    assert change.k == row["k"]
    assert change.delta == pytest.approx(row[result], abs=1e-9)


def test_three_wins_in_a_row() -> None:
    """A sequence of wins gives the ratings of the text: nothing is rounded between the matches."""
    row = VECTORS["sequences"][0]
    assert row["results"] == "a wins three times"
    a, b = player(row["a"]), player(row["b"])
    for after in row["a_after"]:
        a, b = rated(match(1.0), a, b, with_k(row["k"])).states
        assert a.rating == pytest.approx(after, abs=5e-8)


def test_a_win_to_four_decimals() -> None:
    """A single win gives the rating of the text, to four decimals."""
    row = VECTORS["sequences"][1]
    outcome = rated(match(1.0), player(row["own"]), player(row["opponent"]), with_k(row["k"]))
    assert outcome.states[0].rating == pytest.approx(row["win_gives"], abs=5e-5)
