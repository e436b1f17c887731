"""The image's own steps, run in a folder: there is no container engine where this is tested.

What `docker build` would do is done with each instruction of the Dockerfile, on the files that `.dockerignore` lets
through. The image's paths (`/opt/…`, `/src`) are read as folders of ours wherever they stand. What a stage leaves is
put away before the next one starts, so that only what is copied from it can be used. What an engine adds can't be shown
here: the base image itself, layers, and that users and paths are the container's own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from dockerfile_parse import DockerfileParser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy/container/Dockerfile"
_IGNORED = ROOT / ".dockerignore"
_OURS = re.compile(r"(?<![\w./-])/(?=(?:opt|src)\b)")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_OPTION = re.compile(r"--(\w+)=(\S+)\s+")


class StepError(Exception):
    """A RUN of the Dockerfile failed; the message has its output."""


class UnknownInstructionError(Exception):
    """The Dockerfile says something that this module was not taught; the message says what."""


@dataclass
class Image:
    """What the last stage of a Dockerfile makes.

    Attributes:
        root: The folder that is `/` for the paths of ours.
        environment: What the image adds to the environment.
        labels: Its labels.
        entrypoint: The program and its first arguments.
        command: The arguments that can be replaced.
        health: The health check's program and arguments.
        user: Who runs it, as written.
        ports: The ports that it names.
        stop_signal: What asks it to end.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    user: str = ""
    ports: list[str] = field(default_factory=list)
    stop_signal: str = ""


