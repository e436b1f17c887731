"""A real broker with a listener for each way of being safe, and what a worker needs to come in by each."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local import Kafka
from tests.support.certificates import Authority, saved
from tests.support.identity import AUDIENCE, CLIENT_ID, CLIENT_SECRET, SCOPE, IdentityProvider
from worker.settings import SaslMechanism, SecurityProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.certificates import Pair

USER = "worker"
PASSWORD = "Zq7-geheim"  # noqa: S105 - a word that appears nowhere else
KEY_PASSWORD = "Zq7-key-geheim"  # noqa: S105 - likewise
SESSION_MS = 3_000
"""The broker ends a connection that came in by a token after so long, unless it logs in anew, which aiokafka can't."""

TLS, MUTUAL, MISNAMED, SASL, SASL_TLS, PLAIN_ONLY = "TLS", "MUTUAL", "MISNAMED", "SASL", "SASL_TLS", "PLAIN_ONLY"
_LISTENERS = {
    TLS: "SSL",
    MUTUAL: "SSL",
    MISNAMED: "SSL",
    SASL: "SASL_PLAINTEXT",
    SASL_TLS: "SASL_SSL",
    PLAIN_ONLY: "SASL_PLAINTEXT",
}
_SECURITY = "org.apache.kafka.common.security"
_MODULES = {
    SaslMechanism.PLAIN: f'{_SECURITY}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
    SaslMechanism.SCRAM_SHA_256: f"{_SECURITY}.scram.ScramLoginModule required;",
    SaslMechanism.SCRAM_SHA_512: f"{_SECURITY}.scram.ScramLoginModule required;",
    SaslMechanism.OAUTHBEARER: f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required;",
}


class SecureKafka:
    """The broker, the authority that its certificates come from, one that nobody knows, and the identity provider."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.stranger = Authority(), Authority()
        self.identity = IdentityProvider()
        self.ca_file = saved(folder / "ca.pem", self.authority.certificate)
        self.strange_ca_file = saved(folder / "strange-ca.pem", self.stranger.certificate)
        server = self.authority.issue("127.0.0.1", "localhost")
        self.server_files = self.pair("server", server)
        jwks = saved(folder / "jwks.json", self.identity.jwks()).as_uri()
        properties = {
            "sasl.oauthbearer.jwks.endpoint.url": jwks,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            **_keystore(TLS, server),
            **_keystore(MUTUAL, server),
            **_truststore(MUTUAL, self.authority),
            **_keystore(MISNAMED, self.authority.issue("kafka.elsewhere.test")),
            **_keystore(SASL_TLS, server),
            **_logins(SASL),
            **_logins(SASL_TLS),
            **_logins(PLAIN_ONLY, SaslMechanism.PLAIN),
        }
        self.broker = Kafka(
            properties,
            _LISTENERS,
            jvm_options=[f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={jwks}"],
            scram_users={USER: PASSWORD},
        )

    def pair(self, name: str, pair: Pair) -> dict[str, Path]:
        """Save a certificate and its key; gives their paths."""
        return {
            "certificate": saved(self.folder / f"{name}.pem", pair.certificate),
            "key": saved(self.folder / f"{name}.key", pair.key),
        }

    def by(self, listener: str) -> dict[str, Any]:
        """Give the settings that lead to a listener and trust it, without those of a login."""
        protocol = SecurityProtocol(_LISTENERS[listener])
        trust = {"kafka_ca_file": self.ca_file} if protocol.tls else {}
        return {"kafka_bootstrap": self.broker.address(listener), "kafka_security_protocol": protocol, **trust}

    def by_certificate(self, authority: Authority | None = None) -> dict[str, Any]:
        """Give the settings of mutual TLS, with an encrypted key."""
        name = "worker" if authority is None else "foreign"
        pair = (authority or self.authority).issue("worker@example.test", common_name=name, key_password=KEY_PASSWORD)
        files = self.pair(name, pair)
        return self.by(MUTUAL) | {
            "kafka_certificate_file": files["certificate"],
            "kafka_key_file": files["key"],
            "kafka_key_password": KEY_PASSWORD,
        }

    def by_password(self, mechanism: SaslMechanism, listener: str = SASL_TLS, **other: str) -> dict[str, Any]:
        """Give the settings of a login by user and password."""
        login = {"kafka_sasl_user": USER, "kafka_sasl_password": PASSWORD}
        return self.by(listener) | {"kafka_sasl_mechanism": mechanism} | login | other

    def by_token_file(self, token: str, name: str = "token") -> dict[str, Any]:
        """Give the settings of a login by a token in a file."""
        file = saved(self.folder / name, token)
        return self.by(SASL_TLS) | {
            "kafka_sasl_mechanism": SaslMechanism.OAUTHBEARER,
            "kafka_oauth_token_file": file,
        }

    def by_endpoint(self, url: str, **other: object) -> dict[str, Any]:
        """Give the settings of a login by tokens of an endpoint."""
        return (
            self.by(SASL_TLS)
            | {
                "kafka_sasl_mechanism": SaslMechanism.OAUTHBEARER,
                "kafka_oauth_token_url": url,
                "kafka_oauth_client_id": CLIENT_ID,
                "kafka_oauth_client_secret": CLIENT_SECRET,
                "kafka_oauth_scope": SCOPE,
                "kafka_oauth_ca_file": self.ca_file,
            }
            | other
        )


@contextmanager
def secure_kafka() -> Iterator[SecureKafka]:
    """Run the broker for the block."""
    with tempfile.TemporaryDirectory(prefix="rating-secure-") as folder:
        secure = SecureKafka(Path(folder))
        with secure.broker:
            yield secure


def _keystore(listener: str, pair: Pair) -> Mapping[str, str]:
    prefix = f"listener.name.{listener.lower()}.ssl.keystore"
    return {f"{prefix}.type": "PEM", f"{prefix}.certificate.chain": pair.certificate, f"{prefix}.key": pair.key}


def _truststore(listener: str, authority: Authority) -> Mapping[str, str]:
    prefix = f"listener.name.{listener.lower()}.ssl"
    return {
        f"{prefix}.client.auth": "required",
        f"{prefix}.truststore.type": "PEM",
        f"{prefix}.truststore.certificates": authority.certificate,
    }


def _logins(listener: str, *mechanisms: SaslMechanism) -> Mapping[str, str]:
    prefix = f"listener.name.{listener.lower()}"
    by_token, handler = f"{prefix}.oauthbearer", f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
    return {
        f"{prefix}.sasl.enabled.mechanisms": ",".join(mechanisms or _MODULES),
        **{f"{prefix}.{name.lower()}.sasl.jaas.config": module for name, module in _MODULES.items()},
        f"{by_token}.sasl.server.callback.handler.class": handler,
        f"{by_token}.connections.max.reauth.ms": str(SESSION_MS),
    }
