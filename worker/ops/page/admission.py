"""How many requests of people a worker lets in: so few that the matches beside them can't tell."""

from __future__ import annotations

import asyncio

_A_SECOND = 5  # one that asks the ledger takes the loop for a few milliseconds
_AT_ONCE = 60  # a page with all its parts, several times
_LONGEST_WAIT_S = 2.0
_REFUSALS_A_SECOND = 10
_LONGEST_REFUSAL_S = 30.0


class Admission:
    """Lets in sixty requests at once and five a second from then on.

    More of them wait, two seconds at most; then they are refused, and that slowly: whoever asks again as soon as they
    are refused costs next to nothing, and so do many who do.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._refused = 0

    async def admit(self, cost: float = 1.0) -> bool:
        """Wait for a turn. False where there are too many before it.

        Args:
            cost: Of a usual request, how much this one takes the loop.
        """
        now = asyncio.get_running_loop().time()
        turn = max(self._next, now - _AT_ONCE / _A_SECOND)
        if turn - now > _LONGEST_WAIT_S:
            await self._refuse()
            return False
        self._next = turn + cost / _A_SECOND
        if turn > now:
            await asyncio.sleep(turn - now)
        return True

    async def _refuse(self) -> None:
        self._refused += 1
        try:
            await asyncio.sleep(min(_LONGEST_REFUSAL_S, max(1.0, self._refused / _REFUSALS_A_SECOND)))
        finally:
            self._refused -= 1
