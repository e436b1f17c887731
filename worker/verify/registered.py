"""The policies as the ledger keeps them, and which of them rated what is recorded.

No file of this worker counts here: what is recorded was rated by what the ledger registered.
"""

from __future__ import annotations

import glob
from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING

from worker.ledger import sql
from worker.ledger.reads import policy_of
from worker.rating.policy_set import PolicySet, Versions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from worker.ledger.reads.players import Connection
    from worker.rating.model import PolicyRef
    from worker.rating.policy import Policy
    from worker.verify.report import Check

_SQL = sql.load("reference.sql")


class Registered:
    """The policy versions that the ledger knows, by their short keys.

    Attributes:
        unreadable: What those are called that this release can't read, as "name version".
    """

    def __init__(self) -> None:
        self.unreadable: dict[int, str] = {}
        self._policies: dict[int, Policy] = {}
        self._ids: dict[tuple[str, int], int] = {}
        self._by_name: defaultdict[str, list[Policy]] = defaultdict(list)
        self._sets: dict[tuple[str, int], list[PolicySet]] = {}
        self._names: defaultdict[str | None, set[str]] = defaultdict(set)
        self._around: dict[int, Versions] = {}

    @classmethod
    async def read(cls, connection: Connection, check: Check) -> Registered:
        """Read them all; they are few. A version whose content is not what it was registered as is a finding."""
        registered = cls()
        for row in await connection.fetch(_SQL["policies"]):
            check.looked_at += 1
            called = f"{row['name']} {row['version']}"
            policy = policy_of(row["body"])
            if policy is None:
                registered.unreadable[row["policy_id"]] = called
                check.find(f"policy {called} can't be read by this release")
                continue
            if (policy.name, policy.version, policy.digest) != (row["name"], row["version"], row["digest"]):
                check.find(
                    f"policy {called} was registered with digest {row['digest']}; its content is that of "
                    f"{policy.name} {policy.version}, digest {policy.digest}"
                )
            registered.add(row["policy_id"], policy)
        return registered

    def add(self, policy_id: int, policy: Policy) -> None:
        """Enter a version."""
        self._policies[policy_id] = policy
        self._ids[policy.name, policy.version] = policy_id
        self._by_name[policy.name].append(policy)
        self._by_name[policy.name].sort(key=attrgetter("version"))

    def knows(self, policy_id: int) -> bool:
        """Tell whether there is a version of that key that can be read."""
        return policy_id in self._policies

    def policy(self, policy_id: int) -> Policy:
        """Give a version by its short key."""
        return self._policies[policy_id]

    def policy_id(self, ref: PolicyRef) -> int:
        """Give the short key of a version."""
        return self._ids[ref.name, ref.version]

    def versions(self, name: str) -> Sequence[Policy]:
        """Give all versions of a policy, by version."""
        return self._by_name.get(name, ())

    def starts(self) -> Collection[float]:
        """Give the ratings that a player may start with; none where some can't be read."""
        return set() if self.unreadable else {float(policy.start) for policy in self._policies.values()}

    def rated(self, pool: str | None, policy_id: int) -> None:
        """Note that a policy has rated in a pool."""
        self._names[pool].add(self._policies[policy_id].name)

    def of_pool(self, pool: str | None) -> Iterable[Policy]:
        """Give the versions of all policies that have rated in a pool; of a pool in which nothing was rated, all."""
        names = self._names.get(pool)
        return [one for one in self._policies.values() if names is None or one.name in names]

    def around(self, policy_id: int) -> Versions:
        """Give the versions of a policy with the times for which each holds, the one of the key among them."""
        versions = self._around.get(policy_id)
        if versions is None:
            policy = self._policies[policy_id]
            versions = self._around[policy_id] = Versions(_around(policy, self._by_name[policy.name]))
        return versions

    def at(self, pool: str, policy_id: int, when: datetime) -> PolicySet:
        """Give the policies by which a version rated in a pool at a time.

        All versions, unless another one should have held then: it was registered later, or the worker had not been
        told of it. Then those up to the one that rated; where that one did not hold yet either, it alone.
        """
        key = pool, policy_id
        sets = self._sets.get(key)
        if sets is None:
            sets = self._sets[key] = self._sets_of(pool, self._policies[policy_id])
        policy = self._policies[policy_id]
        return next((one for one in sets if one.at(pool, when) is policy), sets[-1])

    def _sets_of(self, pool: str, policy: Policy) -> list[PolicySet]:
        pools = {glob.escape(pool): policy.name}
        versions = _around(policy, self._by_name[policy.name])
        until = versions[: versions.index(policy) + 1]
        return [PolicySet(some, pools) for some in (versions, until, (policy,))]


def _around(policy: Policy, versions: Sequence[Policy]) -> tuple[Policy, ...]:
    """Give a version with those before and after it that don't contradict it or each other in their dates.

    What is registered need not fit together: a version that was withdrawn stays known.
    """
    place = versions.index(policy)
    chosen = [policy]
    for earlier in reversed(versions[:place]):
        first = chosen[0].valid_from
        if first is not None and (earlier.valid_from is None or earlier.valid_from < first):
            chosen.insert(0, earlier)
    for later in versions[place + 1 :]:
        last = chosen[-1].valid_from
        if later.valid_from is not None and (last is None or last < later.valid_from):
            chosen.append(later)
    return tuple(chosen)
