"""Where the tests' Prometheus comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deploy.local.errors import StackError
from tests.support.prometheus import binaries

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the only folder on the PATH of a machine with no cache; it is empty."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("RATING_LOCAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "bin"


def program(path: Path, text: str = "") -> Path:
    """Make a shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_what_is_installed_is_used(bare: Path, tmp_path: Path) -> None:
    """Where both programs are on the PATH nothing is fetched."""
    server, tool = program(bare / "prometheus"), program(bare / "promtool")
    found = binaries()
    assert (found.server, found.tool) == (server, tool)
    assert not (tmp_path / "cache").exists()


def test_a_machine_that_can_have_none_is_told_what_to_install(bare: Path, tmp_path: Path) -> None:
    """Without the programs and without apt the message says what is missing; with an apt that fails, also why."""
    with pytest.raises(StackError, match="apt-get install prometheus"):
        binaries()
    program(bare / "apt-get", "echo 'no such host' >&2; exit 100")
    with pytest.raises(StackError, match=r"no such host.*apt-get install prometheus"):
        binaries()
    assert list((tmp_path / "cache" / "prometheus").glob("*")) == [tmp_path / "cache" / "prometheus" / ".lock"]


def test_old_lists_of_packages_are_renewed_for_this_once(bare: Path, tmp_path: Path) -> None:
    """Where the package can't be had by the machine's lists it is had by fresh ones in a folder of our own."""
    program(
        bare / "apt-get",
        f"""
        case "$*" in
            *update*) echo "$*" > {tmp_path}/updated;;
            *Dir::State::lists*) echo made > prometheus_1_all.deb;;
            *) exit 100;;
        esac
        """,
    )
    program(
        bare / "dpkg-deb",
        "/bin/mkdir -p $3/usr/bin && /bin/cp $2 $3/usr/bin/prometheus && /bin/cp $2 $3/usr/bin/promtool",
    )
    found = binaries()
    assert found.server.read_text() == "made\n"
    assert "Dir::State::lists" in (tmp_path / "updated").read_text()
    (bare / "apt-get").unlink()
    assert binaries() == found, "a second time it is there"
