"""The image: its Dockerfile's own steps give a worker that runs where it may write nowhere."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deploy.check.image import DOCKERFILE, ROOT, Builder, Image, UnknownInstructionError, powerless, run, seal, unseal
from deploy.local.ports import Port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.local import Stack

pytestmark = pytest.mark.timeout(1_200)  # it waits for a registry, and for what is installed to be compiled

_WELL_WITHIN_S, _LOOK_EVERY_S = 60.0, 0.2
# Tells each opening of a file that could write to it, on the standard error of the process.
_WATCHER = """\
import os, sys
def watch(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        os.write(2, f"OPENED TO WRITE: {arguments[0]}\\n".encode())
sys.addaudithook(watch)
"""


class Built(NamedTuple):
    """An image in a folder that nobody may write to, and the environment of its processes."""

    image: Image
    environment: dict[str, str]


@pytest.fixture(scope="module")
def built() -> Iterator[Built]:
    """The image of the repository's Dockerfile."""
    folder = Path(tempfile.mkdtemp(prefix="rating-image-"))
    try:
        builder = Builder(folder)
        image = builder.build()
        (folder / "watcher").mkdir()
        (folder / "watcher" / "sitecustomize.py").write_text(_WATCHER)
        seal(image.root)
        yield Built(image, builder.environment() | {"PYTHONPATH": str(folder / "watcher")})
    finally:
        unseal(folder)
        shutil.rmtree(folder)


def test_hadolint_finds_nothing() -> None:
    """The linter of Dockerfiles has nothing to say, and no rule is switched off."""
    linter = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([linter, DOCKERFILE], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert (found.returncode, found.stdout) == (0, "")
    assert "hadolint ignore" not in DOCKERFILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_package_has_a_wheel_for_the_image(machine: str, tmp_path: Path) -> None:
    """The lock has something to install for the image's Python, on both kinds of machine; here it is another Python."""
    version = re.search(r"^ARG PYTHON_IMAGE=python:(\d+\.\d+)", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    platforms = [f"--platform={name}_{machine}" for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--require-hashes", f"--requirement={ROOT / 'deploy/lock/tracing.txt'}", f"--dest={tmp_path}"]
    command += [f"--python-version={version[1]}", "--implementation=cp", *platforms]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert ran.returncode == 0, ran.stderr


def test_an_instruction_that_the_check_does_not_know_stops_it(tmp_path: Path) -> None:
    """No step of the Dockerfile is left out without a word."""
    with pytest.raises(UnknownInstructionError, match="VOLUME"):
        Builder(tmp_path, "FROM base\nVOLUME /data\n").build()


def test_it_is_the_version_of_the_project(built: Built) -> None:
    """The command, the label and the project have one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = run(built.image, ["rating-worker", "--version"], built.environment)
    assert said.stdout.split() == ["rating-worker", project["version"]]
    assert built.image.labels["org.opencontainers.image.version"] == project["version"]
    assert built.image.labels["org.opencontainers.image.licenses"] == project["license"]
    assert built.image.labels["org.opencontainers.image.description"] == project["description"]


def test_it_is_set_up_as_an_orchestrator_wants_it(built: Built) -> None:
    """Not root, by number; signals reach the worker; one port."""
    image = built.image
    user, group = map(int, image.user.split(":"))
    assert user > 0
    assert group > 0
    assert image.entrypoint == ["rating-worker"]
    assert image.command == ["run"]
    assert image.stop_signal == "SIGTERM"
    assert image.ports == ["9464"]


def test_nothing_but_the_worker_is_in_it(built: Built) -> None:
    """No source tree, no pip, no tests: the installed worker and its health check alone."""
    installed = built.image.root / "opt" / "rating-worker"
    assert sorted(path.name for path in built.image.root.iterdir()) == ["opt"]
    assert not list(installed.rglob("pip"))
    assert not list(installed.rglob("hatchling"))
    packages = next(installed.glob("lib/python*/site-packages"))
    assert (packages / "worker" / "schemas").is_dir()
    assert (packages / "opentelemetry").is_dir(), "every setting can be used, that of tracing too"
    assert not (packages / "tests").exists()
    assert list(packages.glob("worker/__pycache__/*.pyc")), "bytecode is compiled, for a root that is read-only"


def test_it_may_not_write_in_it(built: Built) -> None:
    """What the other tests stand on: the image's tree refuses a write."""
    tried = run(built.image, ["python", "-c", "open('here', 'w')"], built.environment)
    assert "Permission denied" in tried.stderr
    assert "OPENED TO WRITE: here" in tried.stderr


def test_check_finds_what_is_missing(built: Built) -> None:
    """Without servers `check` ends with 78 and says why, and settings from the image are fine."""
    found = run(built.image, ["rating-worker", "check"], built.environment | {"RATING_KAFKA_BOOTSTRAP": "127.0.0.1:1"})
    assert found.returncode == 78
    assert "settings: can be used" in found.stdout
    assert "connection refused" in found.stdout


def test_the_health_check_fails_without_a_worker(built: Built) -> None:
    """A container whose worker does not answer is unhealthy."""
    port = Port()
    asked = run(built.image, built.image.health, built.environment | {"RATING_HTTP_PORT": str(port.number)})
    port.release()
    assert asked.returncode == 1
    assert "no answer" in asked.stdout


def test_it_works_and_stops_on_a_read_only_root(built: Built, stack: Stack) -> None:
    """Migrated, with topics, it gets well, says so to the health check, ends on SIGTERM with 0, and writes no file."""
    environment = built.environment | stack.environment | {"RATING_DATABASE_URL": stack.create_database("image")}
    for arguments in (["migrate"], ["topics", "--create", "--partitions", "3"], ["check"]):
        done = run(built.image, [*built.image.entrypoint, *arguments], environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "OPENED TO WRITE" not in done.stderr
    port = Port()
    environment["RATING_HTTP_PORT"] = str(port.number)
    with _worker(built, environment) as worker:
        for path in ("/readyz", "/healthz"):
            _wait_until_well(built, environment, path, worker)
        worker.send_signal(signal.SIGTERM)
        _, log = worker.communicate(timeout=_WELL_WITHIN_S)
    assert worker.returncode == 0, log
    assert '"stopped"' in log
    assert "OPENED TO WRITE" not in log
    port.release()


@contextmanager
def _worker(built: Built, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    command = [*powerless(), *built.image.entrypoint, *built.image.command]
    with subprocess.Popen(  # noqa: S603 - the image's own
        command, env=environment, cwd=built.image.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_until_well(built: Built, environment: dict[str, str], path: str, worker: subprocess.Popen[str]) -> None:
    ends_at = time.monotonic() + _WELL_WITHIN_S
    while True:
        asked = run(built.image, [*built.image.health, path], environment)
        if asked.returncode == 0:
            return
        assert worker.poll() is None, "the worker ended"
        assert time.monotonic() < ends_at, asked.stdout
        time.sleep(_LOOK_EVERY_S)
