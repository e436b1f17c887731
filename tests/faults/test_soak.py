"""The short form of the soak: every kind of fault, some minutes' worth. `make soak` is the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.soak import Plan, soak
from worker.settings import Delivery

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("delivery", list(Delivery))
async def test_nothing_is_lost_or_done_twice(tmp_path: Path, delivery: Delivery) -> None:
    """Workers and servers killed, stopped, frozen and woken under load: each match once, each change once."""
    plan = Plan(
        seed=4, matches=6_000, kills=4, zombies=1, stops=1, broker=1, database=1, players=300, delivery=delivery
    )
    outcome = await soak(plan, tmp_path)
    assert outcome.wrong(delivery) == {}
    assert outcome.done.total() == 8
    assert outcome.sent.dead.total() > 50
