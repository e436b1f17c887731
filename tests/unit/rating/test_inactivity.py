"""Inactivity: the mark, the decay, the return. The numbers are those of rules.md."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.rating.examples import NOON, SHIPPED, player, policy, policy_set, standing, thorough
from worker.rating import Book, NoticeKind, PolicySet, Reason
from worker.rating.inactivity import Inactivity, age

DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)

DECAY = {"after_days": 90, "step_days": 30, "step_points": 15, "lowest": 1200}


def book_of(pool: str, rating: float, policies: PolicySet = SHIPPED, **rest: object) -> Book:
    """Open a book in which ann last played at NOON and stands at a rating."""
    book = Book(policies)
    book.put_state(pool, "ann", player(rating, last_played_at=NOON, **rest))
    return book


@pytest.mark.parametrize(
    ("absent", "marked", "costs"),
    [
        (90 * DAY - INSTANT, False, []),
        (90 * DAY, True, []),
        (120 * DAY - INSTANT, True, []),
        (120 * DAY, True, [15]),
        (149 * DAY, True, [15]),
        (150 * DAY, True, [15, 15]),
        (270 * DAY, True, [15] * 6),
    ],
)
def test_biciid(absent: timedelta, costs: list[float], *, marked: bool) -> None:
    """After 90 days without a rated game marked inactive; every further full 30 days costs 15 points."""
    book = book_of("shax", 1500)
    changes, notices = book.age("shax", "ann", NOON + absent)
    assert [-change.delta for change in changes] == costs
    assert standing(book).inactive == marked == bool(notices)
    assert standing(book).rating == 1500 - sum(costs)


@pytest.mark.parametrize(
    ("rating", "costs"),
    [
        (1250, [15, 15, 15, 5]),
        (1215, [15]),
        (1214.5, [14.5]),
        (1200, []),
        (1199.9, []),
        (900, []),
    ],
)
def test_never_below_1200_and_never_raising_anyone(rating: float, costs: list[float]) -> None:
    """The last step ends on 1200; who is at 1200 or lower loses and gains nothing."""
    book = book_of("shax", rating)
    changes, _ = book.age("shax", "ann", NOON + 365 * DAY)
    assert [-change.delta for change in changes] == costs
    assert standing(book).rating == rating - sum(costs)
    assert standing(book).idle_steps == 9


@pytest.mark.parametrize(("absent", "marked"), [(365 * DAY - INSTANT, False), (365 * DAY, True), (3650 * DAY, True)])
def test_fide(absent: timedelta, *, marked: bool) -> None:
    """No rated game in one year: marked inactive, rating unchanged."""
    book = book_of("chess/standard", 1500)
    changes, notices = book.age("chess/standard", "ann", NOON + absent)
    assert (changes, bool(notices)) == ((), marked)
    assert standing(book, pool="chess/standard") == player(1500, last_played_at=NOON, inactive=marked)


def test_yiboard_knows_no_inactivity() -> None:
    """A policy without the table marks nobody and costs nothing."""
    book = book_of("yi", 1500)
    assert book.age("yi", "ann", NOON + 3650 * DAY) == ((), ())
    assert standing(book, pool="yi") == player(1500, last_played_at=NOON)


def test_every_number_of_a_step() -> None:
    """A step is an entry of the chain that is no game and no match's, at the moment at which it falls."""
    book = book_of("shax", 1212)
    (change,), _ = book.age("shax", "ann", NOON + 150 * DAY)
    assert change.reason is Reason.INACTIVITY
    assert (change.version, change.before, change.after, change.delta) == (101, 1212, 1200, -12)
    assert change.occurred_at == NOON + 120 * DAY
    assert (change.match_id, change.opponent_id, change.cause, change.opponent_before) == (None, None, None, None)
    assert (change.expected, change.score, change.k, change.k_rule, change.weight) == (None, None, None, None, 1.0)
    assert (change.games, change.provisional, change.factors, change.adjusted) == (100, False, (), ())
    assert (change.title_before, change.title_after) == ("Advanced", "Advanced")
    assert change.policy == SHIPPED.at("shax", NOON).ref
    assert standing(book) == player(1200, version=101, peak=1212, last_played_at=NOON, idle_steps=2, inactive=True)


def test_the_notice() -> None:
    """Becoming inactive is told once, with the moment at which it holds from and a key of its own."""
    book = book_of("shax", 1500)
    _, (notice,) = book.age("shax", "ann", NOON + 100 * DAY)
    assert (notice.kind, notice.subject) == (NoticeKind.PLAYER_INACTIVE, "shax|ann")
    assert notice.occurred_at == NOON + 90 * DAY
    assert notice.key == "shax\x1fann\x1f2026-05-30T12:00:00+00:00"
    ref = SHIPPED.at("shax", NOON).ref
    assert notice.body == {
        "pool": "shax",
        "player_id": "ann",
        "last_played_at": NOON,
        "policy": {"name": ref.name, "version": ref.version, "digest": ref.digest},
    }
    assert book.age("shax", "ann", NOON + 110 * DAY) == ((), ())


