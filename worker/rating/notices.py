"""What notices have in common: their keys, whom they are about, how they name a policy; and the notice of a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker.rating.model import Notice, NoticeKind

if TYPE_CHECKING:
    from worker.rating.policy import Policy

_BETWEEN = "\x1f"  # ids contain no control characters, so no two lists of parts give one key


def notice_key(*parts: str) -> str:
    """Join the parts of a notice's key."""
    return _BETWEEN.join(parts)


def player_subject(pool: str, player_id: str) -> str:
    """Name a player in a pool as the subject of a notice, in the form of the keys of rating changes."""
    return f"{pool}|{player_id}"


def policy_body(policy: Policy) -> dict[str, Any]:
    """Name a policy version as events do."""
    ref = policy.ref
    return {"name": ref.name, "version": ref.version, "digest": ref.digest}


def policy_changed(policy: Policy) -> Notice | None:
    """Give the notice that a policy has a new version; None for a version that has always held.

    rules.md: "rules change only as a new policy version with a date from which it holds and a written reason; the
    change is published".
    """
    if policy.valid_from is None:
        return None
    return Notice(
        kind=NoticeKind.POLICY_CHANGED,
        key=notice_key(policy.name, str(policy.version)),
        subject=policy.name,
        occurred_at=policy.valid_from,
        body={"policy": policy_body(policy), "reason": policy.reason},
    )
