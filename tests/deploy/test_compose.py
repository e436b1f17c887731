"""The compose file names what is there: commands, settings, hosts, files, options of the servers."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import typer
import yaml
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.deploy.composition import COMPOSE, FOLDER, OURS, SERVICES, environment, mounts
from tests.support.prometheus import binaries, promtool
from worker.cli.app import app
from worker.settings import Settings, load_settings, unknown_variables

if TYPE_CHECKING:
    from pathlib import Path

    from deploy.local import Stack

EACH = pytest.mark.parametrize("name", SERVICES)
EACH_OF_OURS = pytest.mark.parametrize("name", OURS)
# What the image's own scripts read, and hand on to Java rather than to the broker.
_OF_THE_JVM = {"KAFKA_HEAP_OPTS"}


@EACH
def test_services_get_no_more_than_they_need(name: str) -> None:
    """Versions are fixed, ports are this machine's alone, and no container has rights that it does not use."""
    service = SERVICES[name]
    assert re.fullmatch(r"[\w./-]+:(v?\d+(\.\d+)+(-[\w.]+)?|local)", service["image"])
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert not {"privileged", "network_mode", "pid", "devices"} & service.keys()
    if name not in {"kafka", "postgres"}:  # whose images write beside their volumes
        assert service["read_only"] is True


@EACH
def test_what_is_mounted_is_there(name: str) -> None:
    """Every file and folder of this repository that is mounted exists, and is mounted so that it can't be changed."""
    for there, here in mounts(name).items():
        assert (FOLDER / here).resolve().exists(), f"{here}, which is {there}"
    assert all(volume.endswith(":ro") for volume in SERVICES[name].get("volumes", ()) if volume.startswith("."))
    named = {volume.split(":")[0] for volume in SERVICES[name].get("volumes", ()) if not volume.startswith(".")}
    assert named <= COMPOSE["volumes"].keys()


@EACH
def test_what_is_waited_for_can_come(name: str) -> None:
    """Who waits for a healthy service waits for one that says how it is; who waits for an end, for one that ends."""
    for other, condition in SERVICES[name].get("depends_on", {}).items():
        waited = SERVICES[other]
        if condition["condition"] == "service_healthy":
            assert waited["healthcheck"]["test"][0] == "CMD"
        else:
            assert condition["condition"] == "service_completed_successfully"
            assert "restart" not in waited
            assert waited["command"][0] in {"migrate", "topics"}


@EACH_OF_OURS
def test_the_worker_knows_each_command(name: str) -> None:
    """Each service of the worker's image runs a command of `rating-worker`, with options that it has."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    command, *arguments = OURS[name]["command"]
    with group.make_context("rating-worker", [command, *arguments]) as context:
        found = group.get_command(context, command)
        assert found is not None
        found.make_context(command, arguments, parent=context).close()


@EACH_OF_OURS
def test_the_worker_takes_each_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable is a setting with a value that is allowed, and each server that it names is a service."""
    for variable, value in environment(name).items():
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert not unknown_variables()
    given = settings.model_fields_set
    if "database_url" in given:
        url = urlsplit(settings.database_url.get_secret_value())
        assert (url.hostname, url.port) == ("postgres", 5432)
        passwords = (FOLDER / "postgres" / "passwords.sql").read_text(encoding="utf-8")
        assert f"alter role {url.username} password '{url.password}';" in passwords
    if "kafka_bootstrap" in given:
        assert f"PLAINTEXT://{settings.kafka_bootstrap}" in environment("kafka")["KAFKA_ADVERTISED_LISTENERS"]
    assert given & {"database_url", "kafka_bootstrap"}


def test_the_image_is_built_once() -> None:
    """One service builds the image of the worker, and the others use it."""
    assert [name for name, service in OURS.items() if "build" in service] == ["worker"]
    build = OURS["worker"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).exists()
    assert {service["image"] for service in OURS.values()} == {"rating-worker:local"}


def test_a_stop_has_time() -> None:
    """The worker is not killed while it finishes its batch."""
    grace = SERVICES["worker"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > Settings.model_fields["shutdown_timeout_s"].default


async def test_kafka_knows_its_configuration(stack: Stack) -> None:
    """Every option of the broker is one that a broker of this version knows."""
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.bootstrap)
    await admin.start()
    try:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1")])
    finally:
        await admin.close()
    known = {entry[0] for entry in answer.resources[0][4]}
    given = {
        name.removeprefix("KAFKA_").lower().replace("_", ".") for name in environment("kafka").keys() - _OF_THE_JVM
    }
    assert given - known == set()


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    """promtool finds nothing in the configuration, with the rules where the container has them, and no unknown flag."""
    inside = mounts("prometheus")
    config = (FOLDER / inside["/etc/prometheus/prometheus.yml"]).read_text(encoding="utf-8")
    rules = inside["/etc/prometheus/rules.yml"]
    assert "/etc/prometheus/rules.yml" in config
    here = tmp_path / "prometheus.yml"
    here.write_text(config.replace("/etc/prometheus/rules.yml", str((FOLDER / rules).resolve())), encoding="utf-8")
    checked = promtool("check", "config", "--lint-fatal", str(here))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    jobs = {job["job_name"]: job for job in yaml.safe_load(config)["scrape_configs"]}
    (found,) = jobs["rating-worker"]["dns_sd_configs"]
    assert found["names"] == ["worker"]
    assert found["port"] == Settings.model_fields["http_port"].default
    flags = {part.partition("=")[0] for part in SERVICES["prometheus"]["command"]}
    assert flags <= _flags()


def test_grafana_finds_its_dashboards() -> None:
    """The datasource is the Prometheus of this file; the provider looks where the dashboards are mounted."""
    inside = mounts("grafana")
    sources = _provisioned("/etc/grafana/provisioning/datasources/rating-worker.yml")["datasources"]
    assert [(source["type"], source["url"]) for source in sources] == [("prometheus", "http://prometheus:9090")]
    (provider,) = _provisioned("/etc/grafana/provisioning/dashboards/rating-worker.yml")["providers"]
    folder = FOLDER / inside[provider["options"]["path"]]
    shown = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    assert {"pipeline.json", "rating-health.json"} <= shown.keys()
    for dashboard in shown.values():
        assert any(
            variable["type"] == "datasource" and variable["query"] == "prometheus"
            for variable in dashboard["templating"]["list"]
        )
    home = environment("grafana")["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home.removeprefix(f"{provider['options']['path']}/") in shown


def _provisioned(path: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / mounts("grafana")[path]).read_text("utf-8"))
    return found


def _flags() -> set[str]:
    said = subprocess.run([binaries().server, "--help"], capture_output=True, text=True, check=True)  # noqa: S603
    return set(re.findall(r"--[\w.-]+", said.stdout + said.stderr))
