"""The schemas as validators, and their complaints as sentences."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import orjson

from worker.events.reject import BadEventError, Reject, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

_ID = "a string of 1 to 128 characters, none of them a control character"
TIME = "an RFC 3339 time with an offset, such as 2026-11-30T08:51:12.345Z"

# What a field must be, in words, and what its failure counts as. The rule itself is the schema's alone.
_FIELDS: dict[str, tuple[Reject, str]] = {
    "match_id": (Reject.BAD_ID, _ID),
    "pool": (Reject.BAD_ID, f"{_ID} or '|'"),
    "tournament_id": (Reject.BAD_ID, f"{_ID}, or null"),
    "id": (Reject.BAD_ID, _ID),
    "finished_at": (Reject.BAD_TIME, TIME),
    "score": (Reject.BAD_SCORES, "0, 0.5 or 1"),
    "players": (Reject.SCHEMA, "exactly two objects, each with an id and a score"),
    "attributes": (Reject.SCHEMA, "an object or null"),
    "birth_year": (Reject.SCHEMA, "a whole number from 1900 to 2100, or null"),
    "match_type": (Reject.SCHEMA, "one of 'ranked', 'casual', 'tournament'"),
    "verified": (Reject.SCHEMA, "true or false"),
}
_PLAYER = (Reject.SCHEMA, "an object with an id and a score")
_OTHER = (Reject.SCHEMA, "a JSON object")
_ITEMS = 3  # one more than the players of a match
_LONGEST = 200  # more than any string may have


def schema_folder() -> Traversable:
    """Return the folder of the schemas: `worker/schemas` where the wheel puts them, `schemas` in a checkout."""
    packaged = resources.files("worker") / "schemas"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "schemas"


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`, such as `match-finished`.

    Raises:
        FileNotFoundError: There is no such schema.
    """
    schema: dict[str, Any] = orjson.loads((schema_folder() / f"{name}.json").read_bytes())
    return schema


@cache
def validator(name: str) -> jsonschema_rs.Validator:
    """Return the compiled validator of the schema called `name`.

    Raises:
        FileNotFoundError: There is no such schema.
    """
    return jsonschema_rs.Draft202012Validator(load_schema(name), offline=True)


def complaint(name: str, document: Any, root: str) -> BadEventError:
    """Return what is wrong with a document that its schema refuses; slow, so only called after `is_valid`.

    Args:
        name: The schema.
        document: What orjson decoded.
        root: The JSON path of the document in the record: `$`, or `$.data` inside a CloudEvents envelope.
    """
    # Each error carries a copy of what it is about, so 65 kB of bad players would take a second to list: look at less.
    errors = list(validator(name).iter_errors(_small(document)))
    if not errors:
        return BadEventError(Reject.SCHEMA, f"{root} is {shown(document)}; it must fit schemas/{name}.json")
    # A field that is there and wrong says more than one that is missing, and the innermost says most.
    first = max(errors, key=lambda error: len(error.instance_path))
    path = list(first.instance_path)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if isinstance(first.kind, jsonschema_rs.ValidationErrorKind.Required):
        path.append(first.kind.property)
        _, allowed = _rule(path)
        return BadEventError(Reject.SCHEMA, f"{_path(root, path)} is missing; it must be {allowed}{more}")
    found = document
    for key in path:
        found = found[key]
    reason, allowed = _rule(path)
    return BadEventError(reason, f"{_path(root, path)} is {shown(found)}; it must be {allowed}{more}")


def _rule(path: Sequence[str | int]) -> tuple[Reject, str]:
    if not path:
        return _OTHER
    return _PLAYER if isinstance(path[-1], int) else _FIELDS.get(path[-1], _OTHER)


def _small(value: Any, depth: int = 8) -> Any:
    """Return a cut of an invalid value that is invalid in the same places, as far as its first few items go."""
    if isinstance(value, dict):
        return {key: _small(item, depth - 1) for key, item in value.items() if depth and key in _FIELDS}
    if isinstance(value, list):
        return [_small(item, depth - 1) for item in value[: _ITEMS if depth else 0]]
    return value[:_LONGEST] if isinstance(value, str) else value


def _path(root: str, keys: Sequence[str | int]) -> str:
    return root + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
