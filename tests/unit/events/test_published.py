from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.unit.events.samples import event, raw
from worker.events import (
    MATCH_FINISHED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    Encoded,
    decode,
    encode_change,
    encode_notice,
    name_of,
    validator,
)
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.model import Change, Match, Notice, Rated, Sanction, Void
from worker.rating.notices import policy_changed
from worker.rating.sanctions import Sanctioned
from worker.rating.voids import Voided

START = datetime(2026, 1, 5, 18, tzinfo=UTC)
NOW = datetime(2026, 11, 30, tzinfo=UTC)


class Story:
    """A book that is told events as records, and what would be published of them."""

    def __init__(self) -> None:
        self.book = Book(load_policies())
        self.changes: list[Change] = []
        self.notices: list[Notice] = []

    def tell(self, ce_type: str, **fields: Any) -> None:
        """Apply an event as it comes from its topic."""
        decoded = decode(raw(fields), [("ce_type", ce_type.encode())], now=NOW, max_bytes=65_536)
        match decoded.event:
            case Match():
                outcome: Any = self.book.rate(decoded.event)
                assert isinstance(outcome, Rated)
            case Void():
                outcome = self.book.void(decoded.event)
                assert isinstance(outcome, Voided)
            case Sanction():
                outcome = self.book.sanction(decoded.event)
                assert isinstance(outcome, Sanctioned)
        self.changes += outcome.changes
        self.notices += outcome.notices

    def play(self, day: float, match_id: str, winner: str, loser: str, pool: str = "shax") -> None:
        """Tell of a match on a day after the start."""
        at = (START + timedelta(days=day)).isoformat()
        sides = [{"id": winner, "score": 1}, {"id": loser, "score": 0}]
        self.tell(MATCH_FINISHED, **event(match_id=match_id, pool=pool, players=sides, finished_at=at))


@pytest.fixture(scope="module")
def story() -> Story:
    """A year with all that can happen to a player: games, a void, a fall below a floor, long absences, a reset."""
    story = Story()
    for number in range(16):
        story.play(number * 2, f"m-{number}", "ann", f"foe-{number}")
    who = {"match_id": "m-3", "pool": "shax", "players": ["ann", "foe-3"]}
    story.tell(MATCH_VOIDED, **who, voided_at="2026-02-20T00:00:00Z", why="one person", by="mod")
    for number in range(12):
        story.play(240 + number, f"back-{number}", "ann", f"foe-{number}")
    for number in range(12):
        story.play(number, f"f-{number}", "bob", "eve", pool="chess/standard")
    changes, notices = story.book.age("shax", "foe-15", NOW)
    story.changes += changes
    story.notices += notices
    reset = {"sanction_id": "s-1", "player_id": "ann", "kind": "rating-reset", "starts_at": "2026-11-01T00:00:00Z"}
    story.tell(PLAYER_SANCTIONED, **reset, why="boosting", by="mod")
    changed = policy_changed(load_policies().at("chess/standard", NOW))
    assert changed is not None
    story.notices.append(changed)
    return story


def fits(encoded: Encoded) -> dict[str, Any]:
    """Check a record against its closed schema and return it."""
    value: dict[str, Any] = orjson.loads(encoded.value)
    headers = dict(encoded.headers)
    validator(name_of(headers["ce_type"].decode())).validate(value)
    assert headers["ce_id"].decode() == value["event_id"]
    assert headers["ce_subject"] == encoded.key
    return value


def test_every_change_of_the_core_fits_its_schema(story: Story) -> None:
    """Whatever the rules do to a player can be published, and each reason occurs here."""
    values = [fits(encode_change(change)) for change in story.changes]
    assert {value["reason"] for value in values} == {"match", "floor", "void", "reset", "inactivity"}
    assert {name for value in values for name in value["adjusted"]} >= {"activity-boost", "floor"}
    assert len({value["event_id"] for value in values}) == len(values)


def test_every_notice_of_the_core_fits_its_schema(story: Story) -> None:
    """What the core tells the world beside changes is what the contract says."""
    values = [fits(encode_notice(notice)) for notice in story.notices]
    assert {notice.kind for notice in story.notices} >= {"player-inactive", "policy-changed"}
    assert len({value["event_id"] for value in values}) == len(values)
