"""The way to Postgres: what is wrong with its TLS or its login, where somebody has to mend it, in words."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import asyncpg
from asyncpg.exceptions import ClientConfigurationError

from worker.ledger.errors import LedgerSetupError
from worker.tls import Wrong, fault_of, said_by

if TYPE_CHECKING:
    from worker.settings import Settings

_URL = "RATING_DATABASE_URL"
_CHECKS = {"verify-ca": "certificate checked", "verify-full": "certificate and host name checked"}
_MEND_TLS = {
    Wrong.ISSUER: f"Let sslrootcert in {_URL} name the certificates of the authority that signed it.",
    Wrong.HOST: f"Name the server in {_URL} as its certificate does, or have it certified for that name.",
    Wrong.DATE: "Renew it, or set the clock of this machine.",
    Wrong.CLIENT: f"Set sslcert and sslkey in {_URL} to a certificate that the server trusts.",
    Wrong.PROTOCOL: f"Mend the port in {_URL}.",
}

# What Postgres or asyncpg says, by class and by a word that is in it; the first that fits counts.
_REFUSALS: tuple[tuple[type[Exception], str, str], ...] = (
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "pg_hba.conf",
        (
            "Postgres lets nobody in this way: {}. Where it says `no encryption`, set sslmode=require or more in "
            f"{_URL}; else mend user, host and database there, or pg_hba.conf on the server."
        ),
    ),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "certificate",
        f"Postgres refuses the login: {{}}. Set sslcert and sslkey in {_URL} to a certificate of this user.",
    ),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "",
        f"Postgres refuses the login: {{}}. Mend user and password in {_URL}.",
    ),
    (
        asyncpg.InvalidCatalogNameError,
        "",
        f"Postgres has no such database: {{}}. Create it, or mend {_URL}.",
    ),
    (ClientConfigurationError, "", f"{_URL} can't be used: {{}}"),
    (
        ConnectionError,
        "rejected SSL upgrade",
        f"{{}}: it has no TLS. Turn it on there, or set sslmode=disable in {_URL} if that is meant.",
    ),
)


def check_files(settings: Settings) -> None:
    """Check the certificates and keys that the URL names; asyncpg does not say which of them can't be used.

    Raises:
        LedgerSetupError: One can't: which parameter names it, why, and what to do.
    """
    named = _parameters(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in ("sslrootcert", "sslcrl"):
        if file := named.get(name):
            try:
                context.load_verify_locations(file)
            except (OSError, ValueError) as error:
                raise LedgerSetupError(
                    f"{name} in {_URL} names a file that can't be used: {said_by(error)}. It must be PEM."
                ) from None
    if certificate := named.get("sslcert"):
        try:
            context.load_cert_chain(certificate, named.get("sslkey"), lambda: named.get("sslpassword", ""))
        except (OSError, ValueError) as error:
            raise LedgerSetupError(
                f"sslcert and sslkey in {_URL} name files that can't be used: {said_by(error)}. Both must be PEM, the "
                "key must be that of the first certificate, and sslpassword its password where it is encrypted."
            ) from None


def advice(error: BaseException) -> str | None:
    """Say what is wrong with the way to Postgres and what to do; None where it may pass by itself."""
    said = " ".join(str(error).split())
    for kind, word, text in _REFUSALS:
        if isinstance(error, kind) and word in said:
            return text.format(said)
    if fault := fault_of(error):
        return f"Postgres can't be used: {fault.detail}. {_MEND_TLS[fault.wrong]}"
    return None


def setup_advice(error: BaseException) -> str:
    """Say what Postgres refuses and what to do, of a fault that trying again does not help."""
    return advice(error) or (
        f"Postgres refuses: {error}. `rating-worker check` says what the role of {_URL} lacks, and "
        "`rating-worker migrate --grant-worker ROLE` gives it to a role."
    )


def checks(settings: Settings) -> str:
    """Say what the URL lets a connection by TLS check, as asyncpg reads it."""
    mode = _parameters(settings).get("sslmode") or os.environ.get("PGSSLMODE", "")
    return _CHECKS.get(mode.replace("_", "-"), "the server is not checked")


def _parameters(settings: Settings) -> dict[str, str]:
    query = urlsplit(settings.database_url.get_secret_value()).query
    return {name: values[-1] for name, values in parse_qs(query).items()}
