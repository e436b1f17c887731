"""The pages for people on call can't go stale where a machine can tell."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from deploy.grafana.dashboard import SOURCES, written
from tests.observability.vocabulary import DEPLOY, known, rules
from worker.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [DEPLOY / "runbook.md", DEPLOY / "slo.md"]
_LINK = re.compile(r"\]\(([^)]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_PANEL = re.compile(r"\*(pipeline|rating health): ([^*]+)\*")
_SETTING = re.compile(r"\bRATING_(\w+)\b")

# What the runbook tells people to look for in the logs.
LOG_LINES = (
    "another process seems to run under our instance id",
    "housekeeping can't work",
    "housekeeping failed",
    "housekeeping is put off",
    "the ledger breaks an invariant",
    "trying again",
)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def anchors(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as code hosts make them."""
    headings = _HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_every_link_leads_somewhere(page: Path) -> None:
    """Each link of a page leads to a file of this repository, and to a heading that it has."""
    links = _LINK.findall(page.read_text("utf-8"))
    assert links
    dead = []
    for link in links:
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


@each_page
def test_every_panel_that_is_named_is_there(page: Path) -> None:
    """`*pipeline: Lag*` is the beginning of a panel's title on that dashboard."""
    titles = {
        dashboard["title"].removeprefix("Rating worker: "): [panel["title"] for panel in dashboard["panels"]]
        for dashboard in (json.loads(written(source).read_text("utf-8")) for source in SOURCES)
    }
    named = _PANEL.findall(page.read_text("utf-8"))
    missing = [
        f"{dashboard}: {name}"
        for dashboard, name in named
        if not any(title.startswith(name) for title in titles[dashboard])
    ]
    assert missing == []


@each_page
def test_every_metric_and_setting_that_is_named_is_there(page: Path) -> None:
    """A page names no metric, recording rule or setting that is gone."""
    text = page.read_text("utf-8")
    code = " ".join(re.findall(r"`([^`]+)`", text))
    named = set(re.findall(r"\b(?:rating_\w+|job\w*:[\w:]+)", code)) - {
        "rating_worker",
        "rating_reader",
        "rating_owner",
    }
    assert {name for name in named if not any(real.startswith(name) for real in known())} == set()
    settings = {name.upper() for name in Settings.model_fields} | {"DATABASE_URL_FILE", "SECRETS_DIR"}
    assert set(_SETTING.findall(text)) - settings == set()


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_panels_name_alerts_and_settings_that_are_there(source: Path) -> None:
    """What a panel tells people to look up or to set is there."""
    text = source.read_text("utf-8")
    alerts = {rule.name for rule in rules() if rule.alert}
    assert set(re.findall(r"\bRating[A-Z]\w+", text)) - alerts == set()
    assert set(_SETTING.findall(text)) - {name.upper() for name in Settings.model_fields} == set()


@pytest.mark.parametrize("line", LOG_LINES)
def test_log_lines_are_as_the_runbook_quotes_them(line: str) -> None:
    """Whoever searches the logs for what the runbook quotes finds it."""
    assert f"`{line}" in (DEPLOY / "runbook.md").read_text("utf-8")
    sources = (DEPLOY.parent / "worker").rglob("*.py")
    assert any(f'"{line}' in source.read_text("utf-8") for source in sources)
