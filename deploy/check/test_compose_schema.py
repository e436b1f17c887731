"""The compose file, as the reference implementation of the Compose Specification reads it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from deploy.check.tools import tool
from deploy.helm.made import DEPLOY

if TYPE_CHECKING:
    from pathlib import Path

COMPOSE = DEPLOY / "compose" / "compose.yaml"


def test_it_meets_the_specification() -> None:
    """The schema holds, what services share arrives in each, and paths lead where they are meant to."""
    read = _read(COMPOSE)
    assert read.returncode == 0, read.stderr
    model = json.loads(read.stdout)
    services = {"kafka", "postgres", "migrate", "topics", "worker", "generator", "prometheus", "grafana"}
    assert model["services"].keys() == services
    assert model["volumes"].keys() == {"kafka", "postgres", "prometheus", "grafana"}
    assert model["services"]["worker"]["build"]["context"] == str(DEPLOY.parent)
    assert model["services"]["migrate"]["read_only"] is True


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("stop_grace_period", "stop_grace", "stop_grace"),
        ("condition: service_healthy", "condition: healthy", "condition"),
        ("context: ../..", "contexts: ../..", "contexts"),
    ],
)
def test_a_mistake_would_be_found(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    """The validator finds a field, a condition and a field within a field that don't exist."""
    text = COMPOSE.read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "compose.yaml").write_text(text.replace(right, wrong), encoding="utf-8")
    read = _read(tmp_path / "compose.yaml")
    assert read.returncode != 0
    assert says in read.stdout + read.stderr


def _read(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - built from a pinned version
        [tool("compose-spec"), "-format=json", path], cwd=path.parent, capture_output=True, text=True, check=False
    )
