"""Jars, and a checked copy of each in a cache that runs share: Kafka's (`kafka.lock`), and PostgreSQL with TLS."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import tenacity

from deploy.local.errors import StackError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from jgo.maven import MavenContext

    Download: TypeAlias = Callable[["Jar", Path], Path]

LOCK = Path(__file__).with_name("kafka.lock")

# Kafka's own release adds the second one to the first's dependencies: without it the broker logs nothing. Its "!" keeps
# its parent POM from managing the versions of what Kafka asks for.
_ROOTS = ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4!")
_HEADER = """\
# Apache Kafka and all that it runs on: group:artifact:version sha256.
# Written by `python -m deploy.local lock`; every start checks the jars against it.
"""
_AT_ONCE = 8
_TRIES = 4
PARTIAL = ".partial-"
WAIT = tenacity.wait_random_exponential(multiplier=1, max=10)
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Jar:
    """One jar, and what its content must be."""

    coordinate: str
    sha256: str

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line of the lock."""
        coordinate, sha256 = line.split()
        return cls(coordinate, sha256)

    @property
    def filename(self) -> str:
        """`artifact-version.jar`."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def locked(lock: Path | None = None) -> list[Jar]:
    """The jars of a lock file, Kafka's if none is named."""
    return [Jar.parse(line) for line in (lock or LOCK).read_text().splitlines() if line and not line.startswith("#")]


def cache_folder() -> Path:
    """Where downloads are kept between runs: RATING_LOCAL_CACHE, or a folder in the user's cache."""
    if chosen := os.environ.get("RATING_LOCAL_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rating-worker"


def fetch(report: Callable[[str], None] = lambda _: None, download: Download | None = None) -> list[Path]:
    """The paths of Kafka's jars, each downloaded if it is missing and checked in any case.

    Every start hashes all 46 MB: that takes less than a tenth of a second, and finds a jar that a full disk or a stray
    hand has changed before the JVM fails on it in its own words.
    """
    return gather(locked(), report, download)


def gather(
    jars: list[Jar], report: Callable[[str], None] = lambda _: None, download: Download | None = None
) -> list[Path]:
    """The paths of some jars, each downloaded if it is missing and checked in any case."""
    folder = cache_folder() / "jars"
    if _missing(jars, folder):
        with filling(folder):
            if missing := _missing(jars, folder):  # nobody else was faster
                report(f"downloading {len(missing)} jars to {folder}")
                get = partial(_get, folder=folder, download=download or _download)
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(get, missing))
    for jar in jars:
        _check(jar, folder / jar.filename)
    return [folder / jar.filename for jar in jars]


@contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Make a folder of the cache, if need be, and let one process at a time fill it; a killed one lets go."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise StackError(f"the cache can't be written: {error}. Set RATING_LOCAL_CACHE to a folder that can") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(f"{PARTIAL}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _missing(jars: list[Jar], folder: Path) -> list[Jar]:
    return [jar for jar in jars if not (folder / jar.filename).exists()]


def write_lock(report: Callable[[str], None]) -> None:
    """Resolve Kafka's dependencies anew and write the lock file from what the registry serves."""
    with tempfile.TemporaryDirectory() as scratch:
        context = _maven(Path(scratch))
        dependencies = [context.create_dependency(root) for root in _ROOTS]
        inputs, transitive = context.resolver.resolve(dependencies)
        artifacts = {(d.groupId, d.artifactId, d.version): d.artifact for d in (*inputs, *transitive)}
        rows = sorted(f"{':'.join(key)} {_sha256(artifact.resolve())}\n" for key, artifact in artifacts.items())
    LOCK.write_text(_HEADER + "".join(rows))
    report(f"{len(rows)} jars in {LOCK.name}")


def _get(jar: Jar, folder: Path, download: Download) -> None:
    attempt = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(_TRIES),
        wait=WAIT,
        retry=tenacity.retry_if_exception_type((OSError, RuntimeError, StackError)),
        reraise=True,
    )
    try:
        attempt(_get_once, jar, folder, download)
    except (OSError, RuntimeError) as error:
        raise StackError(
            f"{jar.coordinate} could not be downloaded to {folder} in {_TRIES} tries: {error}. "
            "See that this machine reaches the Maven registry, then run `python -m deploy.local fetch` again."
        ) from error


def _get_once(jar: Jar, folder: Path, download: Download) -> None:
    # A fresh folder for each try, since a broken download stays where it was written; renamed only when it's right.
    with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=folder) as scratch:
        path = download(jar, Path(scratch))
        if (found := _sha256(path)) != jar.sha256:
            raise StackError(
                f"the registry's {jar.coordinate} is not the one that the lock file names: its SHA-256 is "
                f"{found}, expected {jar.sha256}. If a proxy stands between, ask it why; nothing was kept."
            )
        path.chmod(0o644)
        path.replace(folder / jar.filename)


def _check(jar: Jar, path: Path) -> None:
    if (found := _sha256(path)) != jar.sha256:
        raise StackError(
            f"{path} has changed since it was downloaded: its SHA-256 is {found}, the lock file says {jar.sha256}. "
            "Delete the file and run `python -m deploy.local fetch`."
        )


def _download(jar: Jar, scratch: Path) -> Path:
    path: Path = _maven(scratch).create_dependency(jar.coordinate).artifact.resolve()
    return path


def _maven(repository: Path) -> MavenContext:
    # Imported here, as only the first start needs it. EnvironmentBuilder would do all in one go, but it looks for a JDK
    # on another host to sort the jars into modules, which nobody here asks for.
    try:
        from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415
    except ImportError:
        raise StackError("the packages of the local stack are not installed: pip install '.[local]'") from None
    return MavenContext(resolver=PythonResolver(), repo_cache=repository, timeout=_TIMEOUT_SECONDS)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
