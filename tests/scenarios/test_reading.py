"""A mistake in a scenario is told with file and line, what was found and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.comparing import differences
from tests.scenarios.outcome import Outcome
from tests.scenarios.reading import Scenario, ScenarioError, read
from tests.scenarios.running import prepare

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """# Family

- Pool: yi

## One scenario

Prose with **bold** words.

**Events**

| time | event | id | who |
| --- | --- | --- | --- |
| day 1 12:00 | match | m1 | ann 1–0 bob |

**Changes**

| match | player | after | provisional |
| --- | --- | --- | --- |
| m1 | ann | 1232 | yes |
| m1 | bob | 1168 | yes |
"""


def written(folder: Path, text: str) -> Path:
    """Write a file of scenarios."""
    file = folder / "family.md"
    file.write_text(text, "utf-8")
    return file


def scenario(folder: Path, text: str = GOOD) -> Scenario:
    """Give the one scenario of a text."""
    (one,) = read(written(folder, text))
    return one


def test_a_scenario_is_read_whole(tmp_path: Path) -> None:
    """Its name, its settings and its tables with the lines that they stand in."""
    one = scenario(tmp_path)
    assert str(one) == "family: One scenario"
    assert one.setting("Pool") == "yi"
    assert one.tables["Events"].rows[0].line == 13
    assert one.tables["Changes"].rows[1].cells == {
        "match": "m1",
        "player": "bob",
        "after": "1168",
        "provisional": "yes",
    }


@pytest.mark.parametrize(
    ("found", "put", "error"),
    [
        ("- Pool: yi", "- Pond: yi", "line 3: 'Pond: yi' is no setting"),
        ("**Events**", "Events", "line 11: a table needs a name in bold"),
        ("**Events**", "**Event**", r"line 5: the scenario has no table \*\*Events\*\*"),
        ("**Changes**", "**Events**", r"line 15: this scenario has a table \*\*Events\*\* already"),
        ("**Changes**", "**Change**", r"line 17: no such table as \*\*Change\*\*; there are Events, Changes"),
        ("| 1232 | yes |", "| 1232 |", "line 19: the row has 3 cells, the heading has 4"),
        (
            "| match | player |",
            "| match | gamer |",
            r"line 17: \*\*Changes\*\* has no column 'gamer'; there are match, player",
        ),
        (
            "| time | event |",
            "| when | event |",
            r"line 11: \*\*Events\*\* has no column 'when'; there are time, event",
        ),
        ("| 1232 |", "| much |", "line 19: column 'after': 'much' is no number"),
        ("| 1232 | yes |", "| 1232 | maybe |", "line 19: column 'provisional': 'maybe' is neither yes nor no"),
        ("day 1 12:00", "noon", "line 13: 'noon' is no time; allowed is 'day 3'"),
        ("day 1 12:00", "day 59", "line 13: 'day 59' lies less than 3 days before"),
        ("| match | m1 | ann", "| game | m1 | ann", "line 13: no such event as 'game'; there are match, void"),
        (
            "who |\n| --- | --- | --- | --- |\n| day 1 12:00 | match | m1 | ann 1–0 bob |",
            "who | verified |\n| --- | --- | --- | --- | --- |\n| day 1 12:00 | match | m1 | ann 1–0 bob | perhaps |",
            "line 13: verified is 'perhaps'; it is yes or no",
        ),
        ("ann 1–0 bob", "ann beats bob", "line 13: who is 'ann beats bob'; of a match it is written"),
        ("- Pool: yi", "", "line 13: no pool"),
        ("- Pool: yi", "- Pool: yi\n- Day 0: once", "line 4: 'once' is no start"),
        ("- Pool: yi", "- Pool: yi\n- Policy: house", "line 4: no policy 'house'"),
        ("- Pool: yi", "- Pool: yi\n- Starting rating: 1; then 2", "line 4: 'then 2' is no later start"),
        ("| m1 | ann 1–0 bob |", "| m1 | ann 1–0 bob |\n| day 2 | void | m2 | |", "line 14: no row with the id 'm2'"),
        (
            "| m1 | ann 1–0 bob |",
            "| m1 | ann 1–0 bob |\n| | match again | m2 | |",
            "line 14: 'match again': no row above",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, found: str, put: str, error: str) -> None:
    """Whoever writes tables sees at once where, what and what is allowed."""
    assert found in GOOD
    with pytest.raises(ScenarioError, match=f"family.md, {error}"):
        prepare(scenario(tmp_path, GOOD.replace(found, put, 1)))


def came_out(**other: object) -> Outcome:
    """Give what comes out of the scenario, ann's change with other values."""
    outcome = Outcome()
    for player, after in (("ann", 1232.0), ("bob", 1168.0)):
        outcome.rows["Changes"].append({"match": "m1", "player": player, "after": after, "provisional": True})
        outcome.rows["Changes"][-1] |= {"reason": "match"}
    outcome.rows["Changes"][0] |= other
    return outcome


def test_what_comes_out_as_written_is_no_difference(tmp_path: Path) -> None:
    """Figures are compared to the decimals that they are written with."""
    prepared = prepare(scenario(tmp_path))
    assert differences(prepared.scenario, prepared.story.clock, came_out()) == ""
    assert differences(prepared.scenario, prepared.story.clock, came_out(after=1232.4)) == ""


def test_a_difference_shows_in_its_cell(tmp_path: Path) -> None:
    """The table is shown with what came out beside what was expected, and the line to look at."""
    prepared = prepare(scenario(tmp_path))
    report = differences(prepared.scenario, prepared.story.clock, came_out(after=1232.6, provisional=False))
    (line,) = [line for line in report.splitlines() if line.startswith("✗")]
    assert line.split("  ")[1:] != []
    assert "1232 ≠ 1232.6" in line
    assert "yes ≠ no" in line
    assert line.endswith("line 19")


def test_more_and_less_than_the_table_says_shows(tmp_path: Path) -> None:
    """A table is complete, unless it has a row that says that there is more; a row of it has to come out."""
    prepared = prepare(scenario(tmp_path))
    outcome = came_out()
    less = outcome.rows["Changes"].pop()
    assert "line 20: did not come out" in differences(prepared.scenario, prepared.story.clock, outcome)
    outcome.rows["Changes"] += [less, less | {"player": "cat"}]
    assert "cat" in differences(prepared.scenario, prepared.story.clock, outcome)
    more = prepare(scenario(tmp_path, GOOD + "| … | | | |\n"))
    assert differences(more.scenario, more.story.clock, outcome) == ""


def test_what_no_table_speaks_of_must_not_come_out(tmp_path: Path) -> None:
    """Dead letters and unrated matches are never passed over."""
    prepared = prepare(scenario(tmp_path))
    outcome = came_out()
    outcome.rows["Dead letters"].append({"id": "m2", "reason": "schema", "says": "$"})
    assert differences(prepared.scenario, prepared.story.clock, outcome).startswith("Dead letters")


def test_a_players_changes_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    """Rows of one player that come out the other way round are a difference; those of two players are none."""
    text = GOOD.replace("| m1 | bob | 1168 | yes |", "| m2 | ann | 1168 | yes |")
    prepared = prepare(scenario(tmp_path, text))
    outcome = came_out()
    outcome.rows["Changes"][1] |= {"match": "m2", "player": "ann"}
    assert differences(prepared.scenario, prepared.story.clock, outcome) == ""
    outcome.rows["Changes"].reverse()
    assert "came out before the rows above it" in differences(prepared.scenario, prepared.story.clock, outcome)
