"""The return after an absence: what is owed comes first, then requalification, then the multiplier for activity."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, match, player, policy, policy_set, standing
from worker.rating import Book, PolicySet, Rated, Reason

DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)


def book_of(pool: str, rating: float, policies: PolicySet = SHIPPED, **rest: object) -> Book:
    """Open a book in which ann last played at NOON and stands at a rating."""
    book = Book(policies)
    book.put_state(pool, "ann", player(rating, last_played_at=NOON, **rest))
    return book


def test_the_return() -> None:
    """Owed steps come before the match; 5 games of requalification; the first 5 games after it count K × 1.25."""
    book = book_of("shax", 1500)
    book.put_state("shax", "bob", player(1500, last_played_at=NOON + 200 * DAY))
    seen = []
    for game in range(12):
        outcome = book.rate(match(pool="shax", after=(200 + game) * DAY))
        assert isinstance(outcome, Rated)
        change = next(c for c in outcome.changes if c.player_id == "ann" and c.reason is Reason.MATCH)
        seen.append((change.k, change.adjusted, standing(book).requalify, standing(book).boost))
        assert standing(book).inactive is False
        if game == 0:
            assert [c.reason for c in outcome.changes] == ["inactivity"] * 3 + ["match"] * 2
            assert [c.after for c in outcome.changes[:3]] == [1485, 1470, 1455]
            assert change.before == 1455
            assert [notice.occurred_at for notice in outcome.notices] == [NOON + 90 * DAY]
            assert standing(book).idle_steps == 0
    boosted = ("activity-boost",)
    assert seen == [
        (32, (), 4, 0),
        (32, (), 3, 0),
        (32, (), 2, 0),
        (32, (), 1, 0),
        (32, (), 0, 5),
        (40, boosted, 0, 4),
        (40, boosted, 0, 3),
        (40, boosted, 0, 2),
        (40, boosted, 0, 1),
        (40, boosted, 0, 0),
        (32, (), 0, 0),
        (32, (), 0, 0),
    ]


@pytest.mark.parametrize(("absent", "requalify"), [(90 * DAY - INSTANT, 0), (90 * DAY, 4)])
def test_a_return_at_the_moment_of_the_mark(absent: timedelta, requalify: int) -> None:
    """Who plays just before they would be marked was not away; at that moment they were."""
    book = book_of("shax", 1500)
    book.rate(match(pool="shax", after=absent))
    assert standing(book).requalify == requalify


def test_the_multiplier_is_of_one_side() -> None:
    """A player with the multiplier moves by 1.25 times as much as the opponent without it."""
    book = book_of("shax", 1500, boost=3)
    book.put_state("shax", "bob", player(1500, last_played_at=NOON))
    outcome = book.rate(match(pool="shax", after=DAY))
    assert isinstance(outcome, Rated)
    assert [(c.k, c.k_rule, c.delta) for c in outcome.changes] == [(40, "established", 20), (32, "established", -16)]


def test_going_away_again_starts_the_requalification_anew() -> None:
    """Who goes away during requalification or with the multiplier begins with 5 games again."""
    for requalify, boost in ((2, 0), (0, 3)):
        book = book_of("shax", 1500, requalify=requalify, boost=boost)
        book.rate(match(pool="shax", after=91 * DAY))
        assert (standing(book).requalify, standing(book).boost) == (4, 0)


def test_a_policy_without_requalification_gives_the_multiplier_at_once() -> None:
    """With no games of requalification the first game back is the first with the multiplier."""
    book = book_of("shax", 1500, policy_set(policy(inactivity={"after_days": 90, "boost_games": 2, "boost": 1.5})))
    for k, left in ((48, 1), (48, 0), (32, 0)):
        outcome = book.rate(match(pool="shax", after=100 * DAY))
        assert isinstance(outcome, Rated)
        assert (outcome.changes[0].k, standing(book).boost) == (k, left)


def test_an_unrated_match_is_no_return() -> None:
    """A casual match leaves an absent player as they were: no steps, no return."""
    book = book_of("shax", 1500)
    before = dict(book.states)
    book.rate(match(pool="shax", after=200 * DAY, match_type="casual"))
    assert book.states == before


def test_a_late_match_before_the_last_is_no_return() -> None:
    """A match that finished before the latest known leaves the absence alone."""
    book = book_of("shax", 1500)
    book.age("shax", "ann", NOON + 130 * DAY)
    book.rate(match(pool="shax", after=-DAY))
    now = standing(book)
    assert (now.inactive, now.idle_steps, now.requalify, now.last_played_at) == (True, 1, 0, NOON)


def test_a_late_match_takes_the_mark_away() -> None:
    """A match found late, finished before the player was marked, ends an absence that was none; points stay taken."""
    book = book_of("shax", 1500)
    book.age("shax", "ann", NOON + 130 * DAY)
    outcome = book.rate(match(pool="shax", after=50 * DAY))
    assert isinstance(outcome, Rated)
    assert outcome.changes[0].before == 1485
    now = standing(book)
    assert (now.inactive, now.idle_steps, now.requalify) == (False, 0, 0)
