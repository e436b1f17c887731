"""The ratings as they stand, against the chains that led there and against the policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker.verify.report import Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from worker.rating.policy import Policy
    from worker.verify.chains import Chain, Chains
    from worker.verify.registered import Registered
    from worker.verify.report import Checks

_TALLY = ("games", "wins", "draws", "losses")


class Standings:
    """The ratings as they stand.

    Attributes:
        count: How many were read.
    """

    def __init__(self, chains: Chains, registered: Registered, checks: Checks) -> None:
        self._chains = chains
        self._registered = registered
        self._starts = registered.starts()
        self._checks = checks
        self.count = 0

    def take(self, rows: Sequence[Any]) -> None:
        """Look at a piece of `ratings`."""
        self.count += len(rows)
        for row in rows:
            chain = self._chains.of(row["rating_id"])
            ids = {"pool": row["pool"], "player_id": row["player_id"], "version": row["version"]}
            self._check_end(row, chain, ids)
            self._check_tally(row, chain, ids)
            self._check_title(row, chain, ids)

    def _check_end(self, row: Any, chain: Chain, ids: dict[str, Any]) -> None:
        check = self._checks[Name.STANDINGS]
        check.looked_at += 1
        if row["version"] != chain.version:
            check.find(f"stands at version {row['version']}; the last entry is version {chain.version}", **ids)
        elif chain.version and row["rating"] != chain.after:
            check.find(f"stands at {row['rating']!r}; the last entry ended at {chain.after!r}", **ids)
        elif not chain.version and self._starts and row["rating"] not in self._starts:
            check.find(f"has no entry, and stands at {row['rating']!r}, where nobody starts", **ids)

    def _check_tally(self, row: Any, chain: Chain, ids: dict[str, Any]) -> None:
        check = self._checks[Name.TALLIES]
        check.looked_at += 1
        wrong = [name for name in _TALLY if row[name] != getattr(chain, name)]
        if wrong:
            said = ", ".join(f"{row[name]} {name}, the entries count {getattr(chain, name)}" for name in wrong)
            check.find(f"has {said}", **ids)

    def _check_title(self, row: Any, chain: Chain, ids: dict[str, Any]) -> None:
        """Look at what a policy says of a rating.

        It is that of the last change; or any later one where housekeeping, which changes nothing in the ledger by
        marking a player as inactive, has written the row since.
        """
        check = self._checks[Name.TITLES]
        check.looked_at += 1
        given = row["title"], row["provisional"]
        policies = list(self._policies(row, chain))
        if policies and all(_called(row, policy) != given for policy in policies):
            title, provisional = _called(row, policies[0])
            check.find(
                f"is {_words(*given)} at {row['rating']!r} after {row['games']} games; by {policies[0].name} "
                f"{policies[0].version} that is {_words(title, provisional)}",
                **ids,
            )

    def _policies(self, row: Any, chain: Chain) -> Iterable[Policy]:
        """Give the versions that may have the say, the likeliest first; none where it can't be read."""
        if not chain.version:
            return self._registered.of_pool(row["pool"])
        if not self._registered.knows(chain.policy_id):
            return ()
        policy = self._registered.policy(chain.policy_id)
        swept = row["inactive"] or row["idle_steps"]
        return [policy, *self._registered.versions(policy.name)] if swept else [policy]


def _called(row: Any, policy: Policy) -> tuple[str, bool]:
    return policy.title(row["rating"]), policy.provisional(row["games"])


def _words(title: str, provisional: bool) -> str:
    return f"{title}, {'provisional' if provisional else 'established'}"
