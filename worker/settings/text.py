"""Settings in words: the faults of a settings model, its misspelt variables, and its table for the README.

Works on the model's JSON Schema, so that text and table can't drift from what is checked.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel, ValidationError

PREFIX = "RATING_"
HIDDEN = "(hidden)"
_SPECIAL = (f"{PREFIX}SECRETS_DIR",)
# Near enough for a slip of the hand; and near enough to be worth a word.
_CLOSE, _AKIN = 0.85, 0.5
# What Kubernetes and Docker set for a service called `rating` or `rating-…`, and what tells deploy/local where its
# packages go.
_SERVICE = re.compile(r"(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$")
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")
_OF_OTHERS = (f"{PREFIX}LOCAL_",)


class Unknown(NamedTuple):
    """A variable that begins like a setting and is none.

    Attributes:
        name: Its name.
        nearest: The setting whose name is most like it; None where none is.
        misspelt: Whether it is so near that nothing else can be meant.
    """

    name: str
    nearest: str | None
    misspelt: bool


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


def unknown(variables: Mapping[str, str], model: type[BaseModel]) -> Iterator[Unknown]:
    """Find the variables that look like settings and are none; case does not count, as in reading them.

    They would otherwise leave the default in force without a word. What others set under our prefix is left out.
    """
    known = {variable(field) for field in model.model_fields} | set(_SPECIAL)
    known |= {f"{variable(field)}_FILE" for field in secret_fields(model)}
    bare = {name.removeprefix(PREFIX): name for name in known}
    for name in sorted(variables):
        upper = name.upper()
        if upper in known or not upper.startswith(PREFIX) or _is_of_others(upper, variables[name]):
            continue
        word = upper.removeprefix(PREFIX)
        close = get_close_matches(word, bare, 1, _CLOSE)
        akin = close or get_close_matches(word, bare, 1, _AKIN)
        yield Unknown(name, bare[akin[0]] if akin else None, bool(close))


def _is_of_others(name: str, value: str) -> bool:
    of_a_service = _SERVICE.search(name) or (name.endswith("_PORT") and _SERVICE_URL.match(value))
    return bool(of_a_service) or name.startswith(_OF_OTHERS)


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
