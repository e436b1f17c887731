"""What settings must satisfy together, each rule as data: when it is broken, in what words, about which settings.

Many are about timeouts that contain each other. A pair the wrong way round would not fail at once but on the bad day: a
rebalance that ends before a batch can, a database transaction that is ended while its changes are being flushed. The
others are about security: a login or a certificate that is set and not used is a mistake that nobody else would find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Secret

from worker.settings.text import HIDDEN, variable
from worker.settings.values import SaslMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from worker.settings.fields import Fields

_TOPICS = (
    "match_topic",
    "verdict_topic",
    "tournament_topic",
    "rating_topic",
    "notice_topic",
    "dead_letter_topic",
)
_CERTIFICATES = ("kafka_ca_file", "kafka_certificate_file", "kafka_key_file", "kafka_key_password")
_LOGIN = ("kafka_sasl_user", "kafka_sasl_password")
_CLIENT = ("kafka_oauth_client_id", "kafka_oauth_client_secret")
_TOKENS = ("kafka_oauth_token_file", "kafka_oauth_token_url")
_OAUTH = (*_TOKENS, *_CLIENT, "kafka_oauth_scope", "kafka_oauth_ca_file")
_BATCH = ("database_acquire_timeout_s", "statement_timeout_ms", "publish_timeout_s")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `broken` says whether settings break it, `text` what must hold, `fields` which settings it is about."""

    broken: Callable[[Fields], bool]
    text: str
    fields: tuple[str, ...]


def _given(settings: Fields, *names: str) -> int:
    return sum(getattr(settings, name) is not None for name in names)


def _by_token(settings: Fields) -> bool:
    return settings.kafka_sasl_mechanism is SaslMechanism.OAUTHBEARER


RULES = (
    Rule(
        lambda s: s.session_timeout_ms >= s.rebalance_timeout_ms,
        "the session timeout must be below the rebalance timeout",
        ("session_timeout_ms", "rebalance_timeout_ms"),
    ),
    Rule(
        lambda s: s.idle_in_transaction_timeout_ms <= s.publish_timeout_s * 1000,
        "the database transaction is idle while changes are flushed: its timeout must be above the publish timeout",
        ("idle_in_transaction_timeout_ms", "publish_timeout_s"),
    ),
    Rule(
        lambda s: s.transaction_timeout_ms <= s.publish_timeout_s * 1000,
        "a Kafka transaction must outlast the flush: its timeout must be above the publish timeout",
        ("transaction_timeout_ms", "publish_timeout_s"),
    ),
    Rule(
        lambda s: s.kafka_request_timeout_s > s.publish_timeout_s,
        "one request must not take longer than the whole flush",
        ("kafka_request_timeout_s", "publish_timeout_s"),
    ),
    Rule(
        lambda s: s.lock_timeout_ms >= s.statement_timeout_ms,
        "the lock timeout must be below the statement timeout, or it never acts",
        ("lock_timeout_ms", "statement_timeout_ms"),
    ),
    Rule(
        lambda s: s.batch_bound_s > s.revocation_wait_s,
        "a batch in flight must end within a rebalance: the first three must add up to half of the last at most",
        (*_BATCH, "rebalance_timeout_ms"),
    ),
    Rule(
        lambda s: s.batch_bound_s + s.batch_max_wait_ms / 1000 >= s.progress_timeout_s,
        "a slow batch must not pass for a hung loop: the last must be above the sum of the others",
        (*_BATCH, "batch_max_wait_ms", "progress_timeout_s"),
    ),
    Rule(
        lambda s: s.shutdown_timeout_s <= s.publish_timeout_s,
        "a stop must leave time for a flush: the shutdown timeout must be above the publish timeout",
        ("shutdown_timeout_s", "publish_timeout_s"),
    ),
    Rule(
        lambda s: len({getattr(s, name) for name in _TOPICS}) < len(_TOPICS),
        "the topics must differ",
        _TOPICS,
    ),
    Rule(
        lambda s: s.static_membership and "instance_id" not in s.model_fields_set,
        "needs RATING_INSTANCE_ID, the same after each restart (a StatefulSet's pod name)",
        ("static_membership",),
    ),
    Rule(
        lambda s: bool(_given(s, *_CERTIFICATES)) and not s.kafka_security_protocol.tls,
        "certificates are used by TLS alone: RATING_KAFKA_SECURITY_PROTOCOL must be SSL or SASL_SSL",
        ("kafka_security_protocol", *_CERTIFICATES),
    ),
    Rule(
        lambda s: (
            _given(s, "kafka_certificate_file", "kafka_key_file") == 1
            or (s.kafka_key_password is not None and s.kafka_key_file is None)
        ),
        "RATING_KAFKA_CERTIFICATE_FILE and RATING_KAFKA_KEY_FILE need each other, and a key's password the key",
        ("kafka_certificate_file", "kafka_key_file", "kafka_key_password"),
    ),
    Rule(
        lambda s: s.kafka_security_protocol.sasl != (s.kafka_sasl_mechanism is not None),
        "RATING_KAFKA_SASL_MECHANISM must be set for SASL_PLAINTEXT and SASL_SSL, and for them alone",
        ("kafka_security_protocol", "kafka_sasl_mechanism"),
    ),
    Rule(
        lambda s: s.kafka_sasl_mechanism is not None and not _by_token(s) and _given(s, *_LOGIN) < len(_LOGIN),
        "needs RATING_KAFKA_SASL_USER and RATING_KAFKA_SASL_PASSWORD",
        ("kafka_sasl_mechanism", *_LOGIN),
    ),
    Rule(
        lambda s: bool(_given(s, *_LOGIN)) and (s.kafka_sasl_mechanism is None or _by_token(s)),
        "user and password are for RATING_KAFKA_SASL_MECHANISM PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        ("kafka_sasl_mechanism", *_LOGIN),
    ),
    Rule(
        lambda s: _by_token(s) and _given(s, *_TOKENS) != 1,
        "needs RATING_KAFKA_OAUTH_TOKEN_FILE or RATING_KAFKA_OAUTH_TOKEN_URL, one of them",
        ("kafka_sasl_mechanism", *_TOKENS),
    ),
    Rule(
        lambda s: s.kafka_oauth_token_url is not None and _given(s, *_CLIENT) < len(_CLIENT),
        "needs RATING_KAFKA_OAUTH_CLIENT_ID and RATING_KAFKA_OAUTH_CLIENT_SECRET",
        ("kafka_oauth_token_url", *_CLIENT),
    ),
    Rule(
        lambda s: bool(_given(s, *_OAUTH)) and not _by_token(s),
        "tokens are for RATING_KAFKA_SASL_MECHANISM OAUTHBEARER",
        ("kafka_sasl_mechanism", *_OAUTH),
    ),
    Rule(
        lambda s: s.kafka_oauth_token_url is None and bool(_given(s, *_OAUTH[2:])),
        "these are for RATING_KAFKA_OAUTH_TOKEN_URL, which is not set",
        _OAUTH[2:],
    ),
)


def broken_rules(settings: Fields) -> Iterator[str]:
    """Say each rule that the settings break, with the variables it is about and the values of those that are set."""
    for rule in RULES:
        if rule.broken(settings):
            values = [(field, getattr(settings, field)) for field in rule.fields]
            shown = ", ".join(f"{variable(field)}={_shown(value)}" for field, value in values if value is not None)
            yield f"{shown}: {rule.text}"


def _shown(value: Any) -> str:
    return HIDDEN if isinstance(value, Secret) else str(value)
