from __future__ import annotations

import math
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.events.samples import TRACE, by_player, changes, decode, ids, matches, pools, zones
from worker.events import (
    RATING_CHANGED,
    encode_change,
    encode_match,
    event_id,
    pair_key,
    validator,
)
from worker.rating.model import Change, Factor, Match, PolicyRef, Reason
from worker.rating.rounding import display

CHANGE = Change(
    pool="chess/blitz",
    player_id="ann|x",
    opponent_id="bob",
    match_id="m-1",
    reason=Reason.MATCH,
    version=17,
    before=1500.5,
    after=1524.75,
    delta=24.25,
    expected=0.2421875,
    score=1.0,
    k=64.0,
    k_rule="new",
    weight=0.5,
    factors=(Factor("repeat-pair", 0.5, "game 4 of this pair in 24 h"),),
    games=17,
    provisional=False,
    adjusted=("gap-cap",),
    title_before="First Dan",
    title_after="First Dan",
    policy=PolicyRef("yiboard", 1, "d1"),
    occurred_at=datetime(2026, 11, 30, 8, 51, 12, 345678, tzinfo=UTC),
    opponent_before=1698.75,
)


def like(change: Change, **fields: object) -> Change:
    """Return a change that differs in some fields."""
    names = Change.__annotations__
    return Change(**{name: fields.get(name, getattr(change, name)) for name in names})  # type: ignore[arg-type]


@given(changes())
def test_every_change_fits_the_closed_schema(change: Change) -> None:
    """What is published is what the contract says, and nothing beside it."""
    value = orjson.loads(encode_change(change).value)
    validator("rating-changed").validate(value)


@given(changes())
def test_the_numbers_arrive_exactly(change: Change) -> None:
    """Doubles survive the trip through JSON bit by bit, and display fields are theirs rounded."""
    value = orjson.loads(encode_change(change).value)
    for name in ("before", "after", "delta"):
        assert value[name] == getattr(change, name)
        assert value[f"display_{name}"] == display(getattr(change, name))
    for name in ("expected", "score", "k", "weight", "k_rule", "games", "version", "title_before", "title_after"):
        assert value[name] == getattr(change, name)
    for name in ("match_id", "opponent_id", "opponent_before", "cause", "reason"):
        assert value[name] == getattr(change, name)
    assert value["factors"] == [{"name": f.name, "value": f.value, "why": f.why} for f in change.factors]
    assert value["adjusted"] == list(change.adjusted)
    assert datetime.fromisoformat(value["occurred_at"]) == change.occurred_at


@given(changes(), zones)
def test_equal_changes_have_equal_bytes(change: Change, zone: object) -> None:
    """A change read back from the ledger is the event that was published before, to the byte."""
    again = like(
        change,
        reason=change.reason.value,
        adjusted=list(change.adjusted),
        factors=list(change.factors),
        occurred_at=change.occurred_at.astimezone(zone),  # type: ignore[arg-type]
    )
    assert encode_change(again) == encode_change(change)


def test_ints_and_negative_zeros_make_no_difference() -> None:
    """K = 64 from a policy file and 64.0 from the database are one number, and so are 0.0 and -0.0."""
    ints = {"k": 64, "weight": 1, "score": 0, "before": 1500, "delta": 0.0, "opponent_before": 0}
    floats = {"k": 64.0, "weight": 1.0, "score": -0.0, "before": 1500.0, "delta": -0.0, "opponent_before": -0.0}
    one = like(CHANGE, **ints, factors=(Factor("match-type", 1, "why"),))
    two = like(CHANGE, **floats, factors=(Factor("match-type", 1.0, "why"),))
    assert encode_change(one) == encode_change(two)
    assert b'"k":64.0' in encode_change(one).value


