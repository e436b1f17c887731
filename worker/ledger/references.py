"""Short keys for topics, pools and policies: looked up once, then kept.

They are written outside the batch transaction, so that a batch that is rolled back takes no key with it, and two
workers that meet a new pool at once don't wait for each other's batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from worker.ledger import sql
from worker.ledger.errors import LedgerSetupError
from worker.rating.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from worker.ledger.acquiring import Connections
    from worker.rating.model import PolicyRef

_SQL = sql.load("reference.sql")


class References:
    """The short keys that this worker has met."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._sources: dict[str, int] = {}
        self._pools: dict[str, int] = {}
        self._policy_ids: dict[tuple[str, int], int] = {}
        self._bodies: dict[int, Any] = {}
        self._policies: dict[int, Policy] = {}
        self._registered: dict[PolicyRef, tuple[int, Policy]] = {}

    async def register_policies(self, policies: Iterable[Policy]) -> None:
        """Make every policy version known to the ledger.

        Raises:
            LedgerSetupError: A version is known with other content: rules change only as a new version.
        """
        async with self._connections.one() as connection:
            for policy in policies:
                await connection.execute(
                    _SQL["add_policy"],
                    policy.name,
                    policy.version,
                    policy.digest,
                    policy.model_dump(mode="json", exclude_defaults=True),
                )
        known = await self._read_policies()
        for policy in policies:
            row = known[policy.name, policy.version]
            if row["digest"] != policy.digest:
                raise LedgerSetupError(
                    f"policy {policy.name} version {policy.version} was changed: the ledger knows this version with "
                    f"other content (digest {row['digest']}, this file's is {policy.digest}). Put the old content "
                    f"back, or give the new one version {policy.version + 1} with a date from which it holds."
                )

    async def know_policies(self, policy_ids: Iterable[int]) -> None:
        """See to it that `policy` can answer for these: a newer worker may have registered one since we started."""
        if set(policy_ids) - self._bodies.keys():
            await self._read_policies()

    async def source_ids(self, topics: Iterable[str]) -> dict[str, int]:
        """Give the short key of each topic, making those that are new."""
        return await self._keys(self._sources, topics, "source")

    async def pool_ids(self, pools: Iterable[str]) -> dict[str, int]:
        """Give the short key of each pool, making those that are new."""
        return await self._keys(self._pools, pools, "pool")

    def registered(self, ref: PolicyRef) -> tuple[int, Policy]:
        """Give the short key of a registered policy version, and the version as the ledger keeps it."""
        found = self._registered.get(ref)
        if found is None:
            policy_id = self._policy_ids[ref.name, ref.version]
            found = self._registered[ref] = policy_id, self.policy(policy_id)
        return found

    def policy(self, policy_id: int) -> Policy:
        """Give the policy version of a short key, as the ledger keeps it."""
        policy = self._policies.get(policy_id)
        if policy is None:  # made at need: an old version may hold what this release does not know
            policy = self._policies[policy_id] = Policy.model_validate_json(orjson.dumps(self._bodies[policy_id]))
        return policy

    async def _read_policies(self) -> dict[tuple[str, int], Any]:
        async with self._connections.one() as connection:
            known = {(row["name"], row["version"]): row for row in await connection.fetch(_SQL["policies"])}
        for key, row in known.items():
            self._policy_ids[key] = row["policy_id"]
            self._bodies[row["policy_id"]] = row["body"]
        return known

    async def _keys(self, known: dict[str, int], names: Iterable[str], kind: str) -> dict[str, int]:
        missing = sorted(set(names) - known.keys())
        if missing:
            async with self._connections.one() as connection:
                for name in missing:
                    await connection.execute(_SQL[f"add_{kind}"], name)
                    known[name] = await connection.fetchval(_SQL[f"{kind}_id"], name)
        return known
