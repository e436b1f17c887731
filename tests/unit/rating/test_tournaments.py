"""Tournaments: who may enter, who is seeded where, whose match is not rated."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.rating.examples import NOON, SHIPPED, match, player, policy, policy_set, sanction
from worker.rating import (
    Book,
    EntriesClosed,
    Match,
    NoticeKind,
    PlayerState,
    PolicySet,
    Rated,
    Refusal,
    Repeated,
    SanctionKind,
    Seed,
    Seeding,
    Tournament,
    TournamentFinished,
    TournamentMismatchError,
    TournamentOpened,
    Unrated,
)
from worker.rating.tournaments import Entry

DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)
CUP = "cup"


def open_book(policies: PolicySet = SHIPPED, **ratings: float) -> Book:
    """Open a book of established players of shax at ratings, who played the day before NOON."""
    book = Book(policies)
    for name, rating in ratings.items():
        book.put_state("shax", name, player(rating, last_played_at=NOON - DAY))
    return book


def close(book: Book, *entrants: str, bests: dict[str, float] | None = None) -> Seeding:
    """Close the entries of the cup at NOON."""
    seeding = book.close_entries(EntriesClosed(CUP, "shax", NOON, entrants), bests or {})
    assert isinstance(seeding, Seeding)
    return seeding


def cup(of: tuple[str, str] = ("ann", "bob"), after: timedelta = DAY, tournament_id: str | None = CUP) -> Match:
    """Play a match of the cup."""
    return match(pool="shax", of=of, match_type="tournament", tournament_id=tournament_id, after=after)


@pytest.mark.parametrize(
    ("rating", "best", "seeding_rating"),
    [
        # the higher of the current rating and the best of the last 90 days less 100
        (1500, None, 1500),
        (1500, 1500, 1500),
        (1500, 1600, 1500),
        (1500, 1600.5, 1500.5),
        (1300, 1700, 1600),
    ],
)
def test_seeding_protection(rating: float, best: float | None, seeding_rating: float) -> None:
    """Dumping rating just before an event gains nothing."""
    seeding = close(open_book(ann=rating), "ann", bests={} if best is None else {"ann": best})
    assert seeding.seeds == (Seed(1, "ann", seeding_rating, rating, best),)


def test_places() -> None:
    """Seeds go by the seeding rating from the highest down, ties by player id; an entrant counts once."""
    book = open_book(ann=1400, bob=1500, cat=1600, dan=1500)
    seeding = close(book, "dan", "bob", "cat", "ann", "dan", bests={"ann": 1650})
    assert [(seed.place, seed.player_id) for seed in seeding.seeds] == [(1, "cat"), (2, "ann"), (3, "bob"), (4, "dan")]
    assert seeding.refused == ()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (player(1500, games=19), "provisional"),
        (player(1500, games=20), None),
        (player(1500, last_played_at=NOON - 90 * DAY), "inactive"),
        (player(1500, last_played_at=NOON - 90 * DAY + INSTANT), None),
        (player(1500, last_played_at=NOON - DAY, requalify=1), "inactive"),
        (player(1500, last_played_at=NOON - DAY, boost=5), None),
        (player(1500, games=19, last_played_at=NOON - 90 * DAY), "provisional"),
        (None, "provisional"),
    ],
)
def test_who_may_enter(state: PlayerState | None, reason: str | None) -> None:
    """Provisional players may not, nor inactive ones until they requalify, nor those whom the pool never saw."""
    book = open_book()
    if state is not None:
        book.put_state("shax", "ann", state)
    seeding = close(book, "ann")
    assert seeding.refused == (() if reason is None else (Refusal("ann", reason),))
    assert len(seeding.seeds) == (reason is None)
    outcome = book.rate(cup(after=timedelta()))
    assert outcome == Unrated("tournament-refused", "ann") if reason else isinstance(outcome, Unrated)


@pytest.mark.parametrize(
    ("kind", "reason"), [(SanctionKind.SUSPENSION, "suspended"), (SanctionKind.TOURNAMENT_BAN, "banned")]
)
@pytest.mark.parametrize("policies", [SHIPPED, policy_set(policy())])
def test_sanctioned_entrants(kind: SanctionKind, reason: str, policies: PolicySet) -> None:
    """Suspended and banned players are refused, whatever the policy, by the time at which entries close."""
    book = open_book(policies, ann=1500, bob=1500, cat=1500)
    book.sanction(sanction("ann", kind, name="1"))
    book.sanction(sanction("bob", kind, name="2", starts=INSTANT))
    book.sanction(sanction("cat", kind, name="3", starts=-DAY, ends=timedelta()))
    seeding = close(book, "cat", "bob", "ann")
    assert seeding.refused == (Refusal("ann", reason),)
    assert [seed.player_id for seed in seeding.seeds] == ["bob", "cat"]


def test_a_policy_without_the_table() -> None:
    """Without rules of tournaments everyone may enter, new players at the start, and nothing is protected."""
    book = open_book(policy_set(policy()), ann=1400)
    seeding = close(book, "ann", "new", bests={"ann": 2000})
    assert seeding.seeds == (Seed(1, "new", 1500, 1500, None), Seed(2, "ann", 1400, 1400, 2000))
    assert isinstance(book.rate(cup(of=("ann", "new"))), Rated)


def test_a_policy_that_refuses_nobody() -> None:
    """A policy may protect the seeding and refuse neither provisional nor inactive players."""
    rules = {"protection_days": 30, "protection_points": 50}
    book = open_book(policy_set(policy(provisional_games=10, tournaments=rules, inactivity={"after_days": 1})))
    book.put_state("shax", "ann", player(1400, games=1, last_played_at=NOON - 9 * DAY))
    seeding = close(book, "ann", bests={"ann": 1500})
    assert (seeding.refused, seeding.seeds) == ((), (Seed(1, "ann", 1450, 1400, 1500),))


def test_the_notice() -> None:
    """Closing the entries is told with all seeds and all refusals."""
    book = open_book(ann=1400, bob=1500)
    notice = close(book, "bob", "ann", "new", bests={"ann": 1600}).notice
    assert (notice.kind, notice.key, notice.subject, notice.occurred_at) == (
        NoticeKind.TOURNAMENT_SEEDED,
        CUP,
        CUP,
        NOON,
    )
    ref = SHIPPED.at("shax", NOON).ref
    assert notice.body == {
        "tournament_id": CUP,
        "pool": "shax",
        "seeds": [
            {"place": 1, "player_id": "ann", "seeding_rating": 1500.0, "rating": 1400.0, "best": 1600},
            {"place": 2, "player_id": "bob", "seeding_rating": 1500.0, "rating": 1500.0, "best": None},
        ],
        "refused": [{"player_id": "new", "reason": "provisional"}],
        "policy": {"name": ref.name, "version": ref.version, "digest": ref.digest},
    }


def test_seeds_are_frozen_with_what_is_owed() -> None:
    """The rating that counts is the one when entries close, whether a sweep ran or not; closing moves nobody."""
    rules = {"after_days": 90, "step_days": 30, "step_points": 15, "lowest": 1200}
    book = open_book(policy_set(policy(inactivity=rules)))
    book.put_state("shax", "ann", player(1500, last_played_at=NOON - 125 * DAY))
    states = dict(book.states)
    assert [seed.rating for seed in close(book, "ann").seeds] == [1485]
    assert book.states == states


def test_entries_close_once() -> None:
    """A second closing changes nothing."""
    book = open_book(ann=1500, bob=1500)
    close(book, "ann")
    assert book.close_entries(EntriesClosed(CUP, "shax", NOON, ("new",)), {}) == Repeated()
    assert isinstance(book.rate(cup()), Rated)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (player(1500, games=19), "tournament-provisional"),
        (player(1500, last_played_at=NOON - 89 * DAY), "tournament-inactive"),
        (player(1500, last_played_at=NOON - 89 * DAY, inactive=True), "tournament-inactive"),
        (player(1500, last_played_at=NOON, requalify=5), "tournament-inactive"),
        (player(1500, last_played_at=NOON), None),
    ],
)
def test_a_match_of_one_who_may_not_enter(state: PlayerState, reason: str | None) -> None:
    """A tournament match is unrated with the reason, though nobody closed any entries; other matches are rated."""
    for of in (("ann", "bob"), ("bob", "ann")):
        book = open_book(bob=1500)
        book.put_state("shax", "ann", state)
        states = dict(book.states)
        outcome = book.rate(cup(of=of, tournament_id=None))
        assert (outcome == Unrated(reason, "ann")) if reason else isinstance(outcome, Rated)
        assert (book.states == states) == (reason is not None)
        assert isinstance(book.rate(match(pool="shax", of=of, after=DAY)), Rated)


def test_refused_is_refused() -> None:
    """Who was refused when entries closed may not play, though nothing else speaks against it any more."""
    book = open_book(ann=1500, bob=1500)
    book.put_state("shax", "ann", player(1500, games=19))
    close(book, "ann", "bob")
    book.put_state("shax", "ann", player(1500, games=20))
    assert book.rate(cup()) == Unrated("tournament-refused", "ann")
    assert isinstance(book.rate(cup(tournament_id="another")), Rated)
    assert isinstance(book.rate(cup(tournament_id=None)), Rated)


def test_the_order_of_the_reasons() -> None:
    """A ban is said before a refusal, a refusal before provisional, that before inactive, whichever player it is."""
    book = open_book(ann=1500, bob=1500)
    book.put_state("shax", "ann", player(1500, last_played_at=NOON - 200 * DAY))
    assert book.rate(cup()) == Unrated("tournament-inactive", "ann")
    book.put_state("shax", "bob", player(1500, games=3))
    assert book.rate(cup()) == Unrated("tournament-provisional", "bob")
    close(book, "ann")
    assert book.rate(cup()) == Unrated("tournament-refused", "ann")
    book.sanction(sanction("bob", SanctionKind.TOURNAMENT_BAN))
    assert book.rate(cup()) == Unrated("tournament-banned", "bob")


def test_a_late_tournament_match() -> None:
    """Of a match before the latest that is known nobody can tell that its player was absent."""
    book = open_book(ann=1500, bob=1500)
    book.put_state("shax", "ann", player(1500, last_played_at=NOON - DAY, inactive=True))
    assert isinstance(book.rate(cup(after=-2 * DAY)), Rated)


def test_k_by_match_type() -> None:
    """A tournament match weighs 1.25; the final standing overrides no rating."""
    book = open_book(ann=1500, bob=1500)
    book.open_tournament(TournamentOpened(CUP, "shax", NOON - DAY, "club"))
    close(book, "ann", "bob")
    outcome = book.rate(cup())
    assert isinstance(outcome, Rated)
    assert [change.delta for change in outcome.changes] == [20, -20]
    states = dict(book.states)
    book.finish_tournament(TournamentFinished(CUP, "shax", NOON + 2 * DAY, ("bob", "ann")))
    assert book.states == states


def test_a_pool_that_contradicts_the_tournament() -> None:
    """An event that names another pool than those before is refused."""
    book = open_book()
    book.open_tournament(TournamentOpened(CUP, "shax", NOON, "club"))
    for refused in (
        lambda: book.open_tournament(TournamentOpened(CUP, "yi", NOON, "club")),
        lambda: book.close_entries(EntriesClosed(CUP, "yi", NOON, ()), {}),
        lambda: book.finish_tournament(TournamentFinished(CUP, "yi", NOON, ())),
    ):
        with pytest.raises(TournamentMismatchError, match="'cup' is played in 'shax'; its event names 'yi'"):
            refused()


def test_a_tournament_may_be_entered() -> None:
    """A book that is told of closed entries goes on as one that closed them."""
    book = open_book(ann=1500, bob=1500)
    book.put_tournament(CUP, Tournament("shax", closed=True, refused={"ann": "provisional"}))
    assert book.rate(cup()) == Unrated("tournament-refused", "ann")
    assert book.close_entries(EntriesClosed(CUP, "shax", NOON, ()), {}) == Repeated()


def test_a_refusal_is_of_its_pool() -> None:
    """A match that names a tournament of another pool is none of its matches."""
    book = open_book(ann=1500, bob=1500)
    book.put_tournament(CUP, Tournament("yi", closed=True, refused={"ann": "provisional"}))
    assert isinstance(book.rate(cup()), Rated)


def test_protection_goes_together() -> None:
    """A policy names both numbers of the protection or none."""
    with pytest.raises(ValueError, match="protection_days and protection_points go together"):
        Entry(protection_days=90)