def test_the_record_never_changes() -> None:
    """Consumers deduplicate by it and dead letters are replayed from it: another worker version writes the same."""
    encoded = encode_change(CHANGE, traceparent=TRACE)
    assert encoded.key == b"chess/blitz|ann|x"
    assert encoded.value == (
        b'{"event_id":"c4739f67a8d49d675839ca52f757cd2e","match_id":"m-1","pool":"chess/blitz",'
        b'"player_id":"ann|x","opponent_id":"bob","version":17,"before":1500.5,"after":1524.75,"delta":24.25,'
        b'"display_before":1501,"display_after":1525,"display_delta":24,"expected":0.2421875,"score":1.0,"k":64.0,'
        b'"k_rule":"new","weight":0.5,'
        b'"factors":[{"name":"repeat-pair","value":0.5,"why":"game 4 of this pair in 24 h"}],'
        b'"adjusted":["gap-cap"],"games":17,"provisional":false,"title_before":"First Dan","title_after":"First Dan",'
        b'"policy":{"name":"yiboard","version":1,"digest":"d1"},"reason":"match",'
        b'"occurred_at":"2026-11-30T08:51:12.345678Z","cause":null,"opponent_before":1698.75}'
    )
    assert dict(encoded.headers) == {
        "ce_specversion": b"1.0",
        "ce_id": b"c4739f67a8d49d675839ca52f757cd2e",
        "ce_type": RATING_CHANGED.encode(),
        "ce_source": b"/rating-worker",
        "ce_time": b"2026-11-30T08:51:12.345678Z",
        "ce_subject": b"chess/blitz|ann|x",
        "content-type": b"application/json",
        "traceparent": TRACE.encode(),
    }


def test_headers_come_once_and_agree_with_the_value() -> None:
    """No header twice, no trace context out of nothing, and a source of the operator's choice."""
    encoded = encode_change(CHANGE, source="https://elo.example/eu")
    names = [name for name, _ in encoded.headers]
    headers, value = dict(encoded.headers), orjson.loads(encoded.value)
    assert len(names) == len(set(names))
    assert "traceparent" not in headers
    assert headers["ce_source"] == b"https://elo.example/eu"
    assert headers["ce_id"].decode() == value["event_id"] == event_id("chess/blitz", "ann|x", 17)
    assert headers["ce_time"].decode() == value["occurred_at"]


@pytest.mark.parametrize("rating", [math.nan, math.inf, -math.inf])
def test_what_is_no_rating_is_not_published(rating: float) -> None:
    """JSON would make a null of it, and a null rating must never leave."""
    with pytest.raises((ValueError, OverflowError)):
        encode_change(like(CHANGE, after=rating))


@given(st.tuples(pools, ids, st.integers(1, 10**9)), st.tuples(pools, ids, st.integers(1, 10**9)))
@example(("a", "b|c", 1), ("a|b", "c", 1))
@example(("p", "q", 11), ("p", "q1", 1))
def test_another_change_has_another_id(one: tuple[str, str, int], two: tuple[str, str, int]) -> None:
    """Pool, player and version name an event, and nothing of one runs into the next."""
    assert (event_id(*one) == event_id(*two)) == (one == two)


@given(st.tuples(pools, ids), st.tuples(pools, ids))
def test_a_key_names_one_player_of_one_pool(one: tuple[str, str], two: tuple[str, str]) -> None:
    """The topic may be compacted by key, so no two chains may share one; a pool has no bar."""
    keys = [encode_change(like(CHANGE, pool=pool, player_id=player)).key for pool, player in (one, two)]
    assert (keys[0] == keys[1]) == (one == two)
    pool, _, player = keys[0].decode().partition("|")
    assert (pool, player) == one


@given(pools, ids, ids)
def test_a_pair_has_one_key(pool: str, a: str, b: str) -> None:
    """Who is named first makes no difference, and the lower id in UTF-8 bytes comes first."""
    lo, hi = sorted([a.encode(), b.encode()])
    assert pair_key(pool, a, b) == pair_key(pool, b, a) == b"|".join([pool.encode(), lo, hi])


@given(matches())
def test_a_match_comes_back_from_its_bytes(match: Match) -> None:
    """`decode_match` takes back what `encode_match` wrote, and its schema accepts it."""
    value = encode_match(match)
    validator("match-finished").validate(orjson.loads(value))
    assert decode(value).match == by_player(match)
