"""`policy list`, `show` and `diff` from files alone: what there is, in words, and what a version changed."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worker.policies
from worker.cli.policy_toml import policy_toml
from worker.cli.policy_words import in_words
from worker.ledger.reads.explanation import number
from worker.policies import load_policies, load_policy_file
from worker.rating import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.cli.conftest import Ended

    Cli = Callable[..., Ended]

SHIPPED = load_policies().policies
FOLDER = Path(worker.policies.__file__).parent
NOW = datetime(2026, 3, 1, tzinfo=UTC)
PERCENTAGES = {"share", "each_wins"}
by_name = pytest.mark.parametrize("policy", SHIPPED, ids=lambda one: f"{one.name}-{one.version}")


def later_fide(folder: Path, date: str = "2027-01-01T00:00:00Z") -> Path:
    """Write a third version of fide, with 20 instead of 10 for the elite."""
    text = (FOLDER / "fide-2.toml").read_text("utf-8")
    text = text.replace("version = 2", "version = 3").replace("2025-10-01T00:00:00Z", date)
    path = folder / "fide-3.toml"
    path.write_text(text.replace("k = 10", "k = 15"), "utf-8")
    return path


def test_list(cli: Cli) -> None:
    """Every version is there with its date, state, digest, reason and pools, as a table and as JSON."""
    shown = cli("policy", "list")
    assert shown.code == 0
    for policy in SHIPPED:
        assert policy.digest[:8] in shown.out
        assert policy.reason in shown.out
    assert "fide: rates chess/*" in shown.out
    assert "registered" not in shown.out
    in_json = json.loads(cli("policy", "list", "--json").out)["policies"]
    assert [(one["name"], one["version"], one["digest"]) for one in in_json] == [
        (one.name, one.version, one.digest) for one in SHIPPED
    ]
    assert {(one["name"], one["version"]): one["state"] for one in in_json}["fide", 1] == "over"
    assert in_json[2]["valid_from"] == in_json[1]["until"] == "2025-10-01T00:00:00Z"


def test_list_fits_into_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a reason, which wraps, is wider than 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("policy", "list").out.splitlines()
    assert [line for line in lines if len(line.rstrip()) > 80 and not line.startswith(" Version")] == []


def test_an_operator_s_version_of_next_year(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A version in a file of the operator's is listed with its path, is to come, and is not what `show` shows."""
    path = later_fide(tmp_path, "2999-01-01T00:00:00Z")
    monkeypatch.setenv("RATING_POLICY_FILES", str(path))
    [third] = [one for one in json.loads(cli("policy", "list", "--json").out)["policies"] if one["version"] == 3]
    assert (third["state"], third["file"]) == ("to come", str(path))
    assert "fide, version 2" in cli("policy", "show", "fide").out
    shown = cli("policy", "show", "fide", 3)
    assert "Valid from 2999-01-01: to come; rates chess/*." in shown.out
    assert "15: has ever reached 2400" in shown.out


def test_show_in_words(cli: Cli) -> None:
    """A person who reads no TOML learns when K is what, what an absence costs and who is flagged."""
    shown = cli("policy", "show", "biciid").out
    for words in (
        "everyone starts at 1000",
        "40: fewer than 20 rated games before the match",
        "casual recorded, not rated",
        "every further full 30 days cost 15 points, never below 1200",
        "nobody enters who is suspended, banned, provisional, inactive or yet to requalify",
        "a pair plays 6 or more in 24 h, each side winning at least 40%",
        "Grandmaster 2200",
    ):
        assert words in shown


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Give every number of a policy's rules, wherever it is, with the name of its key."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


@by_name
def test_no_number_is_left_out(policy: Policy) -> None:
    """Every number of a policy is said in words, as often as it is there: as it is, as a percentage, or as none."""
    said = Counter(re.findall(r"\d+%|\.?\d[\d.]*(?<=\d)", " ".join(clause.words for clause in in_words(policy))))
    lowest = policy.ladder[0].lower
    needed = Counter(
        f"{value:.0%}" if name in PERCENTAGES else number(value)
        for name, value in numbers(policy.model_dump(mode="json", exclude_defaults=True, exclude={"version"}))
        if not (name == "lower" and value == lowest) and not (name == "casual" and value == 0)
    )
    assert needed - said == Counter()


