"""The schemas as validators, and their complaints as sentences."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import orjson

from worker.events.reject import BadEventError, Reject, shown
from worker.events.wording import KNOWN, repeat_reason, rule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.resources.abc import Traversable

_ITEMS = 3  # one more than the players of a match
_LONGEST = 1_001  # more than any string may have


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
    """Return what is wrong first with a document that its schema refuses; slow, so only called after `is_valid`.

    Args:
        name: The schema.
        document: What orjson decoded.
        root: The JSON path of the document in the record: `$`, or `$.data` inside a CloudEvents envelope.
    """
    errors = _errors(name, document)
    if not errors:
        return BadEventError(Reject.SCHEMA, f"{root} is {shown(document)}; it must fit schemas/{name}.json")
    first = _in_words(errors[0], name, document, root)
    return first if len(errors) == 1 else BadEventError(first.reason, f"{first.detail} (and {len(errors) - 1} more)")


def complaints(name: str, document: Any, root: str) -> list[BadEventError]:
    """Return all that is wrong with a document, the first of `complaint` first; of a long list only its first items."""
    return [_in_words(error, name, document, root) for error in _errors(name, document)]


def _errors(name: str, document: Any) -> list[jsonschema_rs.ValidationError]:
    # Each error carries a copy of what it is about, so 65 kB of bad players would take a second to list: look at less.
    # Where nothing is wrong with that, the fault lies far down a long list, and its first error is soon found.
    errors = list(validator(name).iter_errors(_small(document))) or _first_error(name, document)
    # A field that is there and wrong says more than one that is missing, and the innermost says most.
    return sorted(errors, key=lambda error: -len(error.instance_path))


def _in_words(error: jsonschema_rs.ValidationError, name: str, document: Any, root: str) -> BadEventError:
    path = list(error.instance_path)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        path.append(error.kind.property)
        _, allowed = rule(name, path)
        return BadEventError(Reject.SCHEMA, f"{_path(root, path)} is missing; it must be {allowed}")
    found = document
    for key in path:
        found = found[key]
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.UniqueItems) and (twice := _twice(found)):
        one, two = (_path(root, [*path, place]) for place in twice)
        item = shown(found[twice[0]])
        return BadEventError(repeat_reason(path), f"{one} and {two} are both {item}; they must differ")
    reason, allowed = rule(name, path)
    return BadEventError(reason, f"{_path(root, path)} is {shown(found)}; it must be {allowed}")


def _first_error(name: str, document: Any) -> list[jsonschema_rs.ValidationError]:
    try:
        validator(name).validate(document)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _twice(items: list[Any]) -> tuple[int, int] | None:
    """Return the places of the first two equal items; None where only their meaning is equal, as of 1 and 1.0."""
    places: dict[bytes, int] = {}
    for place, item in enumerate(items):
        first = places.setdefault(orjson.dumps(item), place)
        if first != place:
            return first, place
    return None


def _small(value: Any, depth: int = 8) -> Any:
    """Return a cut of an invalid value that is invalid in the same places, as far as its first few items go."""
    if isinstance(value, dict):
        return {key: _small(item, depth - 1) for key, item in value.items() if depth and key in KNOWN}
    if isinstance(value, list):
        return [_small(item, depth - 1) for item in value[: _ITEMS if depth else 0]]
    return value[:_LONGEST] if isinstance(value, str) else value


def _path(root: str, keys: Sequence[str | int]) -> str:
    return root + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
