"""What asyncpg takes for an array once it asks for less."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from worker.ledger.ledger import Ledger
from worker.policies import load_policies

if TYPE_CHECKING:
    from worker.settings import Settings


@pytest.mark.parametrize("array", [["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab"), []])
async def test_lists_tuples_and_sets_are_arrays(settings: Settings, array: Any) -> None:
    """Whatever the worker sends as an array arrives as one."""
    assert await fetched(settings, "select $1::text[]", array) == sorted(array)


async def test_lists_in_a_list_are_a_dimension(settings: Settings) -> None:
    """As with asyncpg's own question: nested lists make a matrix, nested texts do not."""
    matrix = [[1, 2], [3, 4]]
    assert await fetched(settings, "select $1::integer[]", matrix) == matrix


async def test_nothing_else_is_asked_for(settings: Settings) -> None:
    """Where this fails asyncpg asks otherwise by now: see whether `array_arguments` is needed any more."""
    with pytest.raises(asyncpg.DataError, match="a sized iterable container expected"):
        await fetched(settings, "select $1::text[]", deque("ab"))


async def fetched(settings: Settings, query: str, argument: Any) -> Any:
    """Ask the database of a worker, on one of its connections."""
    ledger = await Ledger.open(settings, load_policies(None, ()))
    try:
        async with ledger.connection() as connection:
            found = await connection.fetchval(query, argument)
    finally:
        await ledger.close()
    return sorted(found) if found and isinstance(found[0], str) else found
