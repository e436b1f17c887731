"""Programs in Go that the checks need: each built once from a pinned version, and kept in the cache.

The Go module proxy's checksums say that a version is what it was for everybody else. `python -m deploy.check.tools`
builds those that are missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from deploy.local.errors import StackError
from deploy.local.jars import cache_folder, filling

if TYPE_CHECKING:
    from pathlib import Path

# Name to package and version. The package's last part is the name of the program that `go install` makes.
TOOLS = {
    "kubeconform": ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0"),
    "compose-spec": ("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2"),
    "helm": ("helm.sh/helm/v4/cmd/helm", "v4.3.2"),
}
_USUAL = "/usr/local/go/bin/go"
_WITHOUT_TOOLCHAINS = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}


def tool(name: str) -> Path:
    """The path of a program, built if need be.

    Raises:
        StackError: It can't be built; says why.
    """
    package, version = TOOLS[name]
    folder = cache_folder() / "bin" / f"{name}-{version}"
    program = folder / package.rpartition("/")[2]
    if not program.exists():
        with filling(folder):
            if not program.exists():  # nobody else was faster
                _build(f"{package}@{version}", folder)
    return program


def _build(what: str, folder: Path) -> None:
    go = shutil.which("go") or shutil.which(_USUAL)
    if go is None:
        raise StackError(f"{what} is built with Go, which is not installed: no `go` in PATH, nor {_USUAL}")
    _say(f"building {what}")
    started = time.monotonic()
    built = subprocess.run(  # noqa: S603 - pinned above
        [go, "install", "-ldflags=-s -w", what],
        env=os.environ | _WITHOUT_TOOLCHAINS | {"GOBIN": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        raise StackError(f"{what} could not be built:\n{built.stderr}")
    _say(f"built in {time.monotonic() - started:.0f} s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command's words to its user


if __name__ == "__main__":
    try:
        for each in TOOLS:
            tool(each)
    except StackError as error:
        sys.exit(str(error))
