"""What can be wrong with policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class PolicyError(ValueError):
    """Policies that cannot be used.

    Attributes:
        faults: All that was found, one sentence each.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class UnknownPoolError(LookupError):
    """A match in a pool that no pattern names a policy for.

    Attributes:
        pool: The pool of the match.
    """

    def __init__(self, pool: str, patterns: Iterable[str]) -> None:
        self.pool = pool
        super().__init__(f"no policy for pool {pool!r}; pools with a policy: {', '.join(patterns) or 'none'}")
