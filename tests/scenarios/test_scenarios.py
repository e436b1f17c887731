"""Every scenario of the Markdown files in this folder, on real Kafka and real Postgres; see README.md there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.collecting import Played
from tests.scenarios.comparing import differences
from tests.scenarios.events import Sent
from tests.scenarios.facts import broken_facts
from tests.scenarios.reading import ScenarioError, read
from tests.scenarios.running import Prepared, arenas, play, prepare
from worker.events import validator

if TYPE_CHECKING:
    from deploy.local import Stack

FOLDER = Path(__file__).parent
FILES = [file for file in sorted(FOLDER.glob("*.md")) if file.name != "README.md"]


def scenarios() -> list[Any]:
    """Give every scenario, ready to run; in place of one that can't be read, what is wrong with it."""
    found: list[Any] = []
    for file in FILES:
        try:
            written = read(file)
        except ScenarioError as error:
            found.append(pytest.param(error, id=file.stem))
            continue
        for scenario in written:
            ready: Prepared | ScenarioError
            try:
                ready = prepare(scenario)
            except ScenarioError as error:
                ready = error
            found.append(pytest.param(ready, id=str(scenario)))
    return found


SCENARIOS = scenarios()


@pytest.fixture(scope="module")
async def played(request: pytest.FixtureRequest, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """What came out of the scenarios that are asked for, played together."""
    asked = [item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")]
    prepared = {one.scenario.prefix: one for one in asked if isinstance(one, Prepared)}  # each once, for all its tests
    whole = Played()
    for arena in arenas(list(prepared.values())):
        part = await play(stack, arena, tmp_path_factory.mktemp("arena"))
        whole.outcomes |= part.outcomes
        whole.stray += part.stray
    return whole


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_scenario(scenario: Prepared | ScenarioError, played: Played) -> None:
    """What comes out of the events of a scenario is what its tables say."""
    if isinstance(scenario, ScenarioError):
        raise scenario
    outcome = played.outcomes[scenario.scenario.prefix]
    found = differences(scenario.scenario, scenario.story.clock, outcome)
    broken = "\n".join(broken_facts(outcome.events))
    if found or broken:
        pytest.fail(f"{scenario}\n\n{found or broken}", pytrace=False)


def test_events_are_what_the_contract_allows() -> None:
    """What the scenarios send are events as schemas/ describes them, but for those whose dead letters they name."""
    for (prepared,) in (parameters.values for parameters in SCENARIOS):
        if isinstance(prepared, ScenarioError):
            continue  # its own test says so
        letters = prepared.scenario.tables.get("Dead letters")
        refused = {row.cells.get("id") for row in letters.rows} if letters else set()
        for step in prepared.story.steps:
            if isinstance(step, Sent) and step.event is not None and step.row not in refused:
                validator(step.event).validate(step.record.json())


async def test_nothing_comes_out_that_no_scenario_asked_for(played: Played) -> None:
    """Every record on the output topics belongs to a scenario."""
    assert played.stray == []
