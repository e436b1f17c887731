"""What may be wrong with the way to a secure broker, and what has to be said of it: settings, and parts of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.secure_kafka import (
    KEY_PASSWORD,
    MISNAMED,
    MUTUAL,
    PASSWORD,
    PLAIN_ONLY,
    SASL_TLS,
    TLS,
    SecureKafka,
)
from worker.settings import SaslMechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    Way = dict[str, Any]

REFUSALS: dict[str, tuple[Callable[[SecureKafka], Way], tuple[str, ...]]] = {
    "a wrong password": (
        lambda s: s.by_password(SaslMechanism.PLAIN, kafka_sasl_password=f"{PASSWORD}x"),
        ("refuses the login of worker by PLAIN", "RATING_KAFKA_SASL_PASSWORD"),
    ),
    "a wrong password by SCRAM": (
        lambda s: s.by_password(SaslMechanism.SCRAM_SHA_256, kafka_sasl_password=f"{PASSWORD}x"),
        ("refuses the login of worker by SCRAM-SHA-256", "RATING_KAFKA_SASL_PASSWORD"),
    ),
    "a user whom nobody knows": (
        lambda s: s.by_password(SaslMechanism.SCRAM_SHA_512, kafka_sasl_user="nobody"),
        ("refuses the login of nobody by SCRAM-SHA-512", "RATING_KAFKA_SASL_USER"),
    ),
    "a token for somebody else": (
        lambda s: s.by_token_file(s.identity.token(audience="somebody-else")),
        ("refuses the token", "invalid_token", "audience"),
    ),
    "a token of yesterday": (
        lambda s: s.by_token_file(s.identity.token(life_s=-86_400)),
        ("refuses the token", "invalid_token"),
    ),
    "an empty token": (lambda s: s.by_token_file(" "), ("RATING_KAFKA_OAUTH_TOKEN_FILE", "is empty")),
    "certificates of a stranger": (
        lambda s: s.by(TLS) | {"kafka_ca_file": s.strange_ca_file},
        ("not signed by an authority that is trusted here", "RATING_KAFKA_CA_FILE"),
    ),
    "a private authority without its certificate": (
        lambda s: s.by(TLS) | {"kafka_ca_file": None},
        ("not signed by an authority that is trusted here", "RATING_KAFKA_CA_FILE"),
    ),
    "a certificate for another host": (
        lambda s: s.by(MISNAMED),
        ("its certificate is for another host", "not valid for '127.0.0.1'", "RATING_KAFKA_BOOTSTRAP"),
    ),
    "no certificate where one is wanted": (
        lambda s: s.by(MUTUAL),
        ("it wants a certificate of the worker's", "RATING_KAFKA_CERTIFICATE_FILE"),
    ),
    "a certificate that the broker does not trust": (
        lambda s: s.by_certificate(s.stranger),
        ("it refuses the worker's certificate", "RATING_KAFKA_CERTIFICATE_FILE"),
    ),
    "a key with another password": (
        lambda s: s.by_certificate() | {"kafka_key_password": f"{KEY_PASSWORD}x"},
        ("RATING_KAFKA_KEY_FILE", "encrypted with another password", "RATING_KAFKA_KEY_PASSWORD"),
    ),
    "a key without its password": (
        lambda s: s.by_certificate() | {"kafka_key_password": None},
        ("RATING_KAFKA_KEY_FILE", "encrypted with another password", "RATING_KAFKA_KEY_PASSWORD"),
    ),
    "a key of another certificate": (
        lambda s: s.by_certificate() | {"kafka_key_file": s.server_files["key"]},
        ("RATING_KAFKA_CERTIFICATE_FILE", "key values mismatch"),
    ),
    "no certificates in the file": (
        lambda s: s.by(TLS) | {"kafka_ca_file": s.server_files["key"]},
        ("RATING_KAFKA_CA_FILE", "no certificate or crl found", "Give it PEM certificates"),
    ),
    "no TLS where it is spoken": (
        lambda s: {"kafka_bootstrap": s.broker.address(TLS)},
        ("it speaks TLS there, and PLAINTEXT does not", "RATING_KAFKA_SECURITY_PROTOCOL"),
    ),
    "TLS where it is not spoken": (
        lambda s: s.by(TLS) | {"kafka_bootstrap": s.broker.address()},
        ("it speaks no TLS there, and SSL does", "RATING_KAFKA_SECURITY_PROTOCOL"),
    ),
    "no login where one is asked for": (
        lambda s: s.by(TLS) | {"kafka_bootstrap": s.broker.address(SASL_TLS)},
        ("it asks for a login there, and SSL has none", "RATING_KAFKA_SECURITY_PROTOCOL"),
    ),
    "a login where none is taken": (
        lambda s: s.by_password(SaslMechanism.PLAIN) | {"kafka_bootstrap": s.broker.address(TLS)},
        ("it takes no login there", "RATING_KAFKA_SECURITY_PROTOCOL"),
    ),
    "a mechanism that the broker does not have": (
        lambda s: s.by_password(SaslMechanism.SCRAM_SHA_256, PLAIN_ONLY),
        ("it takes no login by SCRAM-SHA-256", "RATING_KAFKA_SASL_MECHANISM"),
    ),
}
