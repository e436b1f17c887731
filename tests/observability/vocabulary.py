"""The names that queries may use: what the worker exposes and the rules record; and the names that a query uses."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from prometheus_client import CollectorRegistry

from tests.unit.ops.test_metrics import change
from worker.ops.health import Component, Health
from worker.ops.labels import Dropped, Duplicate, Invariant, Retry, Stage
from worker.ops.metrics import Metrics
from worker.ops.pools import PoolFigures
from worker.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
TARGET_LABELS = {"job", "instance"}
_OURS = re.compile(r"(?<![\w:$\"])((?:rating|process|python)_\w+|\w+:[\w:]+|up)(?![\w:(])\s*(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*[\"']([^\"']*)[\"']")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")


class Rule(NamedTuple):
    """A rule of the file: `name` of what it records, or of the alert."""

    name: str
    alert: bool
    expr: str
    body: dict[str, Any]


def rules() -> list[Rule]:
    """Give all rules, in their order."""
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return [
        Rule(rule.get("alert") or rule["record"], "alert" in rule, rule["expr"], rule)
        for group in groups
        for rule in group["rules"]
    ]


Labels = dict[str, set[str]]
"""The values of each label; none where any will do."""


def exposed() -> dict[str, Labels]:
    """Give the labels of every sample that a worker exposes, by its name, after all has happened once."""
    metrics = Metrics(CollectorRegistry())
    metrics.instance.describe(Settings())
    health = Health(60)
    for component in Component:
        health.up(component)
    metrics.instance.watch(health)
    metrics.instance.watch_connections(_Connections())  # type: ignore[arg-type]
    metrics.unrated("casual")
    metrics.recorded("void")
    metrics.duplicates(Duplicate.RESENT)
    metrics.dropped(Dropped.STALE_EPOCH)
    metrics.changes([change()._replace(expected=0.7)])
    metrics.acknowledged([datetime.now(UTC)], [0], now_s=0.0)
    metrics.took(Stage.LOCK, 1.0)
    metrics.assigned([("matches", 0)])
    metrics.lag("matches", 0, 1)
    metrics.retried(Retry.RACE)
    metrics.noticed("policy-changed")
    metrics.housekeeping.audited(1, dict.fromkeys(Invariant, 0))
    metrics.housekeeping.pools.show([PoolFigures("yi", 2, 2, 0.5, 1200.0, 10.0)], for_s=60)
    found: dict[str, Labels] = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                labels = found.setdefault(sample.name, {label: set() for label in TARGET_LABELS})
                for label, value in sample.labels.items():
                    labels.setdefault(label, set()).add(value)
    return found


def known() -> dict[str, Labels]:
    """Give the labels of every name that a query may use; a recorded one carries its labels in front."""
    recorded: dict[str, Labels] = {
        rule.name: {label: set() for label in rule.name.partition(":")[0].split("_")}
        for rule in rules()
        if not rule.alert
    }
    return exposed() | recorded | {"up": {label: set() for label in TARGET_LABELS}}


def used(expr: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give the names that an expression uses, each with the labels that it selects by, and the values."""
    for match in _OURS.finditer(_GROUPING.sub(" ", expr)):
        yield match[1], _MATCHER.findall(match[2] or "")


def groupings(expr: str) -> set[str]:
    """Give the labels that an expression groups or joins by."""
    return {
        label.strip()
        for group in _GROUPING.findall(_STRING.sub("''", expr))
        for label in group.split(",")
        if label.strip()
    }


def faults(expr: str, names: dict[str, Labels]) -> list[str]:
    """Name what in an expression is stale: names that nobody exposes or records, labels and values that they lack."""
    found = []
    labels: set[str] = set()
    for name, selected in used(expr):
        if name not in names:
            found.append(f"nobody exposes or records {name}")
            continue
        labels |= names[name].keys()
        for label, value in selected:
            if label not in names[name]:
                found.append(f"{name} has no label {label}")
            elif (there := names[name][label]) and "$" not in value:
                found += [f"{name} never has {label}={one}" for one in value.split("|") if one not in there]
    if not labels:
        found.append("no metric in it")
    return found + [f"nothing in it has the label {label}" for label in groupings(expr) - labels]


class _Connections:
    """Counts as a pool of connections has them."""

    def get_size(self) -> int:
        return 2

    def get_idle_size(self) -> int:
        return 1
