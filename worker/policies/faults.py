"""What is wrong with a policy file, in sentences: the key, the value and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LONGEST_VALUE = 60

WORDS = {
    "missing": "is missing",
    "tuple_type": "should be a list",
    "model_type": "should be a table",
    "model_attributes_type": "should be a table",
    "dict_type": "should be a table",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "string_type": "should be text",
    "string_too_short": "should not be empty",
    "datetime_type": "should be a time with an offset, such as 2026-01-01T00:00:00Z",
    "timezone_aware": "should have an offset, such as Z",
}

KIND = "method"  # the key by which pydantic tells apart the kinds of a table
KEY = "[key]"  # pydantic: not the value at the place before, but the key itself


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Give every fault that validating a `model` found, such as "k_factor #2, k = -3: should be greater than 0"."""
    return [_fault(detail, model) for detail in error.errors(include_url=False)]


def _fault(detail: ErrorDetails, model: type[BaseModel]) -> str:
    path, table = _walk(detail["loc"], model)
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "union_tag_not_found":
        return f"{path}, {KIND}: is missing"
    if kind == "union_tag_invalid":
        return f"{path}, {KIND} = {context['tag']!r}: should be one of {context['expected_tags']}"
    if kind == "extra_forbidden":
        words = f"no such key; there are {', '.join(table.model_fields)}"
    elif kind == "value_error":
        words = str(context["error"])
    else:
        words = WORDS.get(kind) or detail["msg"].replace("Input should", "should")
    return f"{path}{'' if kind == 'missing' else _value(detail['input'])}: {words}"


def _walk(loc: tuple[int | str, ...], model: type[BaseModel]) -> tuple[str, type[BaseModel]]:
    """Write a place as "ladder #3, lower", entries counted from 1, and find the model of the table that it is in."""
    path = ""
    table = model
    inner: list[type[BaseModel]] = [model]
    for part in loc:
        if isinstance(part, int):
            path += f" #{part + 1}"
            continue
        if len(inner) > 1:  # one of several kinds of table: pydantic names which, and the file does not
            inner = [kind for kind in inner if part in get_args(kind.model_fields[KIND].annotation)]
            continue
        if part == KEY:
            continue
        path += f", {part}" if path else part
        table = inner[0] if inner else table
        field = table.model_fields.get(part)
        inner = [] if field is None else list(_models_within(field.annotation))
    return path, table


def _value(value: Any) -> str:
    """Write a value as TOML would, unless it is a whole table or list."""
    if value is None or isinstance(value, dict | list | tuple):
        return ""
    text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    return f" = {text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '…'}"


def _models_within(annotation: Any) -> Iterator[type[BaseModel]]:
    """Find the models in an annotation such as `tuple[Rung, ...]` or `Floor | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_within(part)
