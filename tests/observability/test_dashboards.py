"""The dashboards can't go stale: what is on them is what the worker exposes, and all of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from deploy.grafana.dashboard import SOURCES, text_of, written
from tests.observability.vocabulary import exposed, faults, known, rules, used

if TYPE_CHECKING:
    from pathlib import Path

# What a worker exposes and no panel shows, and why.
NOT_SHOWN = {
    "process_virtual_memory_bytes": "resident memory is what a limit counts",
    "python_gc_collections_total": "the worker hardly ever collects; CPU shows it if it does",
    "python_gc_objects_collected_total": "for whoever profiles the worker",
    "python_gc_objects_uncollectable_total": "for whoever profiles the worker",
    "python_info": "rating_build_info names the version of Python",
}
_VARIABLE = re.compile(r"\$(?:\{)?([a-z_]\w*)")
_GRAFANA_OWN = {"__rate_interval", "__range"}
_SUFFIX = re.compile(r"_(bucket|count|sum)$")

each_dashboard = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def panels(source: Path) -> list[dict[str, Any]]:
    """Give the panels of a dashboard file that show something."""
    dashboard = json.loads(written(source).read_text("utf-8"))
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries(source: Path) -> list[str]:
    """Give the queries of a dashboard file, those of its variables too."""
    dashboard = json.loads(written(source).read_text("utf-8"))
    asked = [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    return [target["expr"] for panel in panels(source) for target in panel["targets"]] + asked


@each_dashboard
def test_the_json_is_what_the_source_makes(source: Path) -> None:
    """A dashboard is changed in its source: `python -m deploy.grafana` then writes the JSON."""
    assert written(source).read_text("utf-8") == text_of(source)


@each_dashboard
def test_every_query_uses_what_there_is(source: Path) -> None:
    """No query names a metric, a label or a recording rule that is not there."""
    names = known()
    stale = {query: found for query in queries(source) if (found := faults(_plain(query), names))}
    assert stale == {}


@pytest.mark.parametrize(
    ("expr", "fault"),
    [
        ("sum(rate(rating_rated_total[5m]))", "nobody exposes or records rating_rated_total"),
        ('rating_records_total{result="rated"}', "rating_records_total has no label result"),
        ('rating_records_total{outcome="rate"}', "rating_records_total never has outcome=rate"),
        ('rating_weight_ratio_bucket{le="0.8"}', "rating_weight_ratio_bucket never has le=0.8"),
        ("sum by (policy) (rating_records_total)", "nothing in it has the label policy"),
        ("job:rating_lag:sum", "nobody exposes or records job:rating_lag:sum"),
    ],
)
def test_what_is_stale_is_found(expr: str, fault: str) -> None:
    """The check that finds no fault in the dashboards finds those that it is there for."""
    assert faults(expr, known())[0] == fault


def test_all_that_a_worker_exposes_is_shown_or_left_out_on_purpose() -> None:
    """Every metric is on some panel, by itself or in what a rule records for one; or it is listed, with the reason."""
    recorded = {rule.name: rule.expr for rule in rules() if not rule.alert}
    shown: set[str] = set()
    todo = [query for source in SOURCES for query in queries(source)]
    while todo:
        for name, _ in used(_plain(todo.pop())):
            shown.add(_SUFFIX.sub("", name))
            if name in recorded and recorded[name] not in todo:
                todo.append(recorded[name])
    there = {_SUFFIX.sub("", name) for name in exposed()}
    assert there - shown - NOT_SHOWN.keys() == set()
    assert NOT_SHOWN.keys() & shown == set()
    assert NOT_SHOWN.keys() <= there


@each_dashboard
def test_every_panel_says_what_to_make_of_it(source: Path) -> None:
    """Each panel has a title of its own, a unit, and says what it shows; no query is without its unit or name."""
    seen = panels(source)
    assert len({panel["title"] for panel in seen}) == len(seen)
    for panel in seen:
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert len(panel["description"]) > 40, panel["title"]
        assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]


@each_dashboard
def test_panels_lie_side_by_side(source: Path) -> None:
    """Panels have ids of their own, stay on the grid and cover no other."""
    dashboard = json.loads(written(source).read_text("utf-8"))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


@each_dashboard
def test_every_variable_is_there_and_used(source: Path) -> None:
    """A query asks for no variable that the dashboard does not offer, and each that it offers is asked for."""
    dashboard = json.loads(written(source).read_text("utf-8"))
    offered = {variable["name"] for variable in dashboard["templating"]["list"]}
    asked = {name for query in queries(source) for name in _VARIABLE.findall(query)} - _GRAFANA_OWN
    assert asked | {"datasource"} == offered


def _plain(query: str) -> str:
    """Give a query without Grafana's own functions."""
    if query.startswith("label_values("):
        selector, _, label = query.removeprefix("label_values(").removesuffix(")").rpartition(", ")
        return f"sum by ({label}) ({selector})"
    return query
