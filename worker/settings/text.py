"""Settings in words: the faults of a settings model, its misspelt variables, and its table for the README.

Works on the model's JSON Schema, so that text and table can't drift from what is checked.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from pydantic import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel, ValidationError

PREFIX = "RATING_"
HIDDEN = "(hidden)"
_SPECIAL = (f"{PREFIX}SECRETS_DIR",)
# Near enough for a slip of the hand, too far for the variables that Kubernetes sets for a service `rating`.
_CLOSE = 0.85


def variable(field: str) -> str:
    """Name the environment variable of a field."""
    return f"{PREFIX}{field.upper()}"


def secret_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Name the fields whose value must never be shown."""
    return tuple(
        name
        for name, field in model.model_fields.items()
        if any(isinstance(part, type) and issubclass(part, Secret) for part in _parts(field.annotation))
    )


def _parts(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) or (annotation,)  # a type, or the types of an optional one


def misspelt(names: Iterable[str], model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Find variables that are no setting but look like one; yields (name, what was meant).

    A slip in a name would otherwise leave the default in force without a word.
    """
    known = {variable(field) for field in model.model_fields} | set(_SPECIAL)
    known |= {f"{variable(field)}_FILE" for field in secret_fields(model)}
    bare = {name.removeprefix(PREFIX): name for name in known}
    for name in sorted(set(names) - known):
        if name.startswith(PREFIX) and (near := get_close_matches(name.removeprefix(PREFIX), bare, 1, _CLOSE)):
            yield name, bare[near[0]]


def explain(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Turn a validation error into one line per fault: variable, value (never a secret), what is allowed."""
    schema = model.model_json_schema()
    hidden = secret_fields(model)
    lines: list[str] = []
    for fault in error.errors(include_url=False):
        field = str(fault["loc"][0]) if fault["loc"] else ""
        if fault["type"] == "default_factory_not_called":
            continue  # follows from another fault, which is reported
        if not field:
            lines += str(fault["ctx"]["error"]).splitlines()
        elif field not in model.model_fields:
            lines.append(f"{variable(field)} is no setting")
        else:
            # A login in a URL, though it is what is wrong with it, is a secret too.
            value = HIDDEN if field in hidden or "@" in str(fault["input"]) else fault["input"]
            lines.append(f"{variable(field)}={value}: allowed is {_allowed(schema, field)}")
    return lines


def table(model: type[BaseModel]) -> str:
    """Render a settings model as a Markdown table: variable, default, what is allowed, meaning."""
    schema = model.model_json_schema()
    rows = ["| Variable | Default | Allowed | Meaning |", "| --- | --- | --- | --- |"]
    for field, shape in schema["properties"].items():
        default = _default(model, field, shape)
        cells = (
            f"`{variable(field)}`",
            f"`{default}`" if default else "",
            _allowed(schema, field),
            shape["description"],
        )
        rows.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _default(model: type[BaseModel], field: str, shape: dict[str, Any]) -> str:
    info = model.model_fields[field]
    value = shape.get("default") if info.default_factory or field in secret_fields(model) else info.default
    if field in secret_fields(model):
        return "" if info.default is None else str(info.default)  # a secret shows itself without what is secret
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _allowed(schema: dict[str, Any], field: str) -> str:
    shape = schema["properties"][field]
    if "allowed" in shape:
        return str(shape["allowed"])
    if "$ref" in shape:
        return "one of " + ", ".join(schema["$defs"][shape["$ref"].rpartition("/")[2]]["enum"])
    match shape["type"]:
        case "boolean":
            return "true or false"
        case "integer":
            return f"a whole number from {shape['minimum']} to {shape['maximum']}"
        case "number":
            return f"a number from {shape['minimum']:.12g} to {shape['maximum']:.12g}"
        case _:
            return f"text of {shape['minLength']} to {shape['maxLength']} characters"
