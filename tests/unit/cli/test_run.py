"""How `run` ends when it can't begin: what somebody has to mend is the last line of its log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run a worker as an orchestrator does."""
    return subprocess.run(
        [sys.executable, "-m", "worker", "run"],
        cwd=ROOT,
        env={**os.environ, "RATING_HTTP_PORT": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("log_format", ["auto", "json", "nonsense"])
def test_settings_that_can_t_be_used(log_format: str) -> None:
    """Wrong settings are one JSON line with every fault and the exit code, a secret never shown."""
    done = run(
        RATING_LOG_FORMAT=log_format,
        RATING_BATCH_MAX_RECORDS="high",
        RATING_DATABASE_URL="postgresql://u:se/same@db/x",
    )
    assert (done.returncode, done.stdout) == (78, "")
    [line] = map(json.loads, done.stderr.splitlines())
    assert (line["level"], line["exit_code"]) == ("critical", 78)
    assert "RATING_BATCH_MAX_RECORDS=high: allowed is" in line["event"]
    assert "RATING_DATABASE_URL" in line["event"]
    assert "same" not in done.stderr


def test_policies_that_can_t_be_used(tmp_path: Path) -> None:
    """A worker does not start with a policy that has a fault; the file and the fault are told."""
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nversion = 1\n', encoding="utf-8")
    done = run(RATING_POLICY_FILES=str(path))
    assert done.returncode == 78
    line = json.loads(done.stderr.splitlines()[-1])
    assert (line["level"], line["exit_code"]) == ("critical", 78)
    assert f"{path}: start: is missing" in line["event"]


def test_readable_lines_where_they_are_asked_for() -> None:
    """With console logs the message is readable as it is, each fault on its line."""
    done = run(RATING_LOG_FORMAT="console", RATING_BATCH_MAX_RECORDS="high")
    assert done.returncode == 78
    assert "[critical " in done.stderr.splitlines()[0]
    assert "  - RATING_BATCH_MAX_RECORDS=high: allowed is" in done.stderr


def test_a_variable_that_is_no_setting(tmp_path: Path) -> None:
    """A name that no setting has is told, with the one most like it: it may be meant for another version."""
    path = tmp_path / "mine.toml"
    path.write_text("", encoding="utf-8")
    done = run(RATING_METRICS_PORT="9464", RATING_POLICY_FILES=str(path))
    warning, _ = map(json.loads, done.stderr.splitlines())
    assert warning["level"] == "warning"
    assert (warning["variable"], warning["nearest"]) == ("RATING_METRICS_PORT", "RATING_HTTP_PORT")
