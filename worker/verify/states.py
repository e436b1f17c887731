"""The states of all players in memory, packed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from worker.rating.model import PlayerState
from worker.verify.slots import Slots

_LAYOUT = "diiiiidqi?hhid"
_PLAYED = 7  # the place of last_played_at
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NEVER = -(1 << 63)


class Kept(NamedTuple):
    """A state, and the lowest rating of the player's since the last rated match."""

    state: PlayerState
    low: float


class States:
    """Where players stand, by rating_id."""

    def __init__(self) -> None:
        self._slots = Slots(_LAYOUT)

    def get(self, rating_id: int) -> Kept | None:
        """Give where a player stands, None for one who has not come up."""
        fields = self._slots.get(rating_id)
        if fields is None:
            return None
        rating, version, games, wins, draws, losses, peak, played, *rest, low = fields
        last = None if played == _NEVER else _EPOCH + played * _MICROSECOND
        return Kept(PlayerState(rating, version, games, wins, draws, losses, peak, last, *rest), low)

    def put(self, rating_id: int, state: PlayerState) -> None:
        """Enter where a player stands."""
        last, low = state.last_played_at, state.rating
        played = _NEVER if last is None else (last - _EPOCH) // _MICROSECOND
        before = self._slots.get(rating_id)
        if before is not None and before[_PLAYED] == played:
            low = min(low, before[-1])
        self._slots.put(rating_id, *state[:_PLAYED], played, *state[_PLAYED + 1 :], low)
