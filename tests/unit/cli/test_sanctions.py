"""How a sanction stands at a moment, and how that is told."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from worker.cli.render_sanctions import hint, print_sanctions
from worker.ledger.reads import SanctionRecord, SanctionState
from worker.ledger.reads.verdicts import Lifting
from worker.rating.model import Sanction, SanctionKind
from worker.rating.sanctions import Imposed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SUSPENSION, RESET = SanctionKind.SUSPENSION, SanctionKind.RESET


def record(
    starts: float,
    ends: float | None = None,
    lifted: float | None = None,
    *,
    kind: SanctionKind = SUSPENSION,
    pool: str | None = None,
) -> SanctionRecord:
    """Make a sanction by days from now."""
    ends_at = None if ends is None else NOW + timedelta(days=ends)
    sanction = Sanction("s1", "ann", kind, NOW + timedelta(days=starts), ends_at, pool, "insults", "the desk")
    lifting = None if lifted is None else Lifting(NOW + timedelta(days=lifted), "appeal", "the board")
    return SanctionRecord(sanction, NOW, lifting)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (record(-1), "in force"),
        (record(0), "in force"),
        (record(1), "to come"),
        (record(-2, 0), "over"),
        (record(-2, 1), "in force"),
        (record(-2, 1, lifted=0), "lifted"),
        (record(-2, 1, lifted=0.5), "in force"),
        (record(-3, -1, lifted=0), "over"),
        (record(1, lifted=-1), "lifted"),
        (record(1, lifted=2), "to come"),
        (record(2, 3, lifted=1), "to come"),
        (record(-1, kind=RESET), "done"),
        (record(-1, lifted=-0.5, kind=RESET), "lifted"),
    ],
    ids=str,
)
def test_states(given: SanctionRecord, state: str) -> None:
    """A sanction is in force from its start to its end or its lift, both exclusive; a reset is done once."""
    assert given.state(NOW) == state


DAYS = st.integers(-3, 3)


@given(DAYS, st.none() | DAYS, st.none() | DAYS)
def test_in_force_is_what_the_core_says(starts: int, ends: int | None, lifted: int | None) -> None:
    """Whether a ban is in force is never told otherwise than matches are judged by."""
    one = record(starts, ends, lifted)
    core = Imposed(one.sanction, one.lifting.at if one.lifting else None).in_force("yi", NOW)
    assert (one.state(NOW) is SanctionState.IN_FORCE) == core


def test_the_hint() -> None:
    """One line for all that is in force in the pools that are looked at; none where nothing is."""
    ban = record(-1, pool="yi", kind=SanctionKind.TOURNAMENT_BAN)
    everything = [record(-1, 5), ban, record(1), record(-3, -1), record(-1, kind=RESET)]
    told = hint("ann", everything, NOW, None)
    assert told == (
        "In force: suspension, in every pool, until 2026-03-06 12:00:00 UTC; tournament ban, in yi, until it is lifted."
        " `rating-worker sanctions ann` says why."
    )
    assert "tournament ban" not in (hint("ann", everything, NOW, "shax") or "")
    assert hint("ann", [ban], NOW, "shax") is None
    assert hint("ann", [], NOW, None) is None


def test_all_that_is_known_is_told() -> None:
    """Kind, pool, times, who and why of the sanction and of its lift are all in the text."""
    out = io.StringIO()
    lifted = record(-2, lifted=-1, pool="yi")
    print_sanctions(Console(file=out, width=200), "ann", [record(-1, 5), lifted], NOW)
    assert out.getvalue().splitlines() == [
        "Suspension s1, in every pool: in force",
        "  from 2026-02-28 12:00:00 UTC until 2026-03-06 12:00:00 UTC, by the desk: insults",
        "",
        "Suspension s1, in yi: lifted",
        "  from 2026-02-27 12:00:00 UTC, by the desk: insults",
        "  lifted 2026-02-28 12:00:00 UTC by the board: appeal",
    ]
