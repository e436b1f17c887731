"""The policies at work: several versions of each side by side, and which pool is rated by which."""

from __future__ import annotations

from bisect import bisect_right
from fnmatch import fnmatchcase
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from worker.rating.errors import PolicyError, UnknownPoolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from worker.rating.policy import Policy

KNOWN_POOLS = 10_000  # pools come from outside, so what is remembered of them is bounded


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
        self.policies = tuple(sorted(policies, key=lambda policy: (policy.name, policy.version)))
        self.pools = dict(pools)
        faults = [
            f"policy {policy.name}, version {policy.version}: {fault}"
            for policy, fault in version_faults(self.policies)
        ]
        faults += pool_faults(self.pools, {policy.name for policy in self.policies})
        if faults:
            raise PolicyError(faults)
        self._versions = {
            name: tuple(versions) for name, versions in groupby(self.policies, lambda policy: policy.name)
        }
        self._by_pool: dict[str, tuple[Policy, ...]] = {}

    def at(self, pool: str, finished_at: datetime) -> Policy:
        """Give the version that holds for a match; before the first version's date, that is the first.

        Raises:
            UnknownPoolError: No pattern matches the pool.
        """
        versions = self._by_pool.get(pool)
        if versions is None:
            versions = self._resolve(pool)
        if len(versions) == 1:
            return versions[0]
        # Only the first version may have no date, and it needs none.
        return versions[bisect_right(versions, finished_at, lo=1, key=lambda policy: policy.valid_from) - 1]

    def _resolve(self, pool: str) -> tuple[Policy, ...]:
        name = next((name for pattern, name in self.pools.items() if fnmatchcase(pool, pattern)), None)
        if name is None:
            raise UnknownPoolError(pool, self.pools)
        if len(self._by_pool) >= KNOWN_POOLS:
            self._by_pool.clear()
        versions = self._by_pool[pool] = self._versions[name]
        return versions


def version_faults(policies: Iterable[Policy]) -> Iterator[tuple[Policy, str]]:
    """Find the versions that contradict an earlier one of the same policy: the same number, or no later date."""
    in_order = sorted(policies, key=lambda policy: (policy.name, policy.version))
    for earlier, later in pairwise(in_order):
        if earlier.name != later.name:
            continue
        if earlier.version == later.version:
            yield later, f"version = {later.version} is given twice with different content"
        elif later.valid_from is None or (earlier.valid_from is not None and later.valid_from <= earlier.valid_from):
            yield (
                later,
                f"valid_from = {later.valid_from} must be later than that of version {earlier.version}, "
                f"{earlier.valid_from}",
            )


def pool_faults(pools: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Find the pool patterns that name no known policy."""
    known = sorted(set(names))
    for pattern, name in pools.items():
        if name not in known:
            yield f'pools."{pattern}" = {name!r}: no such policy; there are {", ".join(known) or "none"}'
