"""The policies at work: several versions of each side by side, and which pool is rated by which."""

from __future__ import annotations

from bisect import bisect_right
from fnmatch import fnmatchcase
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from worker.rating.errors import PolicyError, UnknownPoolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from worker.rating.policy import Policy

KNOWN_POOLS = 10_000  # pools come from outside, so what is remembered of them is bounded

WILDCARDS = frozenset("*?[")

in_order = attrgetter("name", "version")


class PolicySet:
    """Finds the policy of a match by its pool and the time at which it finished.

    Attributes:
        policies: All versions, by name and version.
        pools: Pool patterns and the policies that they name. The first pattern that matches counts; `*` is any text,
            slashes included.
    """

    def __init__(self, policies: Iterable[Policy], pools: Mapping[str, str]) -> None:
        """Take the versions and the pools.

        Raises:
            PolicyError: Versions that contradict each other, or a pool that names no policy.
        """
        self.policies = tuple(sorted(policies, key=in_order))
        self.pools = dict(pools)
        faults = [f"policy {policy.name}, {fault}" for policy, fault in version_faults(self.policies)]
        faults += pool_faults(self.pools, (policy.name for policy in self.policies))
        if faults:
            raise PolicyError(faults)
        self._versions = {
            name: Versions(tuple(versions)) for name, versions in groupby(self.policies, attrgetter("name"))
        }
        self._by_pool: dict[str, Versions] = {}

    def at(self, pool: str, finished_at: datetime) -> Policy:
        """Give the version that holds for a match; before the first version's date, that is the first.

        Raises:
            UnknownPoolError: No pattern matches the pool.
        """
        return self.versions(pool).at(finished_at)

    def versions(self, pool: str) -> Versions:
        """Give all versions of a pool's policy.

        Raises:
            UnknownPoolError: No pattern matches the pool.
        """
        return self._by_pool.get(pool) or self._resolve(pool)

    def knows(self, pool: str) -> bool:
        """Tell whether any pattern matches a pool."""
        return any(fnmatchcase(pool, pattern) for pattern in self.pools)

    def _resolve(self, pool: str) -> Versions:
        name = next((name for pattern, name in self.pools.items() if fnmatchcase(pool, pattern)), None)
        if name is None:
            raise UnknownPoolError(pool, self.pools)
        if len(self._by_pool) >= KNOWN_POOLS:
            self._by_pool.clear()
        versions = self._by_pool[pool] = self._versions[name]
        return versions


class Span(NamedTuple):
    """A version and the time for which it holds: from `since` on (None: always) and before `until` (None: for ever)."""

    policy: Policy
    since: datetime | None
    until: datetime | None


class Versions:
    """The versions of one policy, in order.

    Attributes:
        spans: Each version with its time, one after the other without a gap.
        idle_after: The shortest absence that any version calls inactivity, None if none does: who played more
            recently owes nothing, whichever version holds.
    """

    __slots__ = ("_later_from", "_policies", "idle_after", "spans")

    def __init__(self, policies: tuple[Policy, ...]) -> None:
        self._policies = policies
        self._later_from = [policy.valid_from for policy in policies[1:] if policy.valid_from is not None]
        bounds = [None, *self._later_from, None]
        self.spans = tuple(Span(*span) for span in zip(policies, bounds, bounds[1:], strict=False))
        self.idle_after = min((policy.inactivity.after for policy in policies if policy.inactivity), default=None)

    def at(self, when: datetime) -> Policy:
        """Give the version that holds at a time; before the first version's date, that is the first."""
        return self._policies[bisect_right(self._later_from, when)]


def version_faults(policies: Iterable[Policy]) -> Iterator[tuple[Policy, str]]:
    """Find the versions that contradict the one before of the same policy: the same number, or no later date."""
    for earlier, later in pairwise(sorted(policies, key=in_order)):
        if earlier.name != later.name:
            continue
        if earlier.version == later.version:
            yield later, f"version = {later.version}: given twice"
        elif later.valid_from is None or (earlier.valid_from is not None and later.valid_from <= earlier.valid_from):
            bound = f"must be later than that of version {earlier.version}, {earlier.valid_from}"
            yield later, f"version {later.version}: valid_from = {later.valid_from}: {bound}"


def pool_faults(pools: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Find the pool patterns that name no known policy, and the pools that an earlier pattern hides."""
    known = sorted(set(names))
    for place, (pattern, name) in enumerate(pools.items()):
        if name not in known:
            yield f'pools, "{pattern}" = {name!r}: no such policy; there are {", ".join(known) or "none"}'
        if WILDCARDS.isdisjoint(pattern):
            for earlier in list(pools)[:place]:
                if fnmatchcase(pattern, earlier):
                    yield f'pools, "{pattern}": never reached, "{earlier}" comes first and matches it'
