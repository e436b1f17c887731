"""From a dashboard's TOML source to the JSON model that Grafana 10 and later load.

A source has rows of panels, laid out from left to right on Grafana's grid of 24 columns. Of a panel it says:

    kind             `lines` over time, a `figure`, a `distribution` (a histogram's buckets as bars), or Grafana's own
                     name of another kind, whose `options`, `custom` and `transformations` are then handed on
    title, about     what it shows; what is good, and what to do when it is not
    unit             Grafana's name of the unit
    query, queries   PromQL; where there are several, each behind the name of its series. `{WHO}` selects the workers
                     that the dashboard's variables name; `{JOB}` their scrape job, for what only one worker or a rule
                     knows
    width, height    in cells of the grid
    thresholds       from which value on which colour holds, after green
    stacked          lines on top of each other
    from_zero        whether the axis starts at 0; true unless said otherwise
    defaults         options of its fields, such as `min` and `max`
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Json = dict[str, Any]

SOURCES = sorted(Path(__file__).parent.glob("*.toml"))

_SCHEMA_VERSION = 39
_COLUMNS = 24
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_SELECTORS = {"WHO": 'job=~"$job", instance=~"$instance"', "JOB": 'job=~"$job"'}
_SIZES = {"figure": (4, 5)}
_SIZE = (8, 8)
_KINDS = {"lines": "timeseries", "figure": "stat", "distribution": "bargauge"}
_AS_OF_NOW = {"table": "table", "barchart": "table", "distribution": "heatmap"}  # and the form of the answer
_LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, Json] = {
    "lines": {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "figure": {"reduceOptions": _LAST, "graphMode": "area", "colorMode": "value"},
    "distribution": {"reduceOptions": _LAST, "orientation": "horizontal", "displayMode": "gradient"},
}


def written(source: Path) -> Path:
    """Name the JSON file of a source."""
    return source.with_suffix(".json")


def text_of(source: Path) -> str:
    """Give the text of the JSON file of a source."""
    return json.dumps(model(source.stem, tomllib.loads(source.read_text("utf-8"))), indent=2, ensure_ascii=False) + "\n"


def model(name: str, source: Json) -> Json:
    """Give a dashboard as Grafana's JSON model."""
    links = {"type": "dashboards", "title": "Rating worker", "asDropdown": True, "keepTime": True, "includeVars": True}
    return {
        "uid": f"rating-worker-{name}",
        "title": source["title"],
        "description": source["about"],
        "tags": ["rating-worker"],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": source["since"], "to": "now"},
        "timezone": "browser",
        "links": [{"tags": ["rating-worker"], **links}],
        "templating": {"list": list(_variables(source.get("variable", [])))},
        "annotations": {"list": []},
        "panels": list(_panels(source["row"])),
    }


def _variables(more: list[Json]) -> Iterator[Json]:
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    yield _variable("group", "Consumer group", "label_values(rating_worker_info, consumer_group)", many=False)
    # People know workers by their consumer group, rules and selectors by their scrape job.
    of_group = 'label_values(rating_worker_info{consumer_group="$group"}, job)'
    yield _variable("job", "Job", of_group) | {"hide": 2}
    yield _variable("instance", "Worker", 'label_values(rating_worker_info{consumer_group="$group"}, instance)')
    for variable in more:
        yield _variable(**variable)


def _variable(name: str, label: str, query: str, *, many: bool = True) -> Json:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # whenever the time range changes: workers come and go
        "sort": 1,
        "multi": many,
        "includeAll": many,
        **({"current": {"text": "All", "value": "$__all"}} if many else {}),
    }


def _panels(rows: list[Json]) -> Iterator[Json]:
    number = y = 0
    for row in rows:
        number += 1
        place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
        yield {"id": number, "type": "row", "title": row["title"], "collapsed": False, "gridPos": place, "panels": []}
        y += 1
        x = tallest = 0
        for panel in row["panel"]:
            number += 1
            width, height = _SIZES.get(panel["kind"], _SIZE)
            width, height = panel.get("width", width), panel.get("height", height)
            if x + width > _COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            yield _panel(panel, number, {"x": x, "y": y, "w": width, "h": height})
            x += width
            tallest = max(tallest, height)
        y += tallest


def _panel(panel: Json, number: int, place: Json) -> Json:
    kind = panel["kind"]
    options = _OPTIONS.get(kind, {}) | panel.get("options", {})
    defaults = {"unit": panel["unit"]} | panel.get("defaults", {})
    if kind == "lines" and panel.get("from_zero", True):
        defaults = {"min": 0} | defaults
    if thresholds := panel.get("thresholds"):
        steps = [{"color": "green", "value": None}] + [{"color": color, "value": at} for at, color in thresholds]
        defaults |= {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}
        if kind == "figure":
            options = options | {"colorMode": "background"}
    queries = panel.get("queries") or [["__auto", panel["query"]]]
    return {
        "id": number,
        "type": _KINDS.get(kind, kind),
        "title": panel["title"],
        "description": " ".join(panel["about"].split()),
        "datasource": _DATASOURCE,
        "gridPos": place,
        "targets": [_target(kind, chr(ord("A") + at), *query) for at, query in enumerate(queries)],
        "fieldConfig": {"defaults": defaults | {"custom": _custom(panel)}, "overrides": []},
        "options": options,
        "transformations": panel.get("transformations", []),
    }


def _custom(panel: Json) -> Json:
    """Give how fields are drawn."""
    if panel["kind"] != "lines":
        return dict(panel.get("custom", {}))
    drawn = {"lineWidth": 1, "fillOpacity": 10, "showPoints": "never"}
    return drawn | ({"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 50} if panel.get("stacked") else {})


def _target(kind: str, ref: str, legend: str, expr: str) -> Json:
    for name, selector in _SELECTORS.items():
        expr = expr.replace(name, selector)
    now = kind in _AS_OF_NOW
    return {
        "refId": ref,
        "datasource": _DATASOURCE,
        "editorMode": "code",
        "expr": expr,
        "legendFormat": legend,
        "range": not now,
        "instant": now,
        "format": _AS_OF_NOW.get(kind, "time_series"),
    }
