"""Certificates for tests: made by trustme, an authority of their own for each run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

if TYPE_CHECKING:
    from pathlib import Path


class Pair(NamedTuple):
    """A certificate with its chain, and its key, both PEM; the key as PKCS #8, which Java reads."""

    certificate: str
    key: str


class Authority:
    """Somebody who signs certificates, and whom tests may trust or not."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    @property
    def certificate(self) -> str:
        """Its own certificate, PEM: what those who trust it are given."""
        return self._ca.cert_pem.bytes().decode()

    def issue(self, *names: str, common_name: str | None = None, key_password: str = "") -> Pair:
        """Sign a certificate for host names, addresses or mail addresses; a password encrypts its key."""
        leaf = self._ca.issue_cert(*names, common_name=common_name)
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        encryption = BestAvailableEncryption(key_password.encode()) if key_password else NoEncryption()
        return Pair(
            "".join(part.bytes().decode() for part in leaf.cert_chain_pems),
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode(),
        )


def saved(path: Path, text: str) -> Path:
    """Write a file that its owner alone may read; gives its path."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="ascii")
    return path
