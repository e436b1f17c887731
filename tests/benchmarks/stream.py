"""The seeded stream that every contender gets: players by a power law, pairs that sit down again."""

from __future__ import annotations

import random
import uuid
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from worker.events import encode_match, pair_key
from worker.policies import load_policies
from worker.rating.model import Match, Rated, Side
from worker.rating.rate import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

POOLS = ("yi", "shax", "chess/blitz")
"""Player n plays in pool n mod 3 and nowhere else, so that there are as many ratings as players."""

SEED = 20261101
# Days ago, so that housekeeping, which goes by the clock, finds nobody inactive, and that no match is of the future.
_LATEST_END = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
_STEP = timedelta(milliseconds=400)
MOST = timedelta(days=30) // _STEP
_TAIL = 0.2  # the k-th most active player plays in proportion to (k + 3) ** (_TAIL - 1)
_PLAY_ON = 0.35  # share of matches between a pair that has just played
# A prime (Knuth's): spreads the active players over all player numbers, and so over the pages of a table.
_SCATTER = 2_654_435_761


class Record(NamedTuple):
    """A record of the match topic.

    Attributes:
        match_id: Of the match in it.
        key: Its pair.
        value: The event.
        changes: How many rating changes come of it at least: a floor that restarts may give one more, and which match
            falls below it depends on the order in which partitions are read.
    """

    match_id: str
    key: bytes
    value: bytes
    changes: int


def player_id(number: int) -> str:
    """Give the id of player `number`; the same text as in preload.sql."""
    return f"player-{number:09d}"


def records(count: int, *, players: int, active: int | None = None, seed: int = SEED) -> list[Record]:
    """Make the records of so many matches, in the order in which they finished.

    The matches' ids are random UUIDs, which cost an index more than ids that grow.

    Args:
        count: How many matches.
        players: How many numbers the players are scattered over.
        active: How many of those are drawn (all, where none is given); who meets them may be the nearest of their pool.
        seed: Of the chances.

    Raises:
        ValueError: So many would begin when their players are inactive by now.
    """
    if count > MOST:
        raise ValueError(f"at most {MOST:,} matches, one every {_STEP}, are recent enough")
    policies = load_policies(None, ())
    made = []
    for match in _matches(count, players, active or players, seed):
        policy = policies.at(match.pool, match.finished_at)
        outcome = rate(match, policy.start_state(), policy.start_state(), 0, policy)
        changes = len(match.sides) if isinstance(outcome, Rated) else 0
        key = pair_key(match.pool, match.sides[0].id, match.sides[1].id)
        made.append(Record(match.match_id, key, encode_match(match), changes))
    return made


def changes_of(some: Sequence[Record]) -> int:
    """Count the rating changes that come of these records at least."""
    return sum(record.changes for record in some)


def _matches(count: int, players: int, active: int, seed: int) -> list[Match]:
    chance = random.Random(seed)
    recent: deque[tuple[int, int]] = deque(maxlen=64)
    matches = []
    start = _LATEST_END - count * _STEP
    for number in range(count):
        if recent and chance.random() < _PLAY_ON:
            one, other = chance.choice(recent)
        else:
            one, other = _pair(chance, players, active)
            recent.append((one, other))
        pool = POOLS[one % len(POOLS)]
        score = chance.choices((1.0, 0.5, 0.0), (46, 8, 46))[0]
        tournament = chance.random() < 0.06
        casual = not tournament and chance.random() < 0.01
        tournament = tournament and pool != "shax"  # whose provisional players may not play in one
        matches.append(
            Match(
                match_id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
                pool=pool,
                finished_at=start + number * _STEP,
                sides=(_side(pool, one, score), _side(pool, other, 1.0 - score)),
                match_type="tournament" if tournament else "casual" if casual else "ranked",
                tournament_id=f"{pool}-open" if tournament else None,
                verified=chance.random() > 0.01,
            )
        )
    return matches


def _pair(chance: random.Random, players: int, active: int) -> tuple[int, int]:
    """Draw two players of one pool."""
    one = other = _player(chance, players, active)
    while other == one:
        other = _player(chance, players, active)
        other += one % len(POOLS) - other % len(POOLS)  # the nearest number in the same pool
        if not 0 <= other < players:
            other = one
    return one, other


def _player(chance: random.Random, players: int, active: int) -> int:
    """Draw one player by the power law, from its inverse distribution: no table of 10^7 weights."""
    low, high = 3**_TAIL, (active + 3) ** _TAIL
    rank = int((low + chance.random() * (high - low)) ** (1 / _TAIL) - 3)
    return min(max(rank, 0), active - 1) * _SCATTER % players


def _side(pool: str, number: int, score: float) -> Side:
    birth_year = 1950 + number % 63 if pool.startswith("chess/") else None
    return Side(player_id(number), score, birth_year)
