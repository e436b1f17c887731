"""What settings must satisfy together, each rule as data: when it is broken, in what words, about which settings.

Most are about timeouts that contain each other. A pair the wrong way round would not fail at once but on the bad day: a
rebalance that ends before a batch can, a database transaction that is ended while its changes are being flushed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worker.settings.text import variable

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
_BATCH = ("database_acquire_timeout_s", "statement_timeout_ms", "publish_timeout_s")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `broken` says whether settings break it, `text` what must hold, `fields` which settings it is about."""

    broken: Callable[[Fields], bool]
    text: str
    fields: tuple[str, ...]


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
)


def broken_rules(settings: Fields) -> Iterator[str]:
    """Say each rule that the settings break, with the variables it is about and their values."""
    for rule in RULES:
        if rule.broken(settings):
            shown = ", ".join(f"{variable(field)}={getattr(settings, field)}" for field in rule.fields)
            yield f"{shown}: {rule.text}"
