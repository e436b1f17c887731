"""What the chart has from elsewhere can't go stale, and its values are what its schema says."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest
import yaml

from deploy.helm.made import CHART, made
from worker.settings import Settings
from worker.settings.text import secret_fields, variable

if TYPE_CHECKING:
    from pathlib import Path

VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def test_files_from_elsewhere_are_up_to_date() -> None:
    """The schema, the rules and the dashboards in the chart are what `python -m deploy.helm` writes, and all of it."""
    wanted = made()
    stale = [path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run `python -m deploy.helm`"
    assert {path for path in (CHART / "files").rglob("*") if path.is_file()} <= wanted.keys()


def test_every_setting_has_one_place_in_the_values() -> None:
    """Each setting of the worker is given by value, as a secret, as a file, or by the chart itself; never twice."""
    places = {part: set(SCHEMA["properties"][part]["properties"]) for part in ("settings", "secrets", "files")}
    own = {"RATING_INSTANCE_ID", "RATING_STATIC_MEMBERSHIP", "RATING_HTTP_HOST", "RATING_HTTP_PORT"}
    every = [*places["settings"], *places["secrets"], *places["files"], *own, "RATING_POLICY_FILES"]
    assert sorted(every) == sorted(variable(field) for field in Settings.model_fields)
    assert places["secrets"] == {variable(field) for field in secret_fields(Settings)}


@pytest.mark.parametrize("path", [CHART / "values.yaml", *sorted((CHART / "ci").glob("*.yaml"))], ids=lambda p: p.stem)
def test_values_meet_their_schema(path: Path) -> None:
    """The defaults, and the values that the checks render the chart with, are allowed."""
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(SCHEMA).validate(VALUES | given)


def test_the_chart_is_of_this_version() -> None:
    """The image that the chart runs unless told is the one of this version."""
    project = tomllib.loads((CHART.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == project["version"]


def test_what_the_charts_readme_links_to_is_there() -> None:
    """Every link leads somewhere."""
    text = (CHART / "README.md").read_text(encoding="utf-8")
    targets = [part.partition(")")[0] for part in text.split("](")[1:]]
    assert targets
    assert [to for to in targets if not (CHART / to).exists()] == []


def test_each_value_is_documented_and_allowed() -> None:
    """values.yaml names every value of the chart, so that who reads it has read all."""
    assert VALUES.keys() | {"global"} == SCHEMA["properties"].keys()