class Builder:
    """Builds the image of the Dockerfile in a folder.

    Args:
        folder: An empty folder.
        text: The Dockerfile, if not the one of the repository.
    """

    def __init__(self, folder: Path, text: str | None = None) -> None:
        self._folder = folder
        self._context = folder / "context"
        self._text = DOCKERFILE.read_text(encoding="utf-8") if text is None else text
        self._arguments: dict[str, str] = {}
        self._workdir = "/"
        self._stages: dict[str, Path] = {}
        self._name = ""
        self._image = Image(folder / "root")

    def build(self) -> Image:
        """Run every instruction in turn.

        Raises:
            UnknownInstructionError: One was not taught.
            StepError: A RUN failed.
            OSError: A COPY names what is not there.
        """
        _copy_context(self._context)
        # The base image's Python and pip, fresh, so that nothing of this checkout's own is in it.
        subprocess.run([sys.executable, "-m", "venv", self._folder / "base"], check=True)  # noqa: S603 - our Python
        for name, value in self._instructions():
            step = getattr(self, f"_do_{name.lower()}", None)
            if step is None:
                raise UnknownInstructionError(f"{name} {value}: teach it to {Path(__file__).name}, or do without")
            step(value)
        for left in (self._context, *self._stages.values()):
            shutil.rmtree(left)
        return self._image

    def environment(self) -> dict[str, str]:
        """The environment of a process in the image, and nothing of ours."""
        base = self._folder / "base" / "bin"
        return {"PATH": f"{base}:/usr/bin:/bin", "HOME": "/"} | {
            name: value.replace("$PATH", f"{base}:/usr/bin:/bin") for name, value in self._image.environment.items()
        }

    def _instructions(self) -> Iterator[tuple[str, str]]:
        parser = DockerfileParser(fileobj=_Text(self._text), env_replace=False)
        for step in parser.structure:
            if step["instruction"] != "COMMENT":
                yield step["instruction"], step["value"]

    def _do_from(self, value: str) -> None:
        root = self._image.root
        if root.exists():
            self._stages[self._name] = root.rename(self._folder / f"stage-{self._name}")
        self._name = value.rpartition(" AS ")[2]
        self._workdir = "/"
        self._image = Image(root)
        root.mkdir()

    def _do_arg(self, value: str) -> None:
        name, _, default = value.partition("=")
        self._arguments.setdefault(name, default)

    def _do_env(self, value: str) -> None:
        self._image.environment |= {name: self._here(text) for name, text in _pairs(value)}

    def _do_label(self, value: str) -> None:
        known = self._arguments
        self._image.labels |= {name: _VARIABLE.sub(lambda match: known[match[1]], text) for name, text in _pairs(value)}

    def _do_workdir(self, value: str) -> None:
        self._workdir = value
        if value != "/":
            Path(self._here(value)).mkdir(parents=True, exist_ok=True)

    def _do_copy(self, value: str) -> None:
        source = self._context
        if match := _OPTION.match(value):
            if match[1] != "from":
                raise UnknownInstructionError(f"COPY --{match[1]}")
            source, value = self._stages[match[2]], value[match.end() :]
        *parts, target = value.split()
        to = Path(self._here(target) if target.startswith("/") else f"{self._here(self._workdir)}/{target}")
        for part in parts:
            found = source / part.lstrip("/")
            if found.is_dir():
                shutil.copytree(found, to, symlinks=True, dirs_exist_ok=True)
            else:
                place = to / found.name if target.endswith("/") else to
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, place)

    def _do_run(self, value: str) -> None:
        ran = subprocess.run(  # noqa: S603 - our own Dockerfile
            ["/bin/sh", "-c", self._here(value)],
            cwd=self._here(self._workdir),
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise StepError(f"RUN {value}\nended with {ran.returncode}:\n{ran.stdout}")

    def _do_user(self, value: str) -> None:
        self._image.user = value

    def _do_expose(self, value: str) -> None:
        self._image.ports.append(value)

    def _do_stopsignal(self, value: str) -> None:
        self._image.stop_signal = value

    def _do_healthcheck(self, value: str) -> None:
        self._image.health = self._exec(value.partition("CMD ")[2])

    def _do_entrypoint(self, value: str) -> None:
        self._image.entrypoint = self._exec(value)

    def _do_cmd(self, value: str) -> None:
        self._image.command = self._exec(value)

    def _exec(self, value: str) -> list[str]:
        try:
            words = json.loads(value)
        except ValueError:
            raise UnknownInstructionError(f"{value}: not in exec form, so that signals would reach a shell") from None
        return [self._here(word) for word in words]

    def _here(self, text: str) -> str:
        return _OURS.sub(f"{self._image.root}/", text)


class _Text:
    """A Dockerfile in memory, as the parser wants it."""

    def __init__(self, text: str) -> None:
        self._lines = [line.encode() for line in text.splitlines(keepends=True)]

    def seek(self, _place: int) -> None:
        """Nothing to do: all is read at once."""

    def readlines(self) -> list[bytes]:
        """Every line."""
        return self._lines


def run(image: Image, arguments: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run something in the image as a user who may write nowhere in it."""
    return subprocess.run(  # noqa: S603 - the image's own programs
        [*powerless(), *arguments], env=environment, cwd=image.root, capture_output=True, text=True, check=False
    )


def powerless() -> list[str]:
    """What to put before a command so that the rights of files count for it, also where we are root."""
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def seal(folder: Path) -> None:
    """Take the right to write from everything in a folder."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


def unseal(folder: Path) -> None:
    """Give the owner that right again, so that the folder can be removed."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o200)


def _copy_context(target: Path) -> None:
    """Copy what `.dockerignore` lets through: everything is left out but for the lines that start with `!`."""
    lines = [line for line in _IGNORED.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if lines[0] != "*":
        raise UnknownInstructionError(".dockerignore must leave out everything first")
    left_out = [line.removeprefix("**/") for line in lines[1:] if not line.startswith("!")]

    def ignored(_folder: str, names: list[str]) -> set[str]:
        return {name for name in names if any(fnmatch(name, pattern) for pattern in left_out)}

    for line in lines:
        if line.startswith("!"):
            source, place = ROOT / line[1:], target / line[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, place, ignore=ignored)
            else:
                shutil.copy2(source, place)


def _pairs(value: str) -> Iterator[tuple[str, str]]:
    for word in shlex.split(value):
        name, _, text = word.partition("=")
        yield name, text
