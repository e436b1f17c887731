"""TLS and logins of the Kafka clients: settings in, aiokafka's options out."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, Any

from worker.settings import SaslMechanism
from worker.stream.errors import StreamSetupError
from worker.stream.tokens import tokens
from worker.tls import said_by

if TYPE_CHECKING:
    from worker.settings import Settings

_SASL_AUTHENTICATE = 36  # the number of this request in Kafka's protocol


def options(settings: Settings) -> dict[str, Any]:
    """Give the options of aiokafka's clients that make their connections secure.

    The files are read anew each time, so a client that is made later knows renewed certificates.

    Raises:
        StreamSetupError: A certificate or a key can't be used: which, why and what to do.
    """
    protocol = settings.kafka_security_protocol
    chosen: dict[str, Any] = {"security_protocol": protocol.value}
    if protocol.tls:
        chosen["ssl_context"] = _context(settings)
    if settings.kafka_sasl_mechanism is SaslMechanism.OAUTHBEARER:
        chosen |= {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": tokens(settings)}
    elif settings.kafka_sasl_mechanism is not None:
        password = settings.kafka_sasl_password
        chosen |= {
            "sasl_mechanism": settings.kafka_sasl_mechanism.value,
            "sasl_plain_username": settings.kafka_sasl_user,
            "sasl_plain_password": password.get_secret_value() if password else "",
        }
    return chosen


def _context(settings: Settings) -> ssl.SSLContext:
    """Trust who is to be trusted, and show our certificate if there is one. Host names are always checked."""
    ca, certificate, key = settings.kafka_ca_file, settings.kafka_certificate_file, settings.kafka_key_file
    try:
        context = ssl.create_default_context(cafile=ca)
    except (ssl.SSLError, OSError) as error:
        raise StreamSetupError(
            f"RATING_KAFKA_CA_FILE={ca} has no certificates that can be used: {said_by(error)}. "
            "Give it PEM certificates."
        ) from None
    if certificate is not None:
        password = settings.kafka_key_password
        try:
            # Without a password of ours, even an empty one, OpenSSL would ask for it on the terminal.
            context.load_cert_chain(certificate, key, lambda: password.get_secret_value() if password else "")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise StreamSetupError(
                f"RATING_KAFKA_CERTIFICATE_FILE={certificate} and RATING_KAFKA_KEY_FILE={key} can't be used: "
                f"{said_by(error)}. Both must be PEM, the key must be that of the first certificate, and "
                "RATING_KAFKA_KEY_PASSWORD its password where it is encrypted."
            ) from None
    return context


class _NoLogins(logging.Filter):
    """Keeps aiokafka, which logs every request at level debug, from logging passwords and tokens."""

    def filter(self, record: logging.LogRecord) -> bool:
        of_record = record.args if isinstance(record.args, tuple) else ()
        return all(getattr(one, "API_KEY", None) != _SASL_AUTHENTICATE for one in of_record)


logging.getLogger("aiokafka.conn").addFilter(_NoLogins())
