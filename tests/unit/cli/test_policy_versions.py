"""What is known of each version of a policy, from files and from the ledger, and what two of them have differently."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.cli.test_policy import later_fide
from worker.cli.policy_diff import Difference, differences
from worker.cli.policy_versions import KnownVersion, State, known_versions
from worker.ledger.reads import RegisteredPolicy
from worker.policies import load_policies, load_policy_file
from worker.rating import Policy, PolicyRef
from worker.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = load_policies().policies
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def registered(policy: Policy, **changes: Any) -> RegisteredPolicy:
    """Give a policy as a worker would have registered it."""
    policy = Policy.model_validate(policy.model_dump() | changes)
    return RegisteredPolicy(policy.ref, policy.model_dump(mode="json", exclude_defaults=True), NOW)


def known(*in_ledger: RegisteredPolicy, now: datetime = NOW, **settings: Any) -> dict[tuple[str, int], KnownVersion]:
    """Give what is known, by name and version."""
    return {(one.name, one.version): one for one in known_versions(Settings(**settings), in_ledger, now)}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"start": 1}, {"start": 2}, [("start", 1, 2)]),
        ({"floor": None}, {"floor": {"at": 1}}, [("floor.at", None, 1)]),
        ({"floor": {"at": 1}}, {"floor": None}, [("floor.at", 1, None)]),
        ({"table": [1, 2]}, {"table": [1, 3]}, [("table.2", 2, 3)]),
        ({"pools": ["a"]}, {"pools": ["a", "b"]}, [("pools", ["a"], ["a", "b"])]),
        ({"k": [{"name": "a", "k": 1}]}, {"k": [{"name": "a", "k": 2}]}, [("k.a.k", 1, 2)]),
        (
            {"k": [{"name": "a", "k": 1}, {"name": "b", "k": 2}]},
            {"k": [{"name": "b", "k": 2}, {"name": "a", "k": 1}]},
            [("k, in order", ["a", "b"], ["b", "a"])],
        ),
        (
            {"k": [{"title": "a", "k": 1}]},
            {"k": [{"title": "b", "k": 1}]},
            [("k.b.k", None, 1), ("k, in order", ["a"], ["b"]), ("k.a.k", 1, None)],
        ),
        ({"notes": ["a", "b"]}, {"notes": ["b", "c"]}, [("notes", "a", None), ("notes", None, "c")]),
        ({"draws": False}, {"draws": True}, [("draws", False, True)]),
    ],
    ids=str,
)
def test_differences(before: dict[str, Any], after: dict[str, Any], found: list[tuple[Any, ...]]) -> None:
    """Each value that differs is told once, by a key that a person finds in the file."""
    assert differences(before, after) == [Difference(*one) for one in found]
    assert differences(before, before) == []


def test_what_only_the_ledger_has(tmp_path: Path) -> None:
    """A version whose file is gone is known from the ledger: in no file, and not what rates matches."""
    old = registered(SHIPPED[0], name="gone")
    found = known(old)["gone", 1]
    assert (found.state, found.file, found.pools, found.changed) == (State.NO_FILE, None, (), False)
    assert found.policy is not None
    assert found.policy.ref == old.ref
    third = known(registered(load_policy_file(later_fide(tmp_path))))["fide", 3]
    assert third.state is State.NO_FILE
    assert known(registered(SHIPPED[2]))["fide", 2].state is State.IN_FORCE


def test_a_file_that_was_changed_under_its_number() -> None:
    """A file with other content than the ledger registered is told from one that is as it was."""
    found = known(registered(SHIPPED[1], start=1400), registered(SHIPPED[2]))
    assert [found["fide", number].changed for number in (1, 2)] == [True, False]
    assert differences(found["fide", 1].registered_rules, found["fide", 1].rules) == [Difference("start", 1400, 1500)]


def test_what_a_newer_release_registered() -> None:
    """A version that holds what this release does not know is shown as data, and does not break the rest."""
    newer = RegisteredPolicy(SHIPPED[2].ref, {**registered(SHIPPED[2]).body, "moon_phase": "full"}, NOW)
    gone = RegisteredPolicy(PolicyRef("gone", 4, "d"), newer.body, NOW)
    found = known(newer, gone)
    assert found["fide", 2].changed is False
    unread = found["gone", 4]
    assert unread.policy is None
    assert unread.rules["moon_phase"] == "full"
    assert unread.reason == SHIPPED[2].reason
    assert unread.valid_from == "2025-10-01T00:00:00Z"


@pytest.mark.parametrize(
    ("now", "states"),
    [
        (datetime(2025, 9, 30, 23, 59, tzinfo=UTC), [State.IN_FORCE, State.TO_COME]),
        (datetime(2025, 10, 1, tzinfo=UTC), [State.OVER, State.IN_FORCE]),
    ],
)
def test_the_state_follows_the_date(now: datetime, states: list[State]) -> None:
    """A version is in force from its first moment on, and the one before until then."""
    found = known(now=now)
    assert [found["fide", number].state for number in (1, 2)] == states
