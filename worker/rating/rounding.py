"""Rounding: half away from zero, so that what is +x for one side is -x for the other."""

from __future__ import annotations

from typing import Literal

Rounding = Literal["none", "integer"]
"""`none` keeps ratings in double precision; `integer` rounds each change, so that whole ratings stay whole."""

HALF = 0.5


def display(points: float) -> int:
    """Give a rating or a change as people see it: in whole points, half away from zero.

    Python's own `round` goes to the even neighbour, and `floor(x + 0.5)` goes upwards and fails just below a half.

    Args:
        points: Finite, in Elo points.
    """
    whole = int(points)  # towards zero, and the rest below is exact
    rest = points - whole
    if rest >= HALF:
        return whole + 1
    if rest <= -HALF:
        return whole - 1
    return whole
