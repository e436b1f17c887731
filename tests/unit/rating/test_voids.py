"""Voids: a nullified match is reversed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, match, player, policy, policy_set, sanction, standing, void
from worker.rating import (
    Book,
    Match,
    Rated,
    Reason,
    SanctionKind,
    Voided,
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


@pytest.mark.parametrize("score", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("pool", ["yi", "shax", "chess/standard"])
def test_right_after_its_match(score: float, pool: str) -> None:
    """Both get back what it cost them and lose what it gave them; games, wins, draws and losses no longer count it."""
    book = open_book(pool, 1500, 1700)
    game = match(score, pool=pool)
    before = [standing(book, name, pool) for name in ("ann", "bob")]
    book.rate(game)
    outcome = voided(book, game)
    assert list(outcome.states) == [standing(book, name, pool) for name in ("ann", "bob")]
    for old, new in zip(before, outcome.states, strict=True):
        assert new.rating == pytest.approx(old.rating, rel=1e-15)
        assert (new.games, new.wins, new.draws, new.losses) == (old.games, old.wins, old.draws, old.losses)
        assert new.version == old.version + 2
        assert new.last_played_at == NOON


def test_every_number_of_a_reversal() -> None:
    """A reversal is an entry of the match that is no game: the opposite of what it gave, at the time of the void."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    one, other = voided(book, game).changes
    assert (one.player_id, one.opponent_id, one.match_id, one.reason) == ("ann", "bob", game.match_id, Reason.VOID)
    assert (one.version, one.before, one.after, one.delta) == (102, 1516, 1500, -16)
    assert (other.player_id, other.version, other.before, other.after, other.delta) == ("bob", 102, 1484, 1500, 16)
    assert (one.expected, one.score, one.k, one.k_rule, one.weight, one.factors) == (None, None, None, None, 1.0, ())
    assert (one.games, one.provisional, one.adjusted, one.cause, one.opponent_before) == (100, False, (), None, None)
    assert one.occurred_at == NOON + HOUR
    assert one.policy == SHIPPED.at("shax", NOON).ref


def test_with_many_later_ones() -> None:
    """The compensation is exact for that match, and later matches stay as they were."""
    book = open_book()
    games = [match(pool="shax", after=n * HOUR, score=n % 3 / 2) for n in range(9)]
    outcomes = [book.rate(game) for game in games]
    before = {name: standing(book, name) for name in ("ann", "bob")}
    gave = outcomes[2]
    assert isinstance(gave, Rated)
    changes = voided(book, games[2]).changes
    assert [change.delta for change in changes] == [-change.delta for change in gave.changes]
    for change in changes:
        assert change.before == before[change.player_id].rating
        assert change.after == standing(book, change.player_id).rating


def test_the_pair_no_longer_counts_it() -> None:
    """Repeat-pair decay counts a pair's rated matches without those that were voided."""
    book = open_book("yi")
    games = [match(after=n * HOUR) for n in range(3)]
    for game in games:
        book.rate(game)
    voided(book, games[0])
    weights = []
    for n in (3, 4):
        outcome = book.rate(match(after=n * HOUR))
        assert isinstance(outcome, Rated)
        weights.append(outcome.changes[0].weight)
    assert weights == [1.0, 0.5]


def test_a_void_of_a_match_beyond_the_window() -> None:
    """A match that the pair's times do not reach back to is voided all the same."""
    book = open_book("yi")
    game = match()
    book.rate(game)
    book.put_pair_times("yi", "ann", "bob", [NOON + 30 * HOUR])
    voided(book, game)
    outcome = book.rate(match(after=31 * HOUR))
    assert isinstance(outcome, Rated)
    assert outcome.changes[0].weight == 1.0


def test_a_restart_at_the_floor_is_undone() -> None:
    """A match that took a player below 1400 and so to the start gives back both, games too."""
    book = open_book("chess/standard", 1405, 1405)
    game = match(0.0, pool="chess/standard")
    book.rate(game)
    assert (standing(book, pool="chess/standard").rating, standing(book, pool="chess/standard").games) == (1500, 0)
    change = voided(book, game).changes[0]
    assert (change.before, change.after, change.games, change.provisional) == (1500, 1405, 100, False)


