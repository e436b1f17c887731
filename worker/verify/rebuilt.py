"""The ratings as they stand, against where rebuilding leaves the players."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker.rating.model import PlayerState
from worker.verify.absence import only_absent
from worker.verify.report import Name, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worker.rating.policy_set import Versions
    from worker.verify.chains import Chains
    from worker.verify.registered import Registered
    from worker.verify.report import Checks
    from worker.verify.states import States


class Rebuilt:
    """Compares `ratings` with the states that the rules lead to, to the last bit."""

    def __init__(self, states: States, chains: Chains, registered: Registered, checks: Checks) -> None:
        self._states = states
        self._chains = chains
        self._registered = registered
        self._check = checks[Name.REBUILT_RATINGS]

    def take(self, rows: Sequence[Any]) -> None:
        """Look at a piece of `ratings`."""
        for row in rows:
            kept = self._states.get(row["rating_id"])
            if kept is None:
                continue  # no entry moved them: the standings are looked at elsewhere
            self._check.looked_at += 1
            rebuilt, low = kept
            stored = PlayerState(*(row[name] for name in PlayerState._fields))
            if stored == rebuilt or only_absent(rebuilt, stored, low, self._versions(row["rating_id"])):
                continue
            said = ", ".join(
                f"{name}: {told(old)} stands, the rules give {told(new)}"
                for name, old, new in zip(PlayerState._fields, stored, rebuilt, strict=True)
                if old != new
            )
            self._check.find(said, pool=row["pool"], player_id=row["player_id"], version=row["version"])

    def _versions(self, rating_id: int) -> Versions:
        return self._registered.around(self._chains.of(rating_id).policy_id)
