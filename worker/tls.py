"""What is wrong with TLS, in words: the same faults have the same words, whether Kafka or Postgres meets them."""

from __future__ import annotations

import ssl
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# X509_V_ERR_… of OpenSSL, which Python passes on as numbers.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAME, _OTHER_ADDRESS = 62, 64

_OURS_IS_ASKED_FOR = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE")
_OURS_IS_REFUSED = ("UNKNOWN_CA", "CERTIFICATE", "ACCESS_DENIED", "DECRYPT_ERROR")
_OTHER_PROTOCOL = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")


class Wrong(Enum):
    """What somebody has to mend."""

    ISSUER = "issuer"
    HOST = "host"
    DATE = "date"
    CLIENT = "client"
    PROTOCOL = "protocol"


class TlsFault(NamedTuple):
    """A fault that does not pass by itself: what has to be mended, and how it shows."""

    wrong: Wrong
    detail: str


def fault_of(error: BaseException) -> TlsFault | None:
    """Tell which fault of TLS an error, or one of those behind it, is about; None where it may pass by itself."""
    for one in _chain(error):
        # aiohttp has a class of its own for this, without the facts: those are in the error behind it.
        if isinstance(one, ssl.SSLCertVerificationError) and hasattr(one, "verify_code"):
            return _of_certificate(one)
        if isinstance(one, ssl.SSLError) and (reason := getattr(one, "reason", None)):
            return _of_alert(reason)
    return None


def said_by(error: Exception) -> str:
    """Say why certificates or keys could not be loaded, without the place in Python's own source."""
    if isinstance(error, ssl.SSLError):
        # OpenSSL gives no reason for what is not PEM at all, nor for a password that opens nothing.
        return _words(error.reason) if error.reason else "not PEM, or encrypted with another password"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _words(reason: str) -> str:
    return reason.replace("_", " ").lower()


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _of_certificate(error: ssl.SSLCertVerificationError) -> TlsFault:
    said = error.verify_message.rstrip(".")
    match error.verify_code:
        case code if code in {_OTHER_NAME, _OTHER_ADDRESS}:
            return TlsFault(Wrong.HOST, f"its certificate is for another host: {said}")
        case code if code in {_NOT_YET_VALID, _EXPIRED}:
            return TlsFault(Wrong.DATE, f"its certificate is out of date: {said}")
        case _:
            return TlsFault(Wrong.ISSUER, f"its certificate is not signed by an authority that is trusted here: {said}")


def _of_alert(reason: str) -> TlsFault | None:
    said = _words(reason)
    if any(word in reason for word in _OTHER_PROTOCOL):
        return TlsFault(Wrong.PROTOCOL, f"it speaks no TLS there: {said}")
    if "ALERT" in reason and any(word in reason for word in _OURS_IS_ASKED_FOR):
        return TlsFault(Wrong.CLIENT, f"it wants a certificate of the worker's: {said}")
    if "ALERT" in reason and any(word in reason for word in _OURS_IS_REFUSED):
        return TlsFault(Wrong.CLIENT, f"it refuses the worker's certificate: {said}")
    return None
