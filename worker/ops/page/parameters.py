"""What a request asks for, checked: what is wrong is said in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

_LONGEST = 1_000  # characters; ids are shorter


class ParameterError(Exception):
    """A parameter is missing, unknown or not what it must be; the message says which, and what is allowed."""


class Parameters:
    """The parameters of a request.

    Args:
        request: The request.
        names: Those that there are.

    Raises:
        ParameterError: One has another name, or comes twice.
    """

    def __init__(self, request: web.Request, *names: str) -> None:
        self._query = request.query
        for name in self._query:
            if name not in names:
                raise ParameterError(f"There is no parameter {name}; there are {', '.join(names) or 'none'}.")
            if len(self._query.getall(name)) > 1:
                raise ParameterError(f"{name} comes more than once.")

    def text(self, name: str) -> str:
        """Give a text that must be there."""
        if not (value := self.optional_text(name)):
            raise ParameterError(f"{name} is missing: …?{name}=…, percent-encoded.")
        return value

    def optional_text(self, name: str) -> str | None:
        """Give a text; None where it is left out."""
        value = self._query.get(name)
        if value is not None and (len(value) > _LONGEST or "\0" in value or not _is_unicode(value)):
            raise ParameterError(f"{name} must be text of at most {_LONGEST} characters, UTF-8 and percent-encoded.")
        return value or None

    def whole(self, name: str, usual: int, least: int, most: int) -> int:
        """Give a whole number within bounds; what is usual where it is left out."""
        value = self._query.get(name)
        if value is None:
            return usual
        if not (value.isascii() and value.isdecimal() and len(value) <= len(str(most)) and least <= int(value) <= most):
            raise ParameterError(f"{name} must be a whole number from {least} to {most}.")
        return int(value)


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True
