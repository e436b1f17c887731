"""Which policy rates which match."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, policy, policy_set
from worker.rating import Policy, PolicyError, PolicySet, UnknownPoolError
from worker.rating import policy_set as module

INSTANT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("pool", "name"),
    [
        *(("yi", "yiboard"), ("yi/blitz", "yiboard"), ("shax", "biciid"), ("shax/rapid", "biciid")),
        *(("chess/standard", "fide"), ("chess/rapid", "fide"), ("chess/blitz", "fide")),
    ],
)
def test_pools_that_ship(pool: str, name: str) -> None:
    """Each pool of the rules is rated by its policy."""
    assert SHIPPED.at(pool, NOON).name == name


@pytest.mark.parametrize("pool", ["chess", "Yi", "yiboard", "", "go/19x19"])
def test_unknown_pool(pool: str) -> None:
    """A pool that no pattern matches is refused; the error names it and the pools there are."""
    with pytest.raises(UnknownPoolError) as caught:
        SHIPPED.at(pool, NOON)
    assert caught.value.pool == pool
    assert str(caught.value) == (f"no policy for pool {pool!r}; pools with a policy: yi, yi/*, shax, shax/*, chess/*")


@pytest.mark.parametrize(
    ("at", "version"),
    [
        (datetime(1900, 1, 1, tzinfo=UTC), 1),
        (datetime(2025, 9, 30, 23, 59, 59, 999999, tzinfo=UTC), 1),
        (datetime(2025, 10, 1, tzinfo=UTC), 2),
        (datetime(2025, 10, 1, 1, 59, tzinfo=timezone(timedelta(hours=2))), 1),
        (datetime(2025, 10, 1, 2, 0, tzinfo=timezone(timedelta(hours=2))), 2),
        (datetime(2100, 1, 1, tzinfo=UTC), 2),
    ],
)
def test_versions_of_fide(at: datetime, version: int) -> None:
    """A match is rated by the version in force when it finished, from its first instant in UTC."""
    assert SHIPPED.at("chess/standard", at).version == version


def test_before_the_first_version() -> None:
    """A match from before the first version's date is rated by the first; order of arrival does not matter."""
    first = policy(valid_from=NOON)
    second = policy(version=2, valid_from=NOON + INSTANT, reason="r")
    third = policy(version=5, valid_from=NOON + 2 * INSTANT, reason="r")
    versions = policy_set(third, first, second)
    found = [versions.at("any", NOON + step * INSTANT).version for step in (-1, 0, 1, 2, 3)]
    assert found == [1, 1, 2, 5, 5]


def test_the_first_pattern_wins() -> None:
    """Patterns are tried in order."""
    one, other = policy(name="one"), policy(name="other")
    pools = PolicySet([one, other], {"chess/blitz": "one", "chess/*": "other", "*": "one"})
    assert [pools.at(pool, NOON).name for pool in ("chess/blitz", "chess/rapid", "go", "chess/blitz")] == [
        "one",
        "other",
        "one",
        "one",
    ]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools without end fill no memory, and are found all the same."""
    monkeypatch.setattr(module, "KNOWN_POOLS", 3)
    pools = policy_set(policy())
    for number in range(10):
        assert pools.at(f"pool {number}", NOON).name == "plain"
        assert len(pools._by_pool) <= 3


@pytest.mark.parametrize(
    ("versions", "fault"),
    [
        ([policy(), policy(start=1000)], "version = 1: given twice"),
        (
            [policy(valid_from=NOON), policy(version=2, valid_from=NOON, reason="r")],
            f"version 2: valid_from = {NOON}: must be later than that of version 1, {NOON}",
        ),
        (
            [policy(version=2, valid_from=NOON, reason="r"), policy(version=3, valid_from=NOON - INSTANT, reason="r")],
            f"version 3: valid_from = {NOON - INSTANT}: must be later than that of version 2, {NOON}",
        ),
    ],
)
def test_versions_that_contradict_each_other(versions: list[Policy], fault: str) -> None:
    """Two versions of one number, or a later version that does not hold from later on, are refused."""
    with pytest.raises(PolicyError) as caught:
        policy_set(*versions)
    assert caught.value.faults == (f"policy plain, {fault}",)


def test_pools_that_make_no_sense() -> None:
    """A pool of an unknown policy and one that an earlier pattern hides are refused, all at once."""
    with pytest.raises(PolicyError) as caught:
        PolicySet([policy()], {"chess/*": "plain", "chess/blitz": "plain", "c*": "plain", "go": "nobody"})
    assert caught.value.faults == (
        'pools, "chess/blitz": never reached, "chess/*" comes first and matches it',
        "pools, \"go\" = 'nobody': no such policy; there are plain",
    )
    assert str(caught.value) == "\n".join(caught.value.faults)


def test_the_versions_of_a_pool() -> None:
    """Each version holds from its date to the next one's; the shortest absence that counts is that of any of them."""
    later = policy(version=2, valid_from=NOON, reason="review", inactivity={"after_days": 30})
    latest = policy(version=3, valid_from=NOON + timedelta(days=9), reason="again", inactivity={"after_days": 90})
    versions = policy_set(latest, policy(), later).versions("go")
    assert [(span.policy.version, span.since, span.until) for span in versions.spans] == [
        (1, None, NOON),
        (2, NOON, NOON + timedelta(days=9)),
        (3, NOON + timedelta(days=9), None),
    ]
    assert versions.idle_after == timedelta(days=30)
    assert policy_set(policy()).versions("go").idle_after is None


def test_which_pools_are_known() -> None:
    """A pool is known if any pattern matches it."""
    assert [SHIPPED.knows(pool) for pool in ("yi", "yi/9x9", "chess/blitz", "go")] == [True, True, True, False]
