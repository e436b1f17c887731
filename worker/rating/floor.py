"""The floor: how low a rating may go, and what happens below."""

from __future__ import annotations

from typing import Literal

from worker.rating.rule import Rule


class Floor(Rule):
    """A policy's floor.

    Attributes:
        at: The lowest rating, in whole points: whole, so that the change that ends on it is exact.
        action: `clamp` stops a fall at the floor. `restart` lets it happen and takes the player back to the start, with
            no games, by a second change of the same match.
    """

    at: int
    action: Literal["clamp", "restart"]
