"""One good record to vary, and strategies for all that may come in and go out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from worker.events import DecodedMatch, Headers, decode_match
from worker.rating.model import Change, Factor, Match, PolicyRef, Reason, Side

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MAX_BYTES = 65_536
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def event(**fields: Any) -> dict[str, Any]:
    """Return a good event with some fields other than usual."""
    good = {
        "match_id": "m-1",
        "pool": "chess/blitz",
        "finished_at": "2026-11-30T08:51:12.345678Z",
        "players": [{"id": "ann", "score": 1}, {"id": "bob", "score": 0}],
        "match_type": "ranked",
        "tournament_id": None,
        "verified": True,
    }
    return good | fields


def players(one: Any, two: Any) -> dict[str, Any]:
    """Return the `players` field alone, to put into an event."""
    return {"players": [one, two]}


def raw(document: Any) -> bytes:
    """Return a document as JSON bytes with all beyond ASCII unescaped."""
    return json.dumps(document, ensure_ascii=False).encode()


def decode(value: bytes | None, headers: Headers = ()) -> DecodedMatch:
    """Decode with the usual clock and limit."""
    return decode_match(value, headers, now=NOW, max_bytes=MAX_BYTES)


def by_player(match: Match) -> Match:
    """Return a match as the worker has it, whoever is named first in its event."""
    one, two = match.sides
    return match if one.id < two.id else match._replace(sides=(two, one))


_CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
ids = st.text(_CHARACTERS, min_size=1, max_size=128)
pools = ids.map(lambda text: text.replace("|", "/"))
# Local days at either end of the calendar may have no UTC; zones are those that RFC 3339 can write.
times = st.datetimes(datetime(1970, 1, 3), datetime(2026, 11, 30), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
birth_years = st.none() | st.integers(1900, 2100)


@st.composite
def matches(draw: st.DrawFn) -> Match:
    """Return any match that a good event can bring."""
    one, two = draw(st.lists(ids, min_size=2, max_size=2, unique=True))
    score = draw(st.sampled_from([0.0, 0.5, 1.0]))
    return Match(
        match_id=draw(ids),
        pool=draw(pools),
        finished_at=draw(times),
        sides=(Side(one, score, draw(birth_years)), Side(two, 1.0 - score, draw(birth_years))),
        match_type=draw(st.sampled_from(["ranked", "casual", "tournament"])),
        tournament_id=draw(st.none() | ids),
        verified=draw(st.booleans()),
    )


_ratings = st.floats(-1e6, 1e6)
_factors = st.builds(
    Factor,
    name=st.sampled_from(["repeat-pair", "match-type"]),
    value=st.floats(0, 10),
    why=st.text(_CHARACTERS, min_size=1),
)
policies = st.builds(
    PolicyRef, name=st.sampled_from(["yiboard", "fide"]), version=st.integers(1, 99), digest=st.just("d" * 32)
)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Return any change that the core may make, game or not, of a match or not."""
    reason = draw(st.sampled_from(Reason))
    game = reason is Reason.MATCH
    of_match = reason in {Reason.MATCH, Reason.FLOOR, Reason.VOID}
    return Change(
        pool=draw(pools),
        player_id=draw(ids),
        opponent_id=draw(ids) if of_match else None,
        match_id=draw(ids) if of_match else None,
        reason=reason,
        version=draw(st.integers(1, 2**31)),
        before=draw(_ratings),
        after=draw(_ratings),
        delta=draw(_ratings),
        expected=draw(st.floats(0, 1)) if game else None,
        score=draw(st.sampled_from([0.0, 0.5, 1.0])) if game else None,
        k=draw(st.floats(0, 100)) if game else None,
        k_rule=draw(st.sampled_from(["new", "established"])) if game else None,
        weight=draw(st.floats(0, 2)),
        factors=tuple(draw(st.lists(_factors, max_size=2))),
        games=draw(st.integers(0, 2**31)),
        provisional=draw(st.booleans()),
        adjusted=tuple(
            draw(st.lists(st.sampled_from(["activity-boost", "gap-cap", "rounding", "floor"]), unique=True))
        ),
        title_before=draw(st.sampled_from(["First Dan", "Expert"])),
        title_after=draw(st.sampled_from(["First Dan", "Expert"])),
        policy=draw(policies),
        occurred_at=draw(times),
        cause=draw(ids) if reason in {Reason.RESET, Reason.LIFT} else None,
        opponent_before=draw(_ratings) if game else None,
    )
