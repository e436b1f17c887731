"""Which policy versions rated what is recorded: those that did, whatever would hold today."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from worker.policies import load_policies
from worker.rating.policy import Policy
from worker.verify.registered import Registered

if TYPE_CHECKING:
    from collections.abc import Sequence

START = datetime(2026, 1, 1, tzinfo=UTC)
(YIBOARD,) = (policy for policy in load_policies(None, ()).policies if policy.name == "yiboard")


def version(number: int, day: int | None) -> Policy:
    """Give a version that holds from a day on."""
    since = None if day is None else START + timedelta(days=day)
    return Policy.model_validate(YIBOARD.model_dump() | {"version": number, "valid_from": since, "reason": "a test"})


def registered(*days: int | None) -> Registered:
    """Give versions 1, 2, … of one policy under the keys 1, 2, …, by the day from which each holds."""
    made = Registered()
    for number, day in enumerate(days, start=1):
        made.add(number, version(number, day))
    return made


def used(policies: Registered, key: int, day: int, pool: str = "yi") -> list[int]:
    """Give the versions among which the one of a key rated a match of a day."""
    found = policies.at(pool, key, START + timedelta(days=day))
    assert found.at(pool, START + timedelta(days=day)).version == key
    return [policy.version for policy in found.policies]


@pytest.mark.parametrize(
    ("days", "key", "day", "versions"),
    [
        ((None, 10, 20), 1, 5, [1, 2, 3]),  # as it would be today
        ((None, 10, 20), 2, 20, [1, 2]),  # by a worker that had not been told of version 3
        ((None, 10, 20), 1, 25, [1]),
        ((None, 10, 20), 3, 5, [3]),  # by one that did not hold yet
        ((None, 20, 10), 2, 25, [1, 2]),  # version 3 was to hold earlier than version 2, which was withdrawn
        ((None, 20, 10), 3, 25, [1, 3]),
        ((None, 10, 10), 3, 15, [1, 3]),
    ],
)
def test_the_version_that_rated_counts(days: Sequence[int | None], key: int, day: int, versions: list[int]) -> None:
    """The version that a row names holds among those that it is rated again by, which never contradict each other."""
    assert used(registered(*days), key, day) == versions


def test_a_pool_is_its_name_and_no_pattern() -> None:
    """A pool that is called like a pattern is rated like any other."""
    policies = registered(None, 10)
    assert used(policies, 1, 5, "yi[1]*?") == [1, 2]
    assert not policies.at("yi[1]*?", 1, START).knows("yi1")


def test_what_rated_in_a_pool() -> None:
    """The versions of the policies that rated there; of a pool in which nothing was rated, all."""
    policies = registered(None, 10)
    (fide, _) = (policy for policy in load_policies(None, ()).policies if policy.name == "fide")
    policies.add(3, fide)
    policies.rated("yi", 1)
    assert [policy.name for policy in policies.of_pool("yi")] == ["yiboard", "yiboard"]
    assert len(list(policies.of_pool("go"))) == 3
