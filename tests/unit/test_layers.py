"""Who may import whom: what is below knows nothing of what is above it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import worker

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(worker.__file__).parent

# From the bottom to the top. Each imports what is below it, and of the others of its own line nothing.
LAYERS = (
    {"rating", "settings", "tls", "futures", "concurrently", "memory"},
    {"policies", "events"},
    {"ledger", "ops", "generator"},
    {"stream", "verify"},
    {"records", "retrying"},
    {"intake", "housekeeping"},
    {"pipeline"},
    {"service"},
    {"cli"},
    {"__main__"},
)
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}


def part_of(module: str) -> str:
    """Name the part of the worker that a module is in: `worker.stream.client` is in `stream`."""
    return module.split(".")[1]


def imports(file: Path) -> Iterator[str]:
    """Name the modules of ours that a file imports when it runs, also in the midst of a function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []  # what only a type checker sees
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("worker."))
        elif isinstance(node, ast.ImportFrom) and node.module == "worker":
            yield from (f"worker.{name.name}" for name in node.names if name.name != "__version__")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("worker."):
            yield node.module


FILES = sorted(file for file in ROOT.rglob("*.py") if file != ROOT / "__init__.py" and "migrations" not in file.parts)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_down(file: Path) -> None:
    """A file imports its own part and parts below."""
    own = file.relative_to(ROOT).parts[0].removesuffix(".py")
    others = {part_of(module) for module in imports(file)} - {own}
    assert {part for part in others if HEIGHT[part] >= HEIGHT[own]} == set()


def test_every_part_has_its_place() -> None:
    """A new part is given a place, and none is named that is gone."""
    assert set(HEIGHT) == {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in FILES}
