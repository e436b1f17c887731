"""The newest schema that this version of the worker brings, without the tools that bring it: they take 20 MB."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_VERSIONS = Path(__file__).parent / "migrations" / "versions"


@cache
def head_revision() -> str:
    """Return the number of the newest migration, such as `0003`; Alembic goes by the same numbers."""
    return max(file.name[:4] for file in _VERSIONS.glob("[0-9]*.sql"))
