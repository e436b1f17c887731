"""One good document of each event beside matches, what it means, and strategies for all that may come in and go out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.unit.events.samples import MAX_BYTES, NOW, ids, matches, policies, pools, times
from worker.events import (
    ENTRIES_CLOSED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    TOURNAMENT_FINISHED,
    TOURNAMENT_OPENED,
    BadEventError,
    Decoded,
    Headers,
    decode,
)
from worker.rating.model import (
    EntriesClosed,
    Event,
    Lift,
    Notice,
    NoticeKind,
    Sanction,
    SanctionKind,
    TournamentFinished,
    TournamentOpened,
    Void,
)

TEXT = "2026-11-30T11:51:12.345678+03:00"
AT = datetime(2026, 11, 30, 8, 51, 12, 345678, tzinfo=UTC)

DOCUMENTS: dict[str, dict[str, Any]] = {
    MATCH_VOIDED: {
        "match_id": "m-1",
        "pool": "chess/blitz",
        "players": ["bob", "ann"],
        "voided_at": TEXT,
        "why": "one person",
        "by": "mod",
    },
    PLAYER_SANCTIONED: {
        "sanction_id": "s-1",
        "player_id": "ann",
        "kind": "suspension",
        "starts_at": TEXT,
        "ends_at": "2027-01-01T00:00:00Z",
        "pool": "shax",
        "why": "boosting\n\tagain",
        "by": "mod",
    },
    SANCTION_LIFTED: {"sanction_id": "s-1", "player_id": "ann", "lifted_at": TEXT, "why": "appeal", "by": "mod"},
    TOURNAMENT_OPENED: {"tournament_id": "t-1", "pool": "shax", "opened_at": TEXT, "by": "org"},
    ENTRIES_CLOSED: {"tournament_id": "t-1", "pool": "shax", "closed_at": TEXT, "entrants": ["bob", "ann", "حسن"]},
    TOURNAMENT_FINISHED: {"tournament_id": "t-1", "pool": "shax", "finished_at": TEXT, "standings": ["bob", "ann"]},
}
MEANINGS: dict[str, Event] = {
    MATCH_VOIDED: Void("m-1", "chess/blitz", ("bob", "ann"), AT, "one person", "mod"),
    PLAYER_SANCTIONED: Sanction(
        "s-1",
        "ann",
        SanctionKind.SUSPENSION,
        AT,
        datetime(2027, 1, 1, tzinfo=UTC),
        "shax",
        "boosting\n\tagain",
        "mod",
    ),
    SANCTION_LIFTED: Lift("s-1", "ann", AT, "appeal", "mod"),
    TOURNAMENT_OPENED: TournamentOpened("t-1", "shax", AT, "org"),
    ENTRIES_CLOSED: EntriesClosed("t-1", "shax", AT, ("bob", "ann", "حسن")),
    TOURNAMENT_FINISHED: TournamentFinished("t-1", "shax", AT, ("bob", "ann")),
}


def take(
    value: bytes | None, headers: Headers = (), *, default_type: str | None = None, max_bytes: int = MAX_BYTES
) -> Decoded:
    """Decode with the usual clock and limit."""
    return decode(value, headers, now=NOW, max_bytes=max_bytes, default_type=default_type)


def refusal(value: bytes | None, headers: Headers = (), default_type: str | None = None) -> BadEventError:
    """Return why a record is refused."""
    with pytest.raises(BadEventError) as caught:
        take(value, headers, default_type=default_type, max_bytes=1_000_000)
    return caught.value


def typed(ce_type: str) -> Headers:
    """Return the headers of a record that says what it is."""
    return [("ce_type", ce_type.encode())]


reasons = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\t\n\r"),
    min_size=1,
    max_size=1000,
).filter(str.strip)
_lists = st.lists(ids, min_size=1, max_size=5, unique=True).map(tuple)
_starts = st.datetimes(datetime(1970, 1, 3), datetime(2026, 12, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
_ends = st.datetimes(datetime(2026, 12, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - likewise

voids = st.builds(
    Void,
    match_id=ids,
    pool=pools,
    players=st.lists(ids, min_size=2, max_size=2, unique=True).map(tuple),
    voided_at=times,
    why=reasons,
    by=ids,
)
sanctions = st.builds(
    lambda kind, ends_at, **fields: Sanction(
        kind=kind, ends_at=None if kind is SanctionKind.RESET else ends_at, **fields
    ),
    kind=st.sampled_from(SanctionKind),
    ends_at=st.none() | _ends,
    sanction_id=ids,
    player_id=ids,
    starts_at=_starts,
    pool=st.none() | pools,
    why=reasons,
    by=ids,
)
lifts = st.builds(Lift, sanction_id=ids, player_id=ids, lifted_at=times, why=reasons, by=ids)
openings = st.builds(TournamentOpened, tournament_id=ids, pool=pools, opened_at=times, by=ids)
closings = st.builds(EntriesClosed, tournament_id=ids, pool=pools, closed_at=times, entrants=_lists)
endings = st.builds(
    TournamentFinished, tournament_id=ids, pool=pools, finished_at=times, standings=_lists | st.just(())
)
events: st.SearchStrategy[Event] = st.one_of(matches(), voids, sanctions, lifts, openings, closings, endings)

_ratings = st.floats(-1e6, 1e6)
_some = st.integers(1, 10**6)
_policy = policies.map(lambda ref: {"name": ref.name, "version": ref.version, "digest": ref.digest})
_seeds = st.fixed_dictionaries(
    {"place": _some, "player_id": ids, "seeding_rating": _ratings, "rating": _ratings, "best": st.none() | _ratings}
)
_refusals = st.fixed_dictionaries(
    {"player_id": ids, "reason": st.sampled_from(["provisional", "inactive", "suspended", "banned"])}
)
_points = st.floats(0.1, 1e6)
_evidence: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "farming": {"games": _some, "gain": _points, "from_opponent": _points, "share": _points},
    "win-trading": {"games": _some, "hours": _points, "wins": _some, "losses": _some},
    "boosting": {"losses": _some, "games": _some},
    "sandbagging": {"points": _points, "days": _points, "games": _some, "below": _points},
}
_flags = st.one_of(
    [
        st.fixed_dictionaries(
            {
                "signal": st.just(signal),
                "pool": pools,
                "player_id": ids,
                "opponent_id": st.none() | ids,
                "day": st.dates(date(2000, 1, 1)),
                "evidence": st.fixed_dictionaries(figures),
                "why": reasons,
                "policy": _policy,
            }
        )
        for signal, figures in _evidence.items()
    ]
)
_bodies: dict[NoticeKind, st.SearchStrategy[dict[str, Any]]] = {
    NoticeKind.PLAYER_INACTIVE: st.fixed_dictionaries(
        {"pool": pools, "player_id": ids, "last_played_at": times, "policy": _policy}
    ),
    NoticeKind.TOURNAMENT_SEEDED: st.fixed_dictionaries(
        {
            "tournament_id": ids,
            "pool": pools,
            "seeds": st.lists(_seeds, max_size=3).map(tuple),
            "refused": st.lists(_refusals, max_size=3),
            "policy": _policy,
        }
    ),
    NoticeKind.INTEGRITY_FLAGGED: _flags,
    NoticeKind.POLICY_CHANGED: st.fixed_dictionaries({"policy": _policy, "reason": reasons}),
}
notices: st.SearchStrategy[Notice] = st.one_of(
    [
        st.builds(Notice, kind=st.just(kind), key=ids, subject=ids, occurred_at=times, body=body)
        for kind, body in _bodies.items()
    ]
)
