"""Sanctions: resets, suspensions and bans; when they are in force; what lifts them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, lift, match, player, policy_set, sanction, standing, void
from worker.rating import (
    Book,
    Imposed,
    Lifted,
    LiftMismatchError,
    Rated,
    Reason,
    Repeated,
    Sanctioned,
    SanctionKind,
    Taken,
    Unrated,
)

DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)
SUSPENSION, BAN, RESET = SanctionKind.SUSPENSION, SanctionKind.TOURNAMENT_BAN, SanctionKind.RESET


def open_book(pool: str = "shax") -> Book:
    """Open a book of two established players."""
    book = Book(SHIPPED)
    for name in ("ann", "bob"):
        book.put_state(pool, name, player(1600.0, wins=60, losses=40, last_played_at=NOON - DAY))
    return book


@pytest.mark.parametrize(
    ("starts", "ends", "lifted", "suspended"),
    [
        (timedelta(), None, None, True),
        (INSTANT, None, None, False),
        (-DAY, INSTANT, None, True),
        (-DAY, timedelta(), None, False),
        (-DAY, None, INSTANT, True),
        (-DAY, None, timedelta(), False),
        (-DAY, DAY, -DAY, False),
    ],
)
def test_in_force_by_the_matchs_finished_at(
    starts: timedelta, ends: timedelta | None, lifted: timedelta | None, *, suspended: bool
) -> None:
    """A suspension holds from its start on, before its end and before it was lifted, whenever the match is rated."""
    book = open_book()
    verdict = sanction("ann", SUSPENSION, starts=starts, ends=ends)
    assert book.sanction(verdict) == Sanctioned()
    if lifted is not None:
        assert book.lift(lift(verdict, after=lifted)) is Lifted.LIFTED
    outcome = book.rate(match(pool="shax"))
    assert isinstance(outcome, Unrated) == suspended
    if suspended:
        assert outcome == Unrated("suspended", "ann")


@pytest.mark.parametrize("of", [("ann", "bob"), ("bob", "ann")])
def test_whoever_is_suspended(of: tuple[str, str]) -> None:
    """One of the two suffices, on whichever side, and is named; the match changes nothing."""
    book = open_book()
    book.sanction(sanction("bob", SUSPENSION))
    states = dict(book.states)
    assert book.rate(match(pool="shax", of=of)) == Unrated("suspended", "bob")
    assert book.states == states


def test_both_suspended() -> None:
    """If both are, the first by id is named, whoever comes first in the match."""
    book = open_book()
    book.sanction(sanction("bob", SUSPENSION, name="1"))
    book.sanction(sanction("ann", SUSPENSION, name="2"))
    assert book.rate(match(pool="shax", of=("bob", "ann"))) == Unrated("suspended", "ann")


def test_a_pool_of_its_own() -> None:
    """A sanction may hold in one pool only."""
    book = open_book()
    book.sanction(sanction("ann", SUSPENSION, pool="yi"))
    assert isinstance(book.rate(match(pool="shax")), Rated)
    assert book.rate(match(pool="yi")) == Unrated("suspended", "ann")


def test_what_comes_first_is_said() -> None:
    """Unverified is said before suspended, suspended before a ban and before the match type."""
    book = open_book()
    book.sanction(sanction("ann", BAN))
    assert book.rate(match(pool="shax", match_type="tournament")) == Unrated("tournament-banned", "ann")
    book.sanction(sanction("ann", SUSPENSION, name="2"))
    assert book.rate(match(pool="shax", match_type="tournament")) == Unrated("suspended", "ann")
    assert book.rate(match(pool="shax", match_type="casual")) == Unrated("suspended", "ann")
    assert book.rate(match(pool="yi", verified=False)) == Unrated("unverified")


def test_a_ban_is_from_tournaments_only() -> None:
    """A banned player's ranked matches are rated, in a policy without rules of tournaments too."""
    for pool in ("shax", "yi"):
        book = open_book(pool)
        book.sanction(sanction("ann", BAN))
        assert isinstance(book.rate(match(pool=pool)), Rated)
        assert book.rate(match(pool=pool, match_type="tournament")) == Unrated("tournament-banned", "ann")


