"""The rules: each is sound, each alert fires when it should and not otherwise, and each is in the runbook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.observability.vocabulary import DEPLOY, RULES, faults, known, rules
from tests.support.prometheus import promtool

if TYPE_CHECKING:
    from pathlib import Path

TESTS = sorted((DEPLOY / "prometheus" / "tests").glob("*.yml"))
ALERTS = [rule for rule in rules() if rule.alert]
RUNBOOK = (DEPLOY / "runbook.md").read_text("utf-8")
SLO = (DEPLOY / "slo.md").read_text("utf-8")
_SECTION = re.compile(r"^### (Rating\w+)$", re.MULTILINE)
_PARTS = ("**Means**", "**Look first**", "**Likely**", "**Do**")

each_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def cases() -> list[dict[str, Any]]:
    """Give all cases of alerts in the tests for promtool."""
    return [
        case
        for file in TESTS
        for test in yaml.safe_load(file.read_text("utf-8"))["tests"]
        for case in test["alert_rule_test"]
    ]


def test_prometheus_takes_the_rules() -> None:
    """A real promtool finds no fault in the rules."""
    ended = promtool("check", "rules", RULES)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should(file: Path) -> None:
    """A real promtool, told what happens minute by minute, sees each alert fire in time, and say what it should."""
    ended = promtool("test", "rules", file)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each_alert
def test_every_alert_is_seen_to_fire_and_to_be_silent(alert: Any) -> None:
    """No alert is without a case in which it fires and one in which it does not."""
    fires = {bool(case["exp_alerts"]) for case in cases() if case["alertname"] == alert.name}
    assert fires == {True, False}


def test_every_rule_uses_what_there_is() -> None:
    """No rule names a metric, a label or another rule that is not there."""
    names = known()
    stale = {rule.name: found for rule in rules() if (found := faults(rule.expr, names))}
    assert stale == {}


def test_names_are_given_once() -> None:
    """No two rules have one name."""
    names = [rule.name for rule in rules()]
    assert sorted(set(names)) == sorted(names)


@each_alert
def test_every_alert_says_what_it_is_and_where_to_read_on(alert: Any) -> None:
    """An alert has a severity, a short summary, the figures in its description, and its section of the runbook."""
    said = alert.body["annotations"]
    assert alert.body["labels"]["severity"] in {"page", "ticket"}
    assert len(said["summary"]) <= 60
    assert "{{ $labels." in said["description"] or "{{ with $labels." in said["description"]
    assert said["runbook_url"] == "{{ $externalLabels.runbooks }}deploy/runbook.md#" + alert.name.lower()


def test_the_runbook_has_every_alert_and_no_other() -> None:
    """Whoever follows an alert's link finds its section, and no section is about an alert that is gone."""
    assert sorted(_SECTION.findall(RUNBOOK)) == sorted(alert.name for alert in ALERTS)


@each_alert
def test_every_section_says_what_to_do(alert: Any) -> None:
    """A section of the runbook says what the alert means, where to look first, what is likely, and what to do."""
    section = RUNBOOK.partition(f"### {alert.name}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    assert [part for part in _PARTS if part not in section] == []


def test_the_slo_and_the_rules_agree() -> None:
    """The objective, its bound and the alerts that burn it are the same on the page and in the rules."""
    assert "99.5 %" in SLO
    assert "within 1 s" in SLO
    burns = [rule for rule in ALERTS if "Budget" in rule.name]
    assert burns
    for rule in burns:
        assert rule.name in SLO
        assert "0.005" in rule.expr
    late = [rule for rule in rules() if rule.name.startswith("job:rating_late_records:ratio")]
    assert all('le="1.0"' in rule.expr for rule in late)
    for window in {rule.name.rpartition("rate")[2] for rule in late}:
        assert f"{window}" in SLO, window
