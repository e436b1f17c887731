"""Made-up matches: the same from the same seed, shaped like real ones, bad where they are meant to be."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from worker.events import BadEventError, Reject, decode_match, match_digest, pair_key
from worker.generator import GAMES, RUN_HEADER, Kind, World, repeated, spoilt
from worker.policies import load_policies
from worker.rating import UnknownPoolError

END = datetime(2026, 3, 1, tzinfo=UTC)
START = END - timedelta(days=5)
RECORDS = list(World(200, seed=1, run="r").records(2_000, START, END))
MATCHES = [record.match for record in RECORDS if record.match]


def test_a_seed_gives_the_same_matches() -> None:
    """The same seed gives the same players, pairs and results, whatever the run is called; another gives others."""

    def played(seed: int, run: str) -> list[object]:
        matches = (record.match for record in World(50, seed, run).records(100, START, END))
        return [(match.pool, match.sides, match.finished_at) for match in matches if match]

    assert played(5, "x") == played(5, "y")
    assert played(5, "x") != played(6, "x")


def test_runs_share_no_match() -> None:
    """Match ids start with the run and are unique in it; every record carries the run in a header."""
    ids = [match.match_id for match in MATCHES]
    assert len(set(ids)) == len(RECORDS) == 2_000
    assert all(match_id.startswith("r-") for match_id in ids)
    assert {dict(record.headers)[RUN_HEADER] for record in RECORDS} == {b"r"}


def test_a_worker_takes_them() -> None:
    """Every record decodes to its match, is in order of time, keyed by its pair, in a pool with a policy."""
    policies = load_policies()
    for record, match in zip(RECORDS, MATCHES, strict=True):
        decoded = decode_match(record.value, record.headers, now=END, max_bytes=10_000)
        assert match_digest(decoded.match) == match_digest(match)
        assert record.key == pair_key(match.pool, *(side.id for side in match.sides))
        assert record.kind is Kind.MATCH
        policies.at(match.pool, match.finished_at)
    assert all(one.finished_at <= other.finished_at for one, other in pairwise(MATCHES))
    assert MATCHES[0].finished_at >= START
    assert MATCHES[-1].finished_at <= END


def test_the_shape_is_that_of_real_traffic() -> None:
    """All pools are played, a few players play most, pairs play on, the stronger win more, some matches don't count."""
    assert {match.pool for match in MATCHES} == {game.pool for game in GAMES}
    played = Counter(side.id for match in MATCHES for side in match.sides)
    assert len(played) > 150
    assert sum(count for _, count in played.most_common(40)) > 2 * sum(
        count for _, count in played.most_common()[-100:]
    )
    pairs = Counter((match.pool, *sorted(side.id for side in match.sides)) for match in MATCHES)
    assert max(pairs.values()) > 4
    assert {side.score for match in MATCHES for side in match.sides} == {0.0, 0.5, 1.0}
    assert {match.match_type for match in MATCHES} == {"ranked", "casual", "tournament"}
    assert {match.verified for match in MATCHES} == {True, False}
    assert any(side.birth_year for match in MATCHES for side in match.sides)


def test_two_players_are_enough() -> None:
    """With two players they always meet each other."""
    matches = [record.match for record in World(2, seed=1, run="r").records(30, START, END)]
    assert {tuple(sorted(side.id for side in match.sides)) for match in matches if match} == {("amina-01", "bao-01")}


def test_a_repeat_is_the_same_match() -> None:
    """A repeat has the bytes and the key of the first."""
    again = repeated(RECORDS[0])
    assert (again.key, again.value, again.kind) == (RECORDS[0].key, RECORDS[0].value, Kind.REPEAT)


def test_what_is_spoilt_is_refused() -> None:
    """Each spoilt record is refused, or contradicts a match that was there before; each in a way of its own."""
    policies = load_policies()
    ids = {match.match_id for match in MATCHES}
    reasons = Counter[str]()
    bad = spoilt(RECORDS[:14], "r")
    for record in bad:
        assert record.kind is Kind.BAD
        assert dict(record.headers)[RUN_HEADER] == b"r"
        try:
            match = decode_match(record.value, record.headers, now=END, max_bytes=10_000).match
            policies.at(match.pool, match.finished_at)
        except BadEventError as error:
            reasons[error.reason] += 1
        except UnknownPoolError:
            reasons[Reject.UNKNOWN_POOL] += 1
        else:
            assert match.match_id in ids
            first = next(one for one in MATCHES if one.match_id == match.match_id)
            assert match_digest(first) != match_digest(match)
            reasons[Reject.CONFLICT] += 1
    assert len(reasons) == 7
    assert set(reasons.values()) == {2}


@pytest.mark.parametrize("first", [0, 3])
def test_the_ways_are_taken_in_turn(first: int) -> None:
    """Made a few at a time, spoilt records take the same ways as all at once."""
    assert spoilt(RECORDS[first : first + 2], "r", first=first) == spoilt(RECORDS[:9], "r")[first : first + 2]
