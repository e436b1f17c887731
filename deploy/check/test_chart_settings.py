"""What the chart's containers run, and with which settings: held against the worker's own code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import typer

from deploy.check.chart import VALUES, one, pods, render
from worker.cli.app import app
from worker.settings import Settings, load_settings, unknown_variables

if TYPE_CHECKING:
    from pathlib import Path

_, EVERYTHING, _, _ = VALUES
EACH = pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
_URL = "postgresql://rating_{}:secret@postgres.example/rating?sslmode=verify-full"


@EACH
def test_the_worker_knows_each_command(values: Path) -> None:
    """Every container's arguments are a command of `rating-worker`, with options that it has."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    seen = set()
    for _, pod in pods(render(values)):
        name, *arguments = pod["spec"]["containers"][0]["args"]
        with group.make_context("rating-worker", [name, *arguments]) as context:
            command = group.get_command(context, name)
            assert command is not None, name
            command.make_context(name, arguments, parent=context).close()
        seen.add(name)
    assert {"run", "check"} <= seen


@EACH
def test_the_worker_takes_each_environment(values: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker reads its settings from what the chart mounts and sets, as one file a variable, and knows them all."""
    for name, pod in pods(render(values)):
        folder = tmp_path / name.replace(" ", "-")
        settings = _settings_of(pod["spec"], folder, monkeypatch)
        assert not unknown_variables()
        owner = name.endswith("-migrate")
        assert settings.database_url.get_secret_value() == _URL.format("owner" if owner else "worker"), name


def test_every_value_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set in the values is what the worker works with, numbers to the last digit."""
    stateful = one(render(EVERYTHING), "StatefulSet")
    settings = _settings_of(stateful["spec"]["template"]["spec"], tmp_path, monkeypatch)
    assert settings.instance_id == "eu-west.games.ratings-rating-worker-0"
    assert settings.static_membership
    assert settings.batch_max_bytes == 33_554_432
    assert settings.retry_max_wait_s == 2.5
    assert settings.kafka_sasl_password is not None
    assert settings.kafka_key_file is not None
    assert settings.kafka_key_file.name == "RATING_KAFKA_KEY_FILE"
    assert [path.name for path in settings.policy_files] == ["club.toml", "league.toml"]
    assert settings.pools_file is not None
    assert settings.http_host == "0.0.0.0"  # noqa: S104 - within the pod


def _settings_of(spec: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings that the worker reads in a pod, whose files are made beneath a folder."""
    (container,) = spec["containers"]
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for volume in spec["volumes"]:
        _mount(volume, root / mounted[volume["name"]].lstrip("/"))
    for name in [name for name in os.environ if name.startswith("RATING_")]:
        monkeypatch.delenv(name)
    for variable in container["env"]:
        value = variable.get("value")
        if value is not None:
            value = value.replace("$(POD_NAMESPACE)", "games").replace("$(POD_NAME)", "ratings-rating-worker-0")
            for path in mounted.values():
                value = value.replace(path, f"{root}{path}")
            monkeypatch.setenv(variable["name"], value)
    return load_settings()


def _mount(volume: dict[str, Any], folder: Path) -> None:
    """Lay a volume out as the kubelet does: files in a folder with a date, and links to them."""
    dated = folder / "..2026_11_30"
    dated.mkdir(parents=True)
    sources = volume["projected"]["sources"] if "projected" in volume else [volume]
    for source in sources:
        kind = source.get("secret") or source.get("configMap") or {"items": [source["serviceAccountToken"]]}
        for item in kind.get("items", []):
            owner = "owner" if "owner" in str(kind.get("name")) else "worker"
            text = _URL.format(owner) if item["path"] == "RATING_DATABASE_URL" else "content"
            (dated / item["path"]).write_text(f"{text}\n")
            (folder / item["path"]).symlink_to(f"{dated.name}/{item['path']}")
