"""Array arguments without a search for arrays in them.

asyncpg asks of every element whether it is an array itself, by two abstract base classes, which takes half of the time
that encoding an array of numbers takes. All arrays that are sent here are lists, tuples or sets.
"""

from __future__ import annotations

from asyncpg.protocol import protocol


def ask_only_for_lists() -> None:
    """Let asyncpg take lists, tuples and sets for arrays, and nothing else."""
    protocol.IterableABC = (list, tuple, set, frozenset)  # type: ignore[attr-defined]
