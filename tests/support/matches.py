"""Match streams for the tests, seeded."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from worker.rating.model import Match, Side

# Days ago: housekeeping, which goes by the clock, calls nobody inactive while a test runs.
START = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=3)
POOLS = ("yi", "shax", "chess/blitz")


def in_id_order(one: Side, other: Side) -> tuple[Side, Side]:
    """Give the sides by player id, as decoding gives them."""
    return (one, other) if one.id < other.id else (other, one)


def stream(count: int, *, players: int, seed: int, prefix: str = "m", pools: tuple[str, ...] = POOLS) -> list[Match]:
    """Make matches of players who meet each other again and again, a few seconds apart."""
    chance = random.Random(seed)
    matches = []
    for number in range(count):
        # squared: a few players play much, so that pairs repeat and workers meet at the same players
        one = int(players * chance.random() ** 2)
        other = (one + 1 + int((players - 1) * chance.random() ** 2)) % players
        score = chance.choices((1.0, 0.5, 0.0), (5, 2, 4))[0]
        matches.append(
            Match(
                match_id=f"{prefix}-{number}",
                pool=chance.choice(pools),
                finished_at=START + timedelta(seconds=7 * number),
                sides=in_id_order(Side(f"p{one}", score), Side(f"p{other}", 1.0 - score)),
                match_type=chance.choices(("ranked", "tournament", "casual"), (90, 7, 3))[0],
                verified=chance.random() > 0.02,
            )
        )
    return matches