def test_one_of_several_that_is_in_force_suffices() -> None:
    """A lifted suspension leaves another alone."""
    book = open_book()
    first, second = sanction("ann", SUSPENSION, name="1"), sanction("ann", SUSPENSION, name="2")
    for verdict in (first, second):
        book.sanction(verdict)
    book.lift(lift(first, after=-DAY))
    assert book.rate(match(pool="shax")) == Unrated("suspended", "ann")
    book.lift(lift(second, after=-DAY))
    assert isinstance(book.rate(match(pool="shax")), Rated)


def test_a_reset() -> None:
    """To the start, provisional again; the tally is for life, the peak starts anew, absence goes on."""
    book = open_book()
    before = player(1600, wins=60, losses=40, peak=2500, last_played_at=NOON - DAY, idle_steps=0, requalify=3, boost=2)
    book.put_state("shax", "ann", before)
    outcome = book.sanction(sanction("ann", RESET))
    assert isinstance(outcome, Sanctioned)
    (change,) = outcome.changes
    assert (change.reason, change.cause, change.match_id, change.opponent_id) == (Reason.RESET, "s", None, None)
    assert (change.version, change.before, change.after, change.delta) == (101, 1600, 1000, -600)
    assert (change.games, change.provisional, change.title_after) == (0, True, "Intermediate")
    assert (change.expected, change.score, change.k, change.weight) == (None, None, None, 1.0)
    assert change.occurred_at == NOON
    assert standing(book) == before._replace(
        rating=1000, version=101, games=0, peak=1000, requalify=0, boost=0, restarted=101
    )


def test_a_reset_of_every_pool_and_of_one() -> None:
    """Without a pool all in which the player has a chain are reset, in order; others are left alone."""
    for pool, reset in ((None, ["chess/blitz", "shax", "yi"]), ("shax", ["shax"]), ("chess/rapid", [])):
        book = Book(SHIPPED)
        for name in ("yi", "shax", "chess/blitz"):
            book.put_state(name, "ann", player(1600))
            book.put_state(name, "bob", player(1600))
        book.put_state("chess/rapid", "ann", SHIPPED.at("chess/rapid", NOON).start_state())
        outcome = book.sanction(sanction("ann", RESET, pool=pool))
        assert isinstance(outcome, Sanctioned)
        assert [change.pool for change in outcome.changes] == reset
        assert all(standing(book, "bob", name).rating == 1600 for name in ("yi", "shax", "chess/blitz"))


def test_a_reset_leaves_a_pool_without_policy_alone() -> None:
    """A pool that an operator took away keeps its ratings."""
    book = Book(SHIPPED)
    book.put_state("gone", "ann", player(1600))
    assert book.sanction(sanction("ann", RESET)) == Sanctioned()


def test_decay_owed_comes_before_a_reset_and_is_not_taken_again() -> None:
    """Steps before the reset are entered before it; those done are done, and the absence is as long as before."""
    late, swept = open_book(), open_book()
    swept.age("shax", "ann", NOON + 130 * DAY)
    for book in (late, swept):
        book.sanction(sanction("ann", RESET, starts=150 * DAY))
    assert late.states["shax", "ann"] == swept.states["shax", "ann"]
    assert standing(late).idle_steps == 2
    assert late.age("shax", "ann", NOON + 400 * DAY) == ((), ())


def test_the_same_sanction_twice() -> None:
    """A sanction is imposed once."""
    book = open_book()
    assert isinstance(book.sanction(sanction("ann", RESET)), Sanctioned)
    assert book.sanction(sanction("ann", RESET)) == Repeated()
    assert standing(book).version == 101


def test_a_lift() -> None:
    """A sanction is lifted once; a lift that comes before it waits for it. Only a lift that lifts is true."""
    book = open_book()
    verdict = sanction("ann", SUSPENSION)
    assert book.lift(lift(verdict)) is Lifted.WAITING
    assert book.lift(lift(verdict)) is Lifted.REPEATED
    assert book.sanction(verdict) == Sanctioned()
    assert isinstance(book.rate(match(pool="shax")), Rated)
    assert book.lift(lift(verdict)) is Lifted.REPEATED
    assert [bool(one) for one in Lifted] == [True, False, False]


