"""SQL as data: named statements in .sql files beside this one."""

from __future__ import annotations

import re
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load(file: str) -> dict[str, str]:
    """Read the named statements of one .sql file of this package.

    Args:
        file: The file's name, such as `batch.sql`.

    Returns:
        The statements by the name in the `-- name:` line above each.
    """
    text = (files(__package__) / file).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]  # what stands before the first name is a remark about the file
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}
