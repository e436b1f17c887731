"""What verifying keeps of every player and every record: packed, and given back as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from worker.rating.model import PlayerState
from worker.verify.slots import Slots
from worker.verify.sources import Places
from worker.verify.states import States

IDS = st.integers(0, 20_000) | st.integers(0, 2**62)
COUNTS = st.integers(0, 2**31 - 1)
RATINGS = st.floats(allow_nan=False, allow_infinity=False)
TIMES = st.datetimes(timezones=st.just(UTC))

STATES = st.builds(
    PlayerState,
    rating=RATINGS,
    version=COUNTS,
    games=COUNTS,
    wins=COUNTS,
    draws=COUNTS,
    losses=COUNTS,
    peak=RATINGS,
    last_played_at=st.none() | TIMES,
    idle_steps=COUNTS,
    inactive=st.booleans(),
    requalify=st.integers(0, 2**15 - 1),
    boost=st.integers(0, 2**15 - 1),
    restarted=COUNTS,
)


@given(st.lists(st.tuples(IDS, STATES), max_size=20))
def test_states_come_back_as_they_were(entered: list[tuple[int, PlayerState]]) -> None:
    """Every field of every player's last state is there, to the last bit, and nobody else is."""
    states = States()
    for rating_id, state in entered:
        states.put(rating_id, state)
    for rating_id, state in dict(entered).items():
        kept = states.get(rating_id)
        assert kept is not None
        assert kept.state == state
    missing = next(n for n in range(len(entered) + 1) if n not in dict(entered))
    assert states.get(missing) is None


def test_the_lowest_rating_is_that_since_the_last_match() -> None:
    """It falls and does not rise while a player is away, and starts anew with a match."""
    states = States()
    played = datetime(2026, 1, 1, tzinfo=UTC)
    lows = []
    for rating, days in ((1500.0, 0), (1300.0, 0), (1400.0, 0), (1450.0, 1), (1440.0, 1)):
        states.put(7, PlayerState(rating, last_played_at=played + timedelta(days=days)))
        kept = states.get(7)
        assert kept is not None
        lows.append(kept.low)
    assert lows == [1500.0, 1300.0, 1300.0, 1450.0, 1440.0]


@given(st.dictionaries(IDS, st.integers(-(2**31), 2**31 - 1), max_size=30))
def test_slots_keep_what_was_put(entered: dict[int, int]) -> None:
    """A record under any number is given back, zero too, and numbers without one give none."""
    slots = Slots("i")
    for number, value in entered.items():
        slots.put(number, value)
    assert {number: slots.get(number) for number in entered} == {number: (value,) for number, value in entered.items()}
    assert all(slots.get(number + 1) is None for number in entered if number + 1 not in entered)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 100_000) | st.integers(0, 2**62))))
def test_a_place_is_new_once(places: list[tuple[int, int, int]]) -> None:
    """A place of a topic is new when it is seen for the first time, and never again."""
    seen = Places({1, 2, 3})
    faults = [seen.fault(*place) for place in places]
    assert [fault is None for fault in faults] == [place not in places[:at] for at, place in enumerate(places)]
    assert Places({1}).fault(2, 0, 7) == "comes from source 2, partition 0, offset 7, of which no topic is known"
