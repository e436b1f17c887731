"""The files that a browser gets, as they are in the package."""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

INDEX = "index.html"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Asset(NamedTuple):
    """A file in memory.

    Attributes:
        etag: Changes with the content, so that a browser need not fetch it again.
    """

    body: bytes
    content_type: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """Read every file of the page, by its name."""
    found = {}
    for file in (files(__package__) / "static").iterdir():
        content_type = _TYPES.get(file.name.rpartition(".")[2])
        if content_type is not None:
            body = file.read_bytes()
            found[file.name] = Asset(body, content_type, blake2b(body, digest_size=12).hexdigest())
    return found
