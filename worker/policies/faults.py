"""What is wrong with a policy file, in sentences: the key, the value and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

LONGEST_VALUE = 60


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Give every fault that the validation of a `model` found, such as "k_factor #2, k = -3: should be greater than 0"."""
    return [_fault(detail, model) for detail in error.errors(include_url=False)]


def _fault(detail: ErrorDetails, model: type[BaseModel]) -> str:
    place = _place(detail["loc"])
    if detail["type"] == "missing":
        return f"{place}: is missing"
    place += _value(detail["input"])
    if detail["type"] == "extra_forbidden":
        return f"{place}: no such key; there are {', '.join(_keys_beside(detail['loc'], model))}"
    if detail["type"] == "value_error":
        return f"{place}: {detail['ctx']['error']}"
    return f"{place}: {detail['msg'].replace('Input should', 'should')}"


def _place(loc: Sequence[int | str]) -> str:
    """Write a place as "ladder #3, lower": list entries are counted from 1."""
    words = ""
    for part in loc:
        if isinstance(part, int):
            words += f" #{part + 1}"
        else:
            words += f", {part}" if words else part
    return words


def _value(value: Any) -> str:
    """Write a value as TOML would, unless it is a whole table or list."""
    if value is None or isinstance(value, dict | list | tuple):
        return ""
    text = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
    return f" = {text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '…'}"


def _keys_beside(loc: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """List the keys that the table with the last part of `loc` may have."""
    for part in loc[:-1]:
        if isinstance(part, str):
            model = _model_within(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _model_within(annotation: Any) -> type[BaseModel] | None:
    """Find the model in an annotation such as `tuple[Rung, ...]` or `Floor | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_within(part))), None)