def test_who_has_never_played() -> None:
    """A player without a rated game, known or not, owes nothing."""
    book = Book(SHIPPED)
    assert book.age("shax", "ann", NOON) == ((), ())
    assert book.states == {}
    book.put_state("shax", "ann", SHIPPED.at("shax", NOON).start_state())
    assert book.age("shax", "ann", NOON) == ((), ())


@thorough
@given(
    rating=st.floats(0, 4000),
    days=st.lists(st.floats(0, 1500), max_size=6),
    pool=st.sampled_from(["shax", "chess/standard"]),
)
def test_it_does_not_depend_on_when_anybody_looks(rating: float, days: list[float], pool: str) -> None:
    """However often and in whatever order a player is aged, they end where one look at the end would have put them."""
    often, once = book_of(pool, rating), book_of(pool, rating)
    several = [often.age(pool, "ann", NOON + day * DAY) for day in [*days, 1500]]
    changes, notices = once.age(pool, "ann", NOON + 1500 * DAY)
    assert tuple(change for some, _ in several for change in some) == changes
    assert tuple(notice for _, some in several for notice in some) == notices
    assert often.states == once.states


@thorough
@given(rating=st.floats(0, 4000), days=st.floats(0, 40_000))
def test_it_never_raises_anyone_and_never_goes_below_lowest(rating: float, days: float) -> None:
    """After any absence a player stands at most where they stood, and above 1200 if they stood above it."""
    book = book_of("shax", rating)
    changes, _ = book.age("shax", "ann", NOON + days * DAY)
    after = standing(book).rating
    assert min(rating, 1200) <= after <= rating
    before = rating
    for change in changes:
        assert change.delta < 0
        assert (change.before, change.after) == (before, before + change.delta)
        before = change.after
    assert before == after


def test_a_thousand_years_take_no_longer() -> None:
    """The work is bounded by the points to lose: steps at `lowest` are counted, not taken."""
    daily = policy(inactivity=DECAY | {"after_days": 1, "step_days": 0.001})
    book = book_of("shax", 1230, policy_set(daily))
    changes, _ = book.age("shax", "ann", NOON + 365_000 * DAY)
    assert len(changes) == 2
    assert standing(book).idle_steps == 364_999_000


def test_the_end_of_time() -> None:
    """Someone who last played just before the end of time is never marked, and that is no crash."""
    book = Book(SHIPPED)
    last = datetime(9999, 12, 1, tzinfo=UTC)
    book.put_state("shax", "ann", player(last_played_at=last))
    assert book.age("shax", "ann", datetime.max.replace(tzinfo=UTC)) == ((), ())


@pytest.mark.parametrize(
    ("second", "marked", "falls"),
    [
        # A version acts from its date on and never on the time before it.
        ({}, 90, [120]),  # no inactivity any more from day 140 on
        (DECAY | {"step_days": 10}, 90, [120, 140, 150, 160]),
        (DECAY | {"after_days": 130, "step_days": 5}, 90, [120, 140, 145, 150, 155, 160]),
        (DECAY | {"step_points": 40}, 90, [120, 150]),
    ],
)
def test_versions_of_a_policy(second: dict[str, float], marked: int, falls: list[int]) -> None:
    """Each step falls by the calendar of the version in force then."""
    later = policy(
        version=2,
        valid_from=NOON + 140 * DAY,
        reason="review",
        inactivity=second or None,
    )
    policies = policy_set(policy(inactivity=DECAY), later)
    for looks in ([160], [100, 120, 139.9, 140, 141, 152, 160], list(range(161))):
        book = book_of("shax", 1500, policies)
        seen = [book.age("shax", "ann", NOON + day * DAY) for day in looks]
        changes = [change for some, _ in seen for change in some]
        assert [(change.occurred_at - NOON).days for change in changes] == falls
        assert [change.policy.version for change in changes] == [1 if day < 140 else 2 for day in falls]
        assert [(notice.occurred_at - NOON).days for _, some in seen for notice in some] == [marked]


def test_a_first_rule_of_inactivity_marks_from_its_date() -> None:
    """Who is long gone when a version brings the rule is marked on its date; the time before costs nothing."""
    later = policy(version=2, valid_from=NOON + 400 * DAY, reason="review", inactivity=DECAY)
    book = book_of("shax", 1500, policy_set(policy(), later))
    changes, (notice,) = book.age("shax", "ann", NOON + 421 * DAY)
    assert notice.occurred_at == NOON + 400 * DAY
    assert [(change.occurred_at - NOON).days for change in changes] == [420]


def test_age_gives_the_state_too() -> None:
    """The function under the book leaves the state that it was given alone and gives the new one."""
    versions = SHIPPED.versions("shax")
    before = player(1500, last_played_at=NOON)
    aged = age("shax", "ann", before, versions, NOON + 120 * DAY)
    assert aged.state == before._replace(rating=1485, version=101, idle_steps=1, inactive=True)
    assert age("shax", "ann", aged.state, versions, NOON + 120 * DAY) == (aged.state, (), ())


def test_decay_goes_together() -> None:
    """A policy names all of step, points and lowest, or none."""
    with pytest.raises(ValueError, match="step_days, step_points, lowest go together; there is only step_days"):
        Inactivity(after_days=90, step_days=30)
