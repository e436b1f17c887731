"""The chart's files that are made from others."""

from __future__ import annotations

import json
from pathlib import Path

from deploy.helm.schema import values_schema

DEPLOY = Path(__file__).parents[1]
CHART = DEPLOY / "helm" / "rating-worker"


def made() -> dict[Path, str]:
    """What each of these files has to hold."""
    files = CHART / "files"
    rules = DEPLOY / "prometheus" / "rules.yml"
    dashboards = sorted((DEPLOY / "grafana").glob("*.json"))
    copies = {files / rules.name: rules} | {files / "dashboards" / path.name: path for path in dashboards}
    schema = json.dumps(values_schema(), indent=2) + "\n"
    return {CHART / "values.schema.json": schema} | {
        copy: source.read_text(encoding="utf-8") for copy, source in copies.items()
    }
