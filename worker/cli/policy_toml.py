"""Writing a policy as TOML: what the standard library reads and does not write."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from worker.rating.policy import Policy


def policy_toml(policy: Policy) -> str:
    """Write a policy as a file that reads as the same version, with the same digest: without defaults and comments."""
    return "\n".join(_table((), policy.model_dump(exclude_defaults=True))) + "\n"


def _table(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """Write a table: its own values first, as TOML asks for, then the tables and lists of tables within."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict) or _is_tables(value)}
    for key, value in table.items():
        if key not in inner:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        place = (*path, key)
        name = ".".join(map(_key, place))
        for part in (value,) if isinstance(value, dict) else value:
            yield ""
            yield f"[{name}]" if isinstance(value, dict) else f"[[{name}]]"
            yield from _table(place, part)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], dict)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return _text(str(value))


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _text(key)


def _text(text: str) -> str:
    # A JSON string is a TOML string, but for DEL, which only TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
