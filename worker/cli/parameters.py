"""What is wrong with a parameter of a command, in words. Typer has Pydantic look at values and passes its words on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    import typer

_SENTENCES = {
    "int_parsing": "{input!r} is no whole number.",
    "int_from_float": "{input!r} is no whole number.",
    "float_parsing": "{input!r} is no number.",
    "greater_than": "{input} is too small: it must be more than {gt:g}.",
    "greater_than_equal": "{input} is too small: it must be {ge:g} or more.",
    "less_than": "{input} is too large: it must be less than {lt:g}.",
    "less_than_equal": "{input} is too large: it must be {le:g} or less.",
    "value_error": "{error}",
}


def in_words(error: typer.BadParameter) -> str:
    """Give the message of an error: Pydantic's faults in our words, what we said ourselves as it is."""
    if not isinstance(error.__cause__, ValidationError):
        return error.message
    said = [
        _SENTENCES.get(fault["type"], "{msg}.").format(input=fault["input"], msg=fault["msg"], **fault.get("ctx", {}))
        for fault in error.__cause__.errors(include_url=False)
    ]
    return " ".join(dict.fromkeys(said))
