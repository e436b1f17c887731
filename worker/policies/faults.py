"""What is wrong with a policy file, in sentences: the key, the value and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LONGEST_VALUE = 60


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Give every fault that the validation of a `model` found, such as "k_factor #2, k = -3: should be above 0"."""
    return [_fault(detail, model) for detail in error.errors(include_url=False)]


def _fault(detail: ErrorDetails, model: type[BaseModel]) -> str:
    path, table = _walk(detail["loc"], model)
    if detail["type"] == "missing":
        return f"{path}: is missing"
    if detail["type"] == "union_tag_not_found":
        return f"{path}, {detail['ctx']['discriminator'].strip(chr(39))}: is missing"
    path += _value(detail["input"])
    match detail["type"]:
        case "extra_forbidden":
            return f"{path}: no such key; there are {', '.join(table.model_fields)}"
        case "value_error":
            return f"{path}: {detail['ctx']['error']}"
        case "union_tag_invalid":
            return f"{path}: {detail['ctx']['discriminator']} should be one of {detail['ctx']['expected_tags']}"
        case _:
            return f"{path}: {detail['msg'].replace('Input should', 'should')}"


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
            inner = [kind for kind in inner if part in get_args(kind.model_fields["method"].annotation)]
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
