"""What housekeeping may have done to a player without an entry, and what it may not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from worker.policies import load_policies
from worker.rating.model import PlayerState
from worker.verify.absence import nothing_to_lose, only_absent

POLICIES = load_policies(None, ())
SHAX, YI = POLICIES.versions("shax"), POLICIES.versions("yi")  # with decay down to 1200, and without any
PLAYED = datetime(2026, 1, 1, tzinfo=UTC)
HIGH = PlayerState(1500.0, 30, 30, 20, 0, 10, 1500.0, PLAYED)
LOW = HIGH._replace(rating=1150.0)


@pytest.mark.parametrize(
    ("state", "moved", "may"),
    [
        (HIGH, {"inactive": True}, True),
        (LOW, {"inactive": True, "idle_steps": 4}, True),  # with nothing to lose
        (HIGH, {"inactive": True, "idle_steps": 4}, False),  # which would have cost 60 points
        (HIGH, {"idle_steps": 1}, False),
        (LOW, {"idle_steps": 3, "rating": 1149.0}, False),
        (LOW._replace(idle_steps=4), {"idle_steps": 3}, False),  # steps are not undone
        (HIGH._replace(inactive=True), {"inactive": False}, False),  # nor is the mark, but by a match
        (HIGH._replace(last_played_at=None), {"inactive": True}, False),
        (HIGH, {"requalify": 1}, False),
    ],
)
def test_what_housekeeping_may_do_without_an_entry(state: PlayerState, moved: dict[str, Any], may: bool) -> None:
    """It marks players as inactive and counts steps that cost nothing; nothing else changes without an entry."""
    assert only_absent(state, state._replace(**moved), state.rating, SHAX) is may


def test_steps_that_were_counted_when_there_was_nothing_to_lose() -> None:
    """Who has risen since, by a match that came late or a void, does not owe the steps that were counted before."""
    counted = HIGH._replace(idle_steps=4)
    assert only_absent(HIGH, counted, 1200.0, SHAX)
    assert not only_absent(HIGH, counted, 1200.1, SHAX)


def test_without_inactivity_nothing_happens() -> None:
    """A policy that knows no inactivity marks nobody and counts nothing."""
    assert not only_absent(HIGH, HIGH._replace(inactive=True), HIGH.rating, YI)
    assert not only_absent(LOW, LOW._replace(idle_steps=1), LOW.rating, YI)
    assert not nothing_to_lose(0.0, YI)