def test_a_lift_that_contradicts_its_sanction() -> None:
    """A lift that names another player is refused, or not met if it came first."""
    book = open_book()
    verdict = sanction("ann", SUSPENSION)
    wrong = lift(verdict)._replace(player_id="bob")
    book.sanction(verdict)
    with pytest.raises(LiftMismatchError, match="sanction 's' is not one of player 'bob'"):
        book.lift(wrong)
    book = open_book()
    assert book.lift(wrong) is Lifted.WAITING
    book.sanction(verdict)
    assert book.rate(match(pool="shax")) == Unrated("suspended", "ann")


def test_a_lifted_reset_gives_back_what_it_took() -> None:
    """Points and games come back, what was played since stays."""
    book = open_book()
    before = standing(book)
    verdict = sanction("ann", RESET)
    book.sanction(verdict)
    book.rate(match(pool="shax", after=DAY))
    gained = standing(book).rating - 1000
    assert gained > 0
    lifting = lift(verdict, after=2 * DAY)
    assert book.lift(lifting)
    (change,) = book.give_back(lifting).changes
    assert (change.reason, change.cause, change.delta, change.games) == (Reason.LIFT, "s", 600, 101)
    assert change.occurred_at == NOON + 2 * DAY
    assert standing(book).rating == before.rating + gained
    assert (standing(book).games, standing(book).peak) == (before.games + 1, before.rating + gained)


def test_a_lifted_reset_wipes_nothing_out() -> None:
    """Once a reset is lifted, a match before it can be voided as if the reset had never been."""
    book = open_book()
    game = match(pool="shax")
    book.rate(game)
    verdict = sanction("ann", RESET, starts=DAY)
    book.sanction(verdict)
    book.lift(lift(verdict, after=DAY))
    book.give_back(lift(verdict, after=DAY))
    book.void(void(game, after=2 * DAY))
    assert (standing(book).rating, standing(book).games) == (1600, 100)


def test_nothing_to_give_back() -> None:
    """Other sanctions took nothing; what a later reset wiped out is gone; an unknown one took nothing that is known."""
    book = open_book()
    first, second = sanction("ann", RESET, name="1"), sanction("ann", RESET, name="2", starts=DAY)
    other = sanction("ann", SUSPENSION, name="3")
    for verdict in (first, second, other):
        book.sanction(verdict)
    states = dict(book.states)
    for verdict in (first, other):
        assert book.lift(lift(verdict))
        assert book.give_back(lift(verdict)) == Sanctioned()
    assert book.give_back(lift(sanction("ann", RESET, name="4"))) == Sanctioned()
    assert book.states == states


def test_a_reset_that_was_lifted_before_it_came() -> None:
    """It does nothing."""
    book = open_book()
    verdict = sanction("ann", RESET)
    book.lift(lift(verdict))
    assert book.sanction(verdict) == Sanctioned()
    assert standing(book).rating == 1600


def test_sanctions_may_be_entered() -> None:
    """A book that is told of sanctions, of what a reset took and of a waiting lift goes on as one that saw them."""
    book = open_book()
    suspension, reset, other = sanction("ann", SUSPENSION, name="1"), sanction("ann", RESET, name="2"), sanction("bob")
    taken = Taken("shax", 90, -100.0, 40, 1500.0)
    book.put_sanctions("ann", [Imposed(suspension, NOON + DAY), Imposed(reset, taken=(taken,))])
    book.put_waiting_lift(lift(other))
    book.sanction(other)
    assert book.rate(match(pool="shax")) == Unrated("suspended", "ann")
    assert isinstance(book.rate(match(pool="shax", after=DAY)), Rated)
    before = standing(book)
    assert book.lift(lift(reset))
    book.give_back(lift(reset))
    assert (standing(book).rating, standing(book).games) == (before.rating + 100, before.games + 40)


def test_the_start_of_the_version_in_force() -> None:
    """A reset takes to the start of the policy version that holds when it starts."""
    first, later = SHIPPED.at("shax", NOON), SHIPPED.at("shax", NOON).model_dump()
    later |= {"version": 2, "valid_from": NOON, "reason": "review", "start": 1100}
    book = Book(policy_set(first, type(first).model_validate(later)))
    for name, starts in (("ann", -INSTANT), ("bob", timedelta())):
        book.put_state("shax", name, player(1600))
        book.sanction(sanction(name, RESET, name=name, starts=starts))
    assert (standing(book, "ann").rating, standing(book, "bob").rating) == (1000, 1100)
