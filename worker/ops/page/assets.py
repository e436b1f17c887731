"""The files that a browser gets, as they are in the package."""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

_INDEX = "index.html"
_FOLDER = "/page/"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Asset(NamedTuple):
    """A file in memory."""

    body: bytes
    content_type: str


class Assets:
    """All files of the page.

    Attributes:
        digest: Of all but the index. It is in their addresses, so that a browser keeps them, and no old one with a new.
        index: The page itself, which names them by those addresses.
        files: All but the index, by name.
    """

    def __init__(self) -> None:
        found = {file.name: file.read_bytes() for file in (files(__package__) / "static").iterdir() if file.is_file()}
        index = found.pop(_INDEX)
        self.digest = blake2b(b"".join(found[name] for name in sorted(found)), digest_size=8).hexdigest()
        self.index = Asset(index.replace(f'"{_FOLDER}'.encode(), f'"{_FOLDER}{self.digest}/'.encode()), "text/html")
        self.files = {name: Asset(body, _TYPES[name.rpartition(".")[2]]) for name, body in found.items()}
