from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.unit.events.samples import event, raw
from worker.events import (
    ENTRIES_CLOSED,
    MATCH_FINISHED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    Encoded,
    decode,
    encode_change,
    encode_notice,
    load_schema,
    name_of,
    validator,
)
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.model import Change, EntriesClosed, Lift, Match, Notice, Rated, Sanction, Void
from worker.rating.notices import policy_changed
from worker.rating.sanctions import Sanctioned
from worker.rating.signals import PlayedGame, boosting, farming, flagged, sandbagging, win_trading
from worker.rating.tournaments import Seeding
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
            case Lift():
                assert self.book.lift(decoded.event)
                outcome = self.book.give_back(decoded.event)
            case EntriesClosed():
                seeding = self.book.close_entries(decoded.event, {"foe-1": 1200.0})
                assert isinstance(seeding, Seeding)
                self.notices.append(seeding.notice)
                return
        self.changes += outcome.changes
        self.notices += outcome.notices

    def play(self, day: float, match_id: str, winner: str, loser: str, pool: str = "shax") -> None:
        """Tell of a match on a day after the start."""
        at = (START + timedelta(days=day)).isoformat()
        sides = [{"id": winner, "score": 1}, {"id": loser, "score": 0}]
        self.tell(MATCH_FINISHED, **event(match_id=match_id, pool=pool, players=sides, finished_at=at))


@pytest.fixture(scope="module")
def story() -> Story:
    """A year of all that happens to players: games, a void, a fall below a floor, absences, a reset and its lift."""
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
    for kind, player in (("suspension", "foe-2"), ("tournament-ban", "foe-3")):
        fields = {"sanction_id": f"{kind}-1", "player_id": player, "kind": kind, "starts_at": "2026-09-01T00:00:00Z"}
        story.tell(PLAYER_SANCTIONED, **fields, why="boosting", by="mod")
    for tournament_id, pool in (("t-1", "shax"), ("t-2", "yi")):
        entrants = ["ann", "foe-1", "foe-2", "foe-3", "nobody", "foe-15"]
        closed = {"tournament_id": tournament_id, "pool": pool, "closed_at": "2026-10-01T00:00:00Z"}
        story.tell(ENTRIES_CLOSED, **closed, entrants=entrants)
    reset = {"sanction_id": "s-1", "player_id": "ann", "kind": "rating-reset", "starts_at": "2026-11-01T00:00:00Z"}
    story.tell(PLAYER_SANCTIONED, **reset, why="boosting", by="mod")
    lift = {"sanction_id": "s-1", "player_id": "ann", "lifted_at": "2026-11-02T00:00:00Z"}
    story.tell(SANCTION_LIFTED, **lift, why="appeal", by="mod")
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
    assert {value["reason"] for value in values} == {"match", "floor", "void", "reset", "lift", "inactivity"}
    assert {name for value in values for name in value["adjusted"]} >= {"activity-boost", "floor"}
    assert len({value["event_id"] for value in values}) == len(values)


def test_every_notice_of_the_core_fits_its_schema(story: Story) -> None:
    """What the core tells the world beside changes is what the contract says."""
    values = [fits(encode_notice(notice)) for notice in story.notices]
    assert {notice.kind for notice in story.notices} == {"player-inactive", "policy-changed", "tournament-seeded"}
    assert len({value["event_id"] for value in values}) == len(values)
    seedings = [value for value in values if "seeds" in value]
    reasons = {refusal["reason"] for seeding in seedings for refusal in seeding["refused"]}
    assert reasons >= {"suspended", "banned", "provisional"}
    assert {type(seed["best"]) for seeding in seedings for seed in seeding["seeds"]} == {float, type(None)}


def games(opponent: str, scores: str, points: float, below: float = 0.0) -> list[PlayedGame]:
    """Return games an hour apart, each won, lost or drawn (`w`, `l`, `d`) for so many points."""
    values = {"w": 1.0, "l": 0.0, "d": 0.5}
    return [
        PlayedGame(
            opponent_id=opponent,
            score=values[score],
            delta=(values[score] * 2 - 1) * points,
            before=1500.0,
            opponent_before=1500.0 - below,
            finished_at=START + timedelta(hours=number),
            games=number + 1,
        )
        for number, score in enumerate(scores)
    ]


def test_every_signal_of_the_core_fits_its_schema() -> None:
    """The figures of each signal are those that the contract names."""
    policy = load_policies().at("shax", START)
    rules = policy.signals
    assert rules is not None
    assert rules.farming is not None
    assert rules.win_trading is not None
    assert rules.boosting is not None
    assert rules.sandbagging is not None
    found = [
        farming(games("eve", "w" * 24, 8.5), rules.farming),
        win_trading(games("eve", "wl" * 4, 16.0), rules.win_trading),
        boosting(games("eve", "l" * 6, 20.0), rules.boosting, policy),
        sandbagging(games("eve", "ldl" * 4, 24.0, below=250.5), rules.sandbagging),
    ]
    values = [fits(encode_notice(flagged("shax", "ann", case, policy))) for case in found if case is not None]
    assert [value["signal"] for value in values] == load_schema("integrity-flagged")["properties"]["signal"]["enum"]
