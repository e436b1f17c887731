from __future__ import annotations

import json
from datetime import UTC, datetime, timezone
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.events.samples import decode, event, ids, matches, players, raw, zones
from worker.events import encode_match, match_digest
from worker.rating.model import Match, Side


def shuffled(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    return {key: document[key] for key in draw(st.permutations(list(document)))}


@st.composite
def retold(draw: st.DrawFn, match: Match) -> bytes:
    """Return the match as another serialiser might have written it."""
    document = json.loads(encode_match(match))
    zone: timezone = draw(zones)
    at = datetime.fromisoformat(document["finished_at"]).astimezone(zone).isoformat()
    digits = draw(st.text("0123456789", max_size=9))
    if "." in at and digits:
        at = at[:26] + digits + at[26:]  # beyond the microsecond
    document["finished_at"] = at.replace("+00:00", draw(st.sampled_from(["Z", "z", "+00:00", "-00:00"])))
    for field, default in (("match_type", "ranked"), ("tournament_id", None), ("verified", True)):
        if document[field] == default and draw(st.booleans()):
            del document[field]
    extra = draw(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5).map("x-".__add__), st.integers()))
    document["players"] = draw(st.permutations([shuffled(draw, player | extra) for player in document["players"]]))
    return json.dumps(
        shuffled(draw, document | extra),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 3, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", "\r\n:")])),
    ).encode()


@given(st.data(), matches())
def test_a_match_told_in_other_words_has_the_same_digest(data: st.DataObject, match: Match) -> None:
    """White space, key order, player order, escapes, unknown fields, defaults and offsets change no meaning."""
    assert decode(data.draw(retold(match))).digest == match_digest(match)


def reading(match: Match) -> tuple[Any, ...]:
    """Return what a match means: its fields, the players in order of id."""
    return (*(getattr(match, name) for name in MATCH_FIELDS), sorted(match.sides, key=lambda side: side.id))


MATCH_FIELDS = ("match_id", "pool", "finished_at", "match_type", "tournament_id", "verified")


@given(matches(), matches(), st.sets(st.sampled_from([*MATCH_FIELDS, "sides"]), min_size=1))
def test_a_match_with_another_meaning_has_another_digest(match: Match, other: Match, taken: set[str]) -> None:
    """A change to any field that counts shows, one alone or several together."""
    fields = {name: getattr(other if name in taken else match, name) for name in (*MATCH_FIELDS, "sides")}
    changed = Match(**fields)
    assert (match_digest(changed) == match_digest(match)) == (reading(changed) == reading(match))


@given(matches(), st.booleans(), st.none() | st.integers(1900, 2100))
def test_what_only_one_side_changes_shows(match: Match, first: bool, birth_year: int | None) -> None:
    """A swapped score or another birth year is another match."""
    one, two = match.sides
    swapped = (Side(one.id, two.score, one.birth_year), Side(two.id, one.score, two.birth_year))
    changed = [Match(match.match_id, match.pool, match.finished_at, swapped)]
    older = Side(one.id, one.score, birth_year) if first else Side(two.id, two.score, birth_year)
    changed.append(Match(match.match_id, match.pool, match.finished_at, (older, two) if first else (one, older)))
    plain = Match(match.match_id, match.pool, match.finished_at, match.sides)
    for other in changed:
        assert (match_digest(other) == match_digest(plain)) == (reading(other) == reading(plain))


@given(ids, ids)
def test_fields_do_not_run_into_each_other(one: str, two: str) -> None:
    """What moves from one id to its neighbour changes the digest."""
    assume(one + two not in {"ann", "bob"})
    whole = event(match_id=(one + two)[:128], pool="p", tournament_id="t")
    moved = event(match_id=one, pool="p", tournament_id=(two + "t")[:128])
    assume(len(one + two) <= 128)
    assert decode(raw(whole)).digest != decode(raw(moved)).digest


def test_the_digest_never_changes() -> None:
    """Digests are stored: a worker that computes them otherwise would take every repeat for a conflict."""
    ann = {"id": "ann", "score": 0.5, "attributes": {"birth_year": 2010}}
    full = event(match_type="tournament", tournament_id="t", **players(ann, {"id": "بوب", "score": 0.5}))
    assert decode(raw(event())).digest.hex() == "6f3160d24e8456c3f8211f8af5bdbe00"
    assert decode(raw(full)).digest.hex() == "e5d8ad31157d46d6b4fd27dcdc141a6b"


def test_the_zone_of_a_match_built_by_hand_makes_no_difference() -> None:
    """The digest is of the instant, also where the match didn't come through `decode_match`."""
    utc = decode(raw(event())).match
    local = Match(utc.match_id, utc.pool, utc.finished_at.astimezone(timezone.max), utc.sides)
    assert utc.finished_at.tzinfo is UTC
    assert match_digest(local) == match_digest(utc)
