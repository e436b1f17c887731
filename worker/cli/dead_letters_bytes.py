"""Keys, values and headers for people and programs, whatever bytes they are."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import orjson

from worker.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_ROW = 16


def bytes_json(data: bytes | None) -> dict[str, str] | None:
    """Give bytes for JSON: as text where they are UTF-8, in base64 where not; None for none."""
    if data is None:
        return None
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def shown_bytes(data: bytes | None, longest: int) -> str:
    """Give bytes as one printable line, cut after so many characters; those that are no UTF-8 as escapes."""
    if data is None:
        return "none"
    text = plain(data[: 4 * longest].decode(errors="backslashreplace"))
    return text if len(text) <= longest else f"{text[:longest]}…"


def shown_value(value: bytes, longest: int) -> list[str]:
    """Give a value as printable lines: JSON indented, token by token as it came; anything else as a hexadecimal dump.

    Only the first `longest` characters, or bytes, are shown.
    """
    try:
        orjson.loads(value)
        text = value.decode()
    except (orjson.JSONDecodeError, UnicodeDecodeError):
        lines = _dump(value[:longest])
        return lines if len(value) <= longest else [*lines, "…"]
    kept: list[str] = []
    left = longest
    for line in map(plain, _indented(text)):
        if len(line) > left:
            return [*kept, f"{line[:left]}…"]
        kept.append(line)
        left -= len(line)
    return kept


def _indented(text: str) -> Iterator[str]:
    """Break valid JSON into lines. Numbers, escapes and keys that come twice stay as they are, unlike by a parser."""
    line, depth, opened = "", 0, False
    for match in _TOKEN.finditer(text):
        part = match[0]
        closing = part in {"}", "]"}
        depth -= closing
        if opened != closing:  # but for empty objects and arrays, which stay on their line
            yield line
            line = "  " * depth
        line += f"{part} " if part == ":" else part
        if part == ",":
            yield line
            line = "  " * depth
        opened = part in {"{", "["}
        depth += opened
    yield line


def _dump(data: bytes) -> list[str]:
    """Give rows of an offset, sixteen bytes in hexadecimal, and their characters of ASCII."""
    rows = []
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)  # noqa: PLR2004 - printable ASCII
        rows.append(f"{at:08x}  {row[:8].hex(' '):<23}  {row[8:].hex(' '):<23}  {text}")
    return rows
