"""The core is pure: no I/O, no clock, no chance, and nothing of ours from outside itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import worker.rating

# What pydantic itself imports is its business (importlib.metadata, and with it socket): only what comes on top is ours.
PROGRAM = """
import sys, pydantic
class Model(pydantic.BaseModel):
    time: pydantic.AwareDatetime
before = set(sys.modules)
import importlib, pkgutil, worker.rating
for module in pkgutil.walk_packages(worker.rating.__path__, "worker.rating."):
    importlib.import_module(module.name)
print(*sorted(set(sys.modules) - before))
"""

IMPURE = {"asyncio", "aiokafka", "asyncpg", "aiohttp", "socket", "ssl", "http", "subprocess", "threading", "time", "os"}
IMPURE |= {"structlog", "logging", "prometheus_client", "sqlalchemy", "random", "secrets", "uuid", "tomllib", "pathlib"}

CLOCKS = {"now", "utcnow", "today", "fromtimestamp"}

FILES = sorted(Path(worker.rating.__file__).parent.rglob("*.py"))


def test_importing_the_core_imports_no_io() -> None:
    """Importing every module of worker.rating brings in no I/O and nothing else of the worker."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)  # noqa: S603
    modules = set(run.stdout.split())
    assert "worker.rating.rate" in modules
    ours = {name for name in modules if name.startswith("worker.")}
    assert {name for name in ours if name.partition(".rating")[0] != "worker"} == set()
    assert {name.partition(".")[0] for name in modules} & IMPURE == set()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_no_module_of_the_core_says_so(file: Path) -> None:
    """No file of the core names a module of I/O, a clock, or `open` and `print`."""
    tree = ast.parse(file.read_text("utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} & IMPURE == set()
    assert {name for name in imported if name.startswith("worker") and not name.startswith("worker.rating")} == set()
    assert {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & CLOCKS == set()
    assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & {"open", "print", "input"} == set()


def test_there_are_files_to_look_at() -> None:
    """The test above looks at the core, not at an empty folder."""
    assert {"rate.py", "book.py", "policy.py"} <= {file.name for file in FILES}
