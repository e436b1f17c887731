"""A real Prometheus and its promtool: this machine's own, or Debian's package in the cache, unpacked without root."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from deploy.local.errors import StackError
from deploy.local.jars import PARTIAL, cache_folder, filling
from deploy.local.ports import Port
from tests.support.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

_BINARIES = ("prometheus", "promtool")
_START_S = 60
_APT_S = 240


class Prometheus:
    """A running server, asked over its HTTP API.

    Args:
        url: Where it answers.
        log: The file with what it says.
    """

    def __init__(self, url: str, log: Path) -> None:
        self._url = url
        self._log = log

    async def get(self, path: str, **parameters: str) -> Any:
        """Ask the API; fails with what Prometheus says where it refuses."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self._url}/api/v1/{path}", params=parameters) as answer,
        ):
            said = await answer.json()
        assert said["status"] == "success", f"{path} {parameters}: {said}"
        return said["data"]

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """Give the series that an expression has now."""
        data = await self.get("query", query=expression)
        found: list[dict[str, Any]] = data["result"] if data["resultType"] == "vector" else [data]
        return found

    async def value(self, expression: str) -> float | None:
        """Give the one value of an expression, None where it has none."""
        found = await self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    async def ready(self) -> bool:
        """Tell whether it answers yet."""
        try:
            await self.get("status/buildinfo")
        except (aiohttp.ClientError, OSError):
            return False
        return True

    def tail(self) -> str:
        """Give the end of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])


@asynccontextmanager
async def prometheus(folder: Path, targets: Sequence[str], rules: Path, **labels: str) -> AsyncIterator[Prometheus]:
    """Run a Prometheus that looks at targets every second, while the block runs.

    Args:
        folder: For its data, configuration and log.
        targets: The `host:port` of each.
        rules: A file with rules, evaluated every second.
        labels: Those of every target, such as its job.
    """
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": labels.pop("job"), "static_configs": [{"targets": list(targets), "labels": labels}]}
        ],
    }
    (folder / "prometheus.json").write_text(json.dumps(config), "utf-8")  # JSON is YAML
    port, log = Port(), folder / "prometheus.log"
    command = [
        str(binaries().server),
        f"--config.file={folder / 'prometheus.json'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={port.address}",
    ]
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(*command, stdout=out, stderr=out)
    running = Prometheus(f"http://{port.address}", log)
    try:

        async def up() -> bool:
            assert process.returncode is None, f"Prometheus ended with {process.returncode}: {running.tail()}"
            return await running.ready()

        await until(up, _START_S, running.tail)
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        port.release()


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run promtool to its end."""
    return subprocess.run(  # noqa: S603 - the binary is ours
        [binaries().tool, *arguments], capture_output=True, text=True, check=False, timeout=_APT_S
    )


@dataclass(frozen=True)
class Binaries:
    """Where the two programs are."""

    server: Path
    tool: Path


def binaries() -> Binaries:
    """Find the programs on this machine, or fetch them once.

    Raises:
        StackError: Neither can be done; says what to install.
    """
    installed = [shutil.which(name) for name in _BINARIES]
    if all(installed):
        return Binaries(*(Path(path) for path in installed if path))
    folder = cache_folder() / "prometheus"
    found = [folder / "package" / "usr" / "bin" / name for name in _BINARIES]
    if not all(path.exists() for path in found):
        with filling(folder):
            if not all(path.exists() for path in found):  # nobody else was faster
                _fetch(folder)
    return Binaries(*found)


def _fetch(folder: Path) -> None:
    """Unpack Debian's package into a folder; it needs nothing but the C library, and no root."""
    with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=folder) as scratch:
        try:
            _download(Path(scratch))
            [package] = Path(scratch).glob("prometheus_*.deb")
            _run("dpkg-deb", "-x", str(package), str(Path(scratch) / "package"), at=Path(scratch))
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip()
            raise StackError(
                "there is no Prometheus here: the programs `prometheus` and `promtool` are not on the PATH, and "
                f"Debian's package could not be fetched: {said}. Install it (apt-get install prometheus)."
            ) from error
        (Path(scratch) / "package").replace(folder / "package")


def _download(scratch: Path) -> None:
    try:
        _apt(scratch, "download", "prometheus")
    except subprocess.CalledProcessError:
        # The machine's lists are missing or old, and may not be ours to renew: lists of our own, for this once.
        (scratch / "lists" / "partial").mkdir(parents=True)
        own = ("-o", f"Dir::State::lists={scratch / 'lists'}", "-o", f"Dir::Cache={scratch}")
        _apt(scratch, *own, "update")
        _apt(scratch, *own, "download", "prometheus")


def _apt(scratch: Path, *arguments: str) -> None:
    # As root, apt would download as a user of its own, who can't come here.
    _run("apt-get", "-q", "-o", "APT::Sandbox::User=root", *arguments, at=scratch)


def _run(*command: str, at: Path) -> None:
    subprocess.run(  # noqa: S603 - fixed commands
        command, cwd=at, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_APT_S
    )
