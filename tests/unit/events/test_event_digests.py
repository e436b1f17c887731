from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.events.documents import (
    DOCUMENTS,
    MEANINGS,
    closings,
    endings,
    events,
    lifts,
    openings,
    sanctions,
    take,
    typed,
    voids,
)
from tests.unit.events.samples import ids, raw, zones
from worker.events import (
    ENTRIES_CLOSED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    TOURNAMENT_FINISHED,
    TOURNAMENT_OPENED,
    encode_event,
    event_digest,
    incoming_id,
    match_digest,
)
from worker.rating.model import EntriesClosed, Event, Match, Void

OTHERS = st.one_of(voids, sanctions, lifts, openings, closings, endings)


def reading(event: Event) -> Any:
    """Return what an event means: its fields, with those lists sorted whose order means nothing."""
    fields: dict[str, Any] = event._asdict()
    for name in ("players", "entrants", "sides"):
        if name in fields:
            fields[name] = sorted(fields[name])
    return type(event), fields


@st.composite
def retold(draw: st.DrawFn, event: Event) -> bytes:
    """Return an event as another serialiser might have written it."""
    document = json.loads(encode_event(event))
    zone: timezone = draw(zones)
    for name, value in document.items():
        if name.endswith("_at") and value is not None:
            document[name] = datetime.fromisoformat(value).astimezone(zone).isoformat()
        if name in {"players", "entrants"}:
            document[name] = draw(st.permutations(value))
    for field in ("ends_at", "pool"):
        if document.get(field, "") is None and draw(st.booleans()):
            del document[field]
    document |= draw(st.dictionaries(st.text(max_size=5).map("x-".__add__), st.integers()))
    shuffled = {key: document[key] for key in draw(st.permutations(list(document)))}
    indent = draw(st.sampled_from([None, 0, 3]))
    return json.dumps(shuffled, ensure_ascii=draw(st.booleans()), indent=indent).encode()


@given(st.data(), OTHERS)
def test_an_event_told_in_other_words_has_the_same_digest(data: st.DataObject, event: Event) -> None:
    """White space, orders that mean nothing, unknown fields, defaults and offsets change no meaning."""
    decoded = take(data.draw(retold(event)))
    assert decoded.digest == event_digest(event)
    assert decoded.id == incoming_id(event)


@given(st.data(), OTHERS)
def test_an_event_with_another_meaning_has_another_digest(data: st.DataObject, event: Event) -> None:
    """A change to any field that counts shows, one alone or several together."""
    kinds = {type(MEANINGS[ce_type]): s for ce_type, s in STRATEGIES.items()}
    other = data.draw(kinds[type(event)])
    taken = data.draw(st.sets(st.sampled_from(event._fields), min_size=1))
    changed: Event = event._replace(**{name: getattr(other, name) for name in taken})
    assert (event_digest(changed) == event_digest(event)) == (reading(changed) == reading(event))


STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    MATCH_VOIDED: voids,
    PLAYER_SANCTIONED: sanctions,
    SANCTION_LIFTED: lifts,
    TOURNAMENT_OPENED: openings,
    ENTRIES_CLOSED: closings,
    TOURNAMENT_FINISHED: endings,
}


@given(events, events)
def test_an_id_names_one_event(one: Event, two: Event) -> None:
    """By what it is and what it is about; a match is named by its id alone."""
    if type(one) is type(two):
        assert (incoming_id(one) == incoming_id(two)) == (one[0] == two[0])
    elif not isinstance(one, Match) and not isinstance(two, Match):
        assert incoming_id(one) != incoming_id(two)


def test_ids_are_those_that_are_stored() -> None:
    """Each is a prefix and the id of what it is about."""
    assert [incoming_id(meaning) for meaning in MEANINGS.values()] == [
        "void:m-1",
        "sanction:s-1",
        "lift:s-1",
        "tournament-opened:t-1",
        "entries-closed:t-1",
        "tournament-finished:t-1",
    ]


@pytest.mark.parametrize(
    ("ce_type", "digest"),
    [
        (MATCH_VOIDED, "e72b2111c45ebbd55ba49e18efb1d239"),
        (PLAYER_SANCTIONED, "e3dad211e7b8f158849960ddf76d3142"),
        (SANCTION_LIFTED, "eb7487c7f41b8e22080c04cdf8c44ca2"),
        (TOURNAMENT_OPENED, "49bdc27156b0fe14da07de056d1ad1f4"),
        (ENTRIES_CLOSED, "abc991e081bc5fcbec31150d9cb3ecec"),
        (TOURNAMENT_FINISHED, "7fb34f89fd04d70e723a1832348fc9ca"),
    ],
)
def test_the_digest_never_changes(ce_type: str, digest: str) -> None:
    """Digests are stored: a worker that computes them otherwise would take every repeat for a conflict."""
    assert take(raw(DOCUMENTS[ce_type]), typed(ce_type)).digest.hex() == digest


@given(voids, closings, ids)
def test_orders_that_mean_nothing_change_nothing(void: Void, closed: EntriesClosed, name: str) -> None:
    """Who is named first makes no difference, but each name does."""
    one, two = void.players
    assert event_digest(void._replace(players=(two, one))) == event_digest(void)
    assert event_digest(closed._replace(entrants=closed.entrants[::-1])) == event_digest(closed)
    assert event_digest(closed._replace(entrants=(*closed.entrants, name))) != event_digest(closed)


def test_the_order_of_standings_is_what_they_say() -> None:
    """The winner comes first."""
    document = DOCUMENTS[TOURNAMENT_FINISHED]
    told = [
        take(raw(document | {"standings": names}), typed(TOURNAMENT_FINISHED)) for names in (["a", "b"], ["b", "a"])
    ]
    assert told[0].digest != told[1].digest


@given(events)
def test_a_match_has_the_digest_that_it_always_had(event: Event) -> None:
    """What is stored of matches stays comparable."""
    if isinstance(event, Match):
        assert event_digest(event) == match_digest(event)
    assert len(event_digest(event)) == 16