def test_an_undone_restart_wipes_nothing_out() -> None:
    """Once the match that restarted a player is voided, a match before it can be reversed as well."""
    book = open_book("chess/standard", 1405, 1405)
    games = [match(0.5, pool="chess/standard"), match(0.0, pool="chess/standard", after=HOUR)]
    for game in games:
        book.rate(game)
    book.put_state("chess/standard", "bob", player(1405))
    assert [voided(book, game).changes[0].games for game in reversed(games)] == [101, 100]


def test_no_floor_acts() -> None:
    """Taking back a win may lead below a floor that clamps: it is no loss."""
    book = open_book(ann=8, bob=8)
    games = [match(pool="shax"), match(0.0, pool="shax", after=HOUR, of=("ann", "cat"))]
    book.put_state("shax", "cat", player(8.0))
    for game in games:
        book.rate(game)
    assert standing(book).rating == pytest.approx(8.0, abs=1)
    voided(book, games[0])
    assert standing(book).rating < 0


def test_no_rounding_acts() -> None:
    """A policy of whole points stays whole, as what is reversed was whole."""
    book = Book(policy_set(policy(rounding="integer")))
    book.put_state("yi", "ann", player(1501))
    game = match()
    book.rate(game)
    assert voided(book, game).changes[0].after == 1501
    assert standing(book, pool="yi").rating == 1501


def test_what_a_reset_wiped_out_is_not_taken_twice() -> None:
    """Where a reset came in between, the match's points and games are gone already; only the tally changes."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    book.sanction(sanction("ann", SanctionKind.RESET, starts=2 * HOUR))
    one, other = voided(book, game).changes
    assert (one.before, one.delta, one.after, one.games) == (1000, 0, 1000, 0)
    assert (other.delta, other.games) == (16, 100)
    assert (standing(book).wins, standing(book).losses) == (50, 50)


def test_a_reset_long_ago_wiped_out_what_came_before_it() -> None:
    """Games since the reset make no difference to that."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    book.sanction(sanction("ann", SanctionKind.RESET, starts=2 * HOUR))
    book.rate(match(pool="shax", after=3 * HOUR))
    change = voided(book, game).changes[0]
    assert (change.delta, change.games) == (0, 1)


def test_a_match_after_a_reset_is_reversed() -> None:
    """A reset before the match leaves the reversal whole."""
    book = open_book()
    book.sanction(sanction("ann", SanctionKind.RESET, starts=-HOUR))
    game = match(pool="shax")
    book.rate(game)
    change = voided(book, game).changes[0]
    assert (change.after, change.games) == (1000, 0)


def test_owed_decay_comes_first() -> None:
    """Steps that fall before the void are taken before it, so that it does not matter when a sweep ran."""
    late, swept = open_book(ann=1210), open_book(ann=1210)
    game = match(0.0, pool="shax")
    for book in (late, swept):
        book.rate(game)
    swept.age("shax", "ann", NOON + 121 * DAY)
    swept.age("shax", "bob", NOON + 121 * DAY)
    for book in (late, swept):
        assert isinstance(book.void(void(game, after=125 * DAY)), Voided)
    assert late.states == swept.states


def test_what_stays() -> None:
    """Peak, the time of the last match and games of requalification stay: what was before them is not kept."""
    book = open_book(requalify=3)
    game = match(pool="shax")
    book.rate(game)
    voided(book, game)
    now = standing(book)
    assert (now.peak, now.last_played_at, now.requalify) == (1516, NOON, 2)


def test_the_version_in_force_at_the_void() -> None:
    """The reversal names the policy version of its own time: its titles are what is shown."""
    later = policy(version=2, valid_from=NOON + HOUR, reason="review", ladder=[{"title": "all"}])
    book = Book(policy_set(policy(), later))
    game = match()
    book.rate(game)
    change = voided(book, game).changes[0]
    assert (change.policy.version, change.title_after) == (2, "all")
