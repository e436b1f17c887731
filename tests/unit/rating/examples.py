"""What the tests of the core are made of: matches, players and policies, with all that does not matter filled in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from worker.policies import load_policies
from worker.rating import (
    Book,
    Lift,
    Match,
    PlayerState,
    Policy,
    PolicySet,
    Rated,
    Sanction,
    SanctionKind,
    Side,
    Unrated,
    Void,
)
from worker.rating.rate import rate

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

SHIPPED = load_policies()
YIBOARD = SHIPPED.at("yi", NOON)
BICIID = SHIPPED.at("shax", NOON)
FIDE = SHIPPED.at("chess/standard", NOON)
POLICIES = {"yiboard": YIBOARD, "biciid": BICIID, "fide": FIDE}
POOLS = {"yiboard": "yi", "biciid": "shax", "fide": "chess/standard"}

thorough = settings(max_examples=200, deadline=None)

scores = st.sampled_from([1.0, 0.5, 0.0])
ratings = st.floats(min_value=0, max_value=4000)


def policy(**parts: Any) -> Policy:
    """Make the plainest policy there is, K 32 for all, with the parts at hand put in."""
    plain = {
        "name": "plain",
        "version": 1,
        "start": 1500,
        "provisional_games": 0,
        "expected": {"method": "logistic", "scale": 400},
        "k_factor": [{"name": "all", "k": 32}],
        "ladder": [{"title": "everyone"}],
    }
    return Policy.model_validate(plain | parts)


def policy_set(*policies: Policy) -> PolicySet:
    """Put versions of one policy to work in every pool."""
    return PolicySet(policies, {"*": policies[0].name})


def player(rating: float = 1500.0, **rest: Any) -> PlayerState:
    """Stand somewhere, by default with enough games for every provisional period to be over."""
    return PlayerState(**{"rating": rating, "version": 100, "games": 100, "peak": rating} | rest)


def match(
    score: float = 1.0,
    *,
    of: tuple[str, str] = ("ann", "bob"),
    pool: str = "yi",
    after: timedelta = timedelta(),
    birth_years: tuple[int | None, int | None] = (None, None),
    **rest: Any,
) -> Match:
    """Play a match that ends for the first side with `score`, `after` so long from NOON."""
    sides = (Side(of[0], score, birth_years[0]), Side(of[1], 1.0 - score, birth_years[1]))
    at = NOON + after
    parts: dict[str, Any] = {"match_id": f"{of} at {at}", "pool": pool, "finished_at": at, "sides": sides}
    return Match(**parts | rest)


def rated(
    game: Match, first: PlayerState, second: PlayerState, policy: Policy = YIBOARD, earlier_pair_games: int = 0
) -> Rated:
    """Rate a match that counts."""
    outcome = rate(game, first, second, earlier_pair_games, policy)
    assert isinstance(outcome, Rated)
    return outcome


def unrated(game: Match, policy: Policy) -> Unrated:
    """Rate a match that does not count."""
    outcome = rate(game, player(), player(), 0, policy)
    assert isinstance(outcome, Unrated)
    return outcome


def void(game: Match, *, after: timedelta = timedelta(hours=1), why: str = "farming") -> Void:
    """Void a match, `after` so long from NOON."""
    one, other = game.sides
    return Void(game.match_id, game.pool, (one.id, other.id), NOON + after, why, "trust")


def sanction(
    name_of: str,
    kind: SanctionKind = SanctionKind.SUSPENSION,
    *,
    name: str = "s",
    starts: timedelta = timedelta(),
    ends: timedelta | None = None,
    pool: str | None = None,
) -> Sanction:
    """Sanction a player, from `starts` to `ends` after NOON."""
    ends_at = None if ends is None else NOON + ends
    return Sanction(name, name_of, kind, NOON + starts, ends_at, pool, "farming", "trust")


def lift(verdict: Sanction, *, after: timedelta = timedelta()) -> Lift:
    """Lift a sanction, `after` so long from NOON."""
    return Lift(verdict.sanction_id, verdict.player_id, NOON + after, "appeal", "board")


def standing(book: Book, name: str = "ann", pool: str = "shax") -> PlayerState:
    """Give where someone stands whom the book knows."""
    found = book.state(pool, name)
    assert found is not None
    return found
