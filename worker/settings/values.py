"""The kinds of values that settings have, each with the words for what it allows."""

from __future__ import annotations

import os
import re
import secrets
import socket
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, FilePath, Secret, StringConstraints
from pydantic_settings import NoDecode

# Stricter than what asyncpg takes, and what RFC 3986 says: with a raw @, / or ? in the password no one can say where it
# ends, so such a URL is refused rather than guessed at (and perhaps shown).
_WORD = r"[A-Za-z0-9._~!$&'()*+,;=%-]*"
_HOST = r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._~%-]*)(?::\d+)?"
_DATABASE_URL = re.compile(
    rf"(?P<scheme>postgres(?:ql)?)://(?:(?P<user>{_WORD})(?P<password>:{_WORD})?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[A-Za-z0-9._~%-]*)?)(?:\?[^#@\s\"]*)?"
)


class Delivery(StrEnum):
    """How changes reach the rating topic: in one Kafka transaction with the offsets, or acknowledged before them."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class SecurityProtocol(StrEnum):
    """How Kafka is spoken to, in its own words: in the clear or by TLS (SSL), without a login or with one (SASL)."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted and the brokers show a certificate."""
        return self in {SecurityProtocol.SSL, SecurityProtocol.SASL_SSL}

    @property
    def sasl(self) -> bool:
        """Whether the brokers ask for a login."""
        return self in {SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL}


class SaslMechanism(StrEnum):
    """How the worker logs in to Kafka: by user and password, or by a token."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


class LogFormat(StrEnum):
    """JSON lines, readable console lines, or console when the output is a terminal and JSON otherwise."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least severe level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> LogLevel | None:
        # Everyone writes log levels in capitals somewhere.
        return next((level for level in cls if isinstance(value, str) and value.lower() == level.value), None)


class DatabaseUrl(Secret[str]):
    """A Postgres URL that shows host and database when printed, and never its user's password or its parameters."""

    def _display(self) -> str:
        match = _DATABASE_URL.fullmatch(self.get_secret_value())
        if not match:
            return "**********"
        user = "" if match["user"] is None else f"{match['user']}:***@" if match["password"] else f"{match['user']}@"
        return f"{match['scheme']}://{user}{match['place']}"


class Password(Secret[str]):
    """A secret that shows nothing of itself when printed."""


def instance_id() -> str:
    """Make a name that no other living worker has: host, process id, and chance."""
    host = re.sub(r"[^a-zA-Z0-9._-]", "-", socket.gethostname())
    return f"{host[:200]}-{os.getpid()}-{secrets.token_hex(4)}"


def says(text: str, **shown: str) -> Any:
    """Describe in words what a field allows (and its default, where that is computed), for errors and the table."""
    return Field(json_schema_extra={"allowed": text, **shown})


def _postgres(value: DatabaseUrl) -> DatabaseUrl:
    if not _DATABASE_URL.fullmatch(value.get_secret_value()):
        raise ValueError("not a Postgres URL")
    return value


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


_BROKER = r"(\[[0-9a-fA-F:.]+\]|[^\s,:\[\]]+):\d{1,5}"
NAME = StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,249}$")
NAME_TEXT = "1 to 249 of a-z A-Z 0-9 . _ -"
Name = Annotated[str, NAME, says(NAME_TEXT)]
_BROKERS = StringConstraints(pattern=rf"^{_BROKER}(,{_BROKER})*$")
Brokers = Annotated[str, _BROKERS, says("host:port, several separated by commas")]
Seconds = Annotated[float, Field(ge=0.1, le=3_600)]
Milliseconds = Annotated[int, Field(ge=1, le=900_000)]  # 900 s: what a broker allows a transaction by default
PostgresUrl = Annotated[
    DatabaseUrl,
    AfterValidator(_postgres),
    says("postgresql://user:password@host:port/database, special characters of user and password percent-encoded"),
]
# A password would be sent there, so only by TLS, but for a server on this machine.
_TOKEN_URL = StringConstraints(
    pattern=r"^(https://[^\s/@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?)(/[^\s@]*)?$"
)
OptionalTokenUrl = Annotated[
    Annotated[str, _TOKEN_URL] | None, says("an https:// URL without a login in it; http:// on this machine")
]
OptionalUrl = Annotated[
    Annotated[str, StringConstraints(pattern=r"^https?://[^\s/@]+(/[^\s@]*)?$")] | None,
    says("an http:// or https:// URL without a login in it"),
]
OptionalText = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=1_000)] | None, says("text of 1 to 1000 characters")
]
OptionalPassword = Annotated[Password | None, says("any text")]
OptionalMechanism = Annotated[SaslMechanism | None, says("one of " + ", ".join(SaslMechanism))]
OptionalFile = Annotated[FilePath | None, says("a file that exists")]
Files = Annotated[
    tuple[FilePath, ...], NoDecode, BeforeValidator(_split), says("files that exist, separated by commas")
]
