"""Voids that come twice, before their match, of a match that is not rated, or of another than they say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, match, player, void
from worker.rating import (
    Book,
    Match,
    NothingToReverse,
    Rated,
    Recorded,
    Repeated,
    Unrated,
    Voided,
    VoidMismatchError,
    Waiting,
)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def open_book(pool: str = "shax", ann: float = 1500.0, bob: float = 1500.0, **rest: Any) -> Book:
    """Open a book of two established players."""
    book = Book(SHIPPED)
    for name, rating in (("ann", ann), ("bob", bob)):
        book.put_state(pool, name, player(rating, wins=50, losses=50, last_played_at=NOON - DAY, **rest))
    return book


def voided(book: Book, game: Match) -> Voided:
    """Void a match that is rated."""
    outcome = book.void(void(game))
    assert isinstance(outcome, Voided)
    return outcome


def test_a_second_void_is_a_duplicate() -> None:
    """A match is voided once."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    voided(book, game)
    states = dict(book.states)
    assert book.void(void(game, why="again")) == Repeated()
    assert book.states == states


def test_a_void_before_its_match_waits_for_it() -> None:
    """The match is recorded and not rated when it comes, whatever else there is about it; the void is met."""
    book = open_book()
    game = match(pool="shax", match_type="casual")
    assert book.void(void(game)) == Waiting()
    assert book.void(void(game)) == Repeated()
    before = dict(book.states)
    assert book.rate(game) == Unrated("voided")
    assert book.states == before
    assert book.void(void(game)) == Repeated()


def test_a_waiting_void_of_another_match_is_not_met() -> None:
    """A void that names other players than the match that comes is not its own, in whichever order they come."""
    book = open_book()
    game = match(pool="shax")
    book.void(void(game)._replace(players=("ann", "cat")))
    assert isinstance(book.rate(game), Rated)
    voided(book, game)


@pytest.mark.parametrize("rest", [{"match_type": "casual"}, {"match_type": "tournament", "of": ("ann", "new")}])
def test_a_void_of_an_unrated_match(rest: dict[str, Any]) -> None:
    """There is nothing to reverse, and the reason is named; it is voided all the same."""
    book = open_book()
    game = match(pool="shax", **rest)
    unrated = book.rate(game)
    assert isinstance(unrated, Unrated)
    assert book.void(void(game)) == NothingToReverse(unrated.reason)
    assert book.void(void(game)) == Repeated()


@pytest.mark.parametrize("wrong", [{"pool": "yi"}, {"players": ("ann", "cat")}, {"players": ("ann", "ann")}])
def test_a_void_that_contradicts_its_match(wrong: dict[str, Any]) -> None:
    """A void that names another pool or other players is refused and changes nothing."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    states = dict(book.states)
    with pytest.raises(VoidMismatchError, match="was played in 'shax' by 'ann' and 'bob'; the void names"):
        book.void(void(game)._replace(**wrong))
    assert book.states == states
    voided(book, game)


def test_the_players_may_be_named_in_any_order() -> None:
    """A void names a pair, not sides."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    assert isinstance(book.void(void(game)._replace(players=("bob", "ann"))), Voided)


def test_a_recorded_match_may_be_entered() -> None:
    """A book that is told of a match, of what it gave and of a waiting void goes on as one that saw them."""
    first = open_book()
    game = match(pool="shax")
    outcome = first.rate(game)
    assert isinstance(outcome, Rated)
    second = Book(SHIPPED)
    for (pool, name), one in first.states.items():
        second.put_state(pool, name, one)
    second.put_recorded(game.match_id, Recorded(game, outcome.changes))
    other = match(pool="shax", after=HOUR)
    second.put_waiting_void(void(other))
    assert voided(second, game) == voided(first, game)
    assert second.rate(other) == Unrated("voided")
    second.put_recorded("old", Recorded(game._replace(match_id="old"), outcome.changes, voided=True))
    assert second.void(void(game._replace(match_id="old"))) == Repeated()