def test_every_kind_of_rule_has_words() -> None:
    """A policy that does without most rules says so of each, and each switch changes the words."""
    bare = {
        "name": "bare",
        "version": 1,
        "start": 1500,
        "provisional_games": 0,
        "expected": {"method": "logistic", "scale": 400.0},
        "k_factor": [{"name": "all", "k": 20.0}],
        "ladder": [{"title": "anyone"}],
    }
    said = [words for _, words in in_words(Policy.model_validate(bare))]
    for switch in (
        {"require_verified": True},
        {"draws": "unrated"},
        {"rounding": "integer"},
        {"floor": {"at": 100, "action": "clamp"}},
        {"floor": {"at": 100, "action": "restart"}},
        {"inactivity": {"after_days": 1.0}},
        {"inactivity": {"after_days": 1.0, "requalify_games": 1}},
        {"tournaments": {"refuse_provisional": True}},
        {"tournaments": {"refuse_inactive": True}},
        {"signals": {"boosting": {"losses": 5}}},
        {"match_types": {"casual": 0.0}},
        {"provisional_games": 1},
        {
            "k_factor": [
                {"name": "young", "k": 40.0, "age_until": 18, "rating_below": 2300.0},
                {"name": "all", "k": 2.0},
            ]
        },
    ):
        words = [words for _, words in in_words(Policy.model_validate(bare | switch))]
        assert words != said, switch
        assert "None" not in " ".join(words)


def test_show_toml(cli: Cli) -> None:
    """--toml prints the file with its comments: what one starts a policy of one's own from."""
    shown = cli("policy", "show", "yiboard", "--toml")
    assert shown.out == (FOLDER / "yiboard.toml").read_text("utf-8")
    assert cli("policy", "show", "yiboard", "--toml", "--json").code == 2


@by_name
def test_a_policy_without_a_file_can_be_written_as_one(policy: Policy, tmp_path: Path) -> None:
    """What is written from a version that only the ledger keeps reads as the same version, with the same digest."""
    path = tmp_path / "again.toml"
    path.write_text(policy_toml(policy), "utf-8")
    assert load_policy_file(path).ref == policy.ref


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_text_can_be_written(text: str) -> None:
    """Quotes, backslashes, line ends and control characters come back as they were."""
    policy = SHIPPED[0].model_copy(update={"notes": (text,)})
    assert tomllib.loads(policy_toml(policy))["notes"] == [text]


def test_show_json(cli: Cli) -> None:
    """--json has every rule with its defaults spelt out, and when and why the version holds."""
    shown = json.loads(cli("policy", "show", "fide", 1, "--json").out)
    assert shown["rules"]["draws"] == "half"
    assert shown["rules"]["expected"]["gap_cap"] == 400
    assert (shown["version"], shown["state"], shown["pools"]) == (1, "over", ["chess/*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("show", "nonsense"),
            "No policy nonsense: there are biciid, fide, yiboard. With --database the ledger is asked",
        ),
        (("show", "fide", 9), "fide has no version 9: there are 1, 2."),
        (("diff", "fide", 9), "fide has no version 9: there are 1, 2."),
        (("diff", "yiboard"), "yiboard has one version only, 1: nothing to compare."),
    ],
    ids=str,
)
def test_what_is_not_there(cli: Cli, arguments: tuple[object, ...], said: str) -> None:
    """A policy or a version that is not there is told with those that are."""
    ended = cli("policy", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err


def test_diff(cli: Cli) -> None:
    """Without versions the last two are compared; the newer one's reason is told."""
    shown = cli("policy", "diff", "fide")
    assert shown.code == 0
    assert "fide: version 1 → version 2" in shown.out
    assert SHIPPED[2].reason in shown.out
    row = next(line for line in shown.out.splitlines() if "expected.gap_cap_below" in line)
    assert row.split() == ["expected.gap_cap_below", "not", "set", "2650"]
    found = json.loads(cli("policy", "diff", "fide", 1, 2, "--json").out)
    assert [one["key"] for one in found["differences"]] == ["expected.gap_cap_below", "notes"]
    back = json.loads(cli("policy", "diff", "fide", 2, 1, "--json").out)["differences"]
    assert [(one["before"], one["after"]) for one in back] == [
        (one["after"], one["before"]) for one in found["differences"]
    ]
    assert "No rule differs." in cli("policy", "diff", "fide", 2, 2).out
