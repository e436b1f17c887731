"""Made-up matches with a shape like real ones, from a seed: for the demo, for development and for load tests.

Players have a hidden skill in each pool that decides how often they win. A few play much and most play little (a power
law), opponents are of like strength, and a pair that sits down together often plays on, so that repeated pairings show.
Some matches are casual, unverified or of a tournament. On request a few records are repeats, conflicts or no matches at
all, so that every way through the worker is taken.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

import orjson

from worker.events import MATCH_FINISHED, encode_match, pair_key
from worker.rating.model import Match, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

RUN_HEADER = "demo-run"
"""The header that tells one run's records from another's; a dead letter keeps it."""

_SOURCE = b"/rating-worker/generator"

_NAMES = ("amina", "bao", "chidi", "dalia", "emre", "farah", "goran", "hana", "idris", "jun", "kofi", "leyla", "mateo")
_BIRTH_YEARS = (1950, 2015)
_SKILL_SPREAD = 250.0
_SCALE = 400.0
_POPULARITY = 0.8  # exponent of the power law
_CANDIDATES = 4
_SITTINGS = 12
_SITTING_LENGTHS, _SITTING_WEIGHTS = (1, 2, 3, 5, 8), (55, 20, 10, 10, 5)


class Kind(StrEnum):
    """What a record is meant to be."""

    MATCH = "match"
    REPEAT = "repeat"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Game:
    """A pool that matches are made for.

    Attributes:
        pool: Its name.
        share: Of all matches, in parts of the shares' sum.
        draws: How often an even match is drawn.
        casual: How many matches are casual.
        unverified: How many no server refereed.
        tournament: How many belong to a tournament.
    """

    pool: str
    share: float
    draws: float = 0.0
    casual: float = 0.0
    unverified: float = 0.0
    tournament: float = 0.0


GAMES = (
    Game("yi", share=5, draws=0.02, unverified=0.02),
    Game("shax", share=3, draws=0.05, casual=0.04, tournament=0.1),
    Game("chess/blitz", share=2, draws=0.15),
    Game("chess/standard", share=1, draws=0.35, tournament=0.3),
)


@dataclass(frozen=True, slots=True)
class Record:
    """A record to send.

    Attributes:
        kind: What it is meant to be.
        match: The match in it; None where it is bad.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    kind: Kind
    match: Match | None = None


class World:
    """Players and their skills, and the matches that they play.

    Args:
        players: How many, at least 2.
        seed: The same seed gives the same players and the same matches.
        run: Starts every match id, so that another run's matches are other matches.
        games: The pools that are played in.
    """

    def __init__(self, players: int, seed: int, run: str, games: tuple[Game, ...] = GAMES) -> None:
        self._random = random.Random(seed)  # noqa: S311 - made-up matches, no secrets
        self.run = run
        self._games = games
        self._shares = list(accumulate(game.share for game in games))
        self._number = 0
        self._birth_years = {
            f"{_NAMES[i % len(_NAMES)]}-{i // len(_NAMES) + 1:02d}": self._random.randint(*_BIRTH_YEARS)
            for i in range(players)
        }
        self._players: dict[str, list[str]] = {}
        self._skills: dict[tuple[str, str], float] = {}
        for game in games:
            order = list(self._birth_years)
            self._random.shuffle(order)
            self._players[game.pool] = order
            for player in order:
                self._skills[game.pool, player] = self._random.gauss(0.0, _SKILL_SPREAD)
        self._popularity = list(accumulate((place + 3) ** -_POPULARITY for place in range(players)))
        self._sittings: list[list[tuple[Game, str, str]]] = []

    def match(self, finished_at: datetime) -> Match:
        """Play the next match, which finishes at the given time."""
        while len(self._sittings) < _SITTINGS:
            self._sittings.append(self._sit_down())
        sitting = self._random.choice(self._sittings)
        game, one, other = sitting.pop()
        if not sitting:
            self._sittings.remove(sitting)
        self._number += 1
        chance = self._random.random
        match_type, tournament = "ranked", None
        if chance() < game.casual:
            match_type = "casual"
        elif chance() < game.tournament:
            match_type, tournament = "tournament", f"{game.pool}-open"
        score = self._score(game, one, other)
        return Match(
            match_id=f"{self.run}-{self._number:07d}",
            pool=game.pool,
            finished_at=finished_at,
            sides=(self._side(game, one, score), self._side(game, other, 1.0 - score)),
            match_type=match_type,
            tournament_id=tournament,
            verified=chance() >= game.unverified,
        )

    def records(self, matches: int, start: datetime, end: datetime) -> Iterator[Record]:
        """Make the records of so many matches that finish between two times, in order."""
        step = (end - start) / max(matches, 1)
        for number in range(matches):
            yield self.record(start + step * (number + self._random.random()))

    def record(self, finished_at: datetime) -> Record:
        """Make the record of the next match, keyed by its pair."""
        match = self.match(finished_at)
        one, other = match.sides
        headers = (
            ("ce_specversion", b"1.0"),
            ("ce_type", MATCH_FINISHED.encode()),
            ("ce_id", match.match_id.encode()),
            ("ce_source", _SOURCE),
            ("content-type", b"application/json"),
            (RUN_HEADER, self.run.encode()),
        )
        return Record(pair_key(match.pool, one.id, other.id), encode_match(match), headers, Kind.MATCH, match)

    def _sit_down(self) -> list[tuple[Game, str, str]]:
        """Let a pair of like strength sit down for a few games of one kind."""
        rand = self._random
        game = rand.choices(self._games, cum_weights=self._shares)[0]
        players = self._players[game.pool]
        one = rand.choices(players, cum_weights=self._popularity)[0]
        others = set(rand.choices(players, cum_weights=self._popularity, k=_CANDIDATES)) - {one}
        if not others:
            others = {rand.choice([player for player in players if player != one])}
        skill = self._skills[game.pool, one]
        other = min(sorted(others), key=lambda player: abs(self._skills[game.pool, player] - skill))
        return [(game, one, other)] * rand.choices(_SITTING_LENGTHS, _SITTING_WEIGHTS)[0]

    def _score(self, game: Game, one: str, other: str) -> float:
        gap = self._skills[game.pool, other] - self._skills[game.pool, one]
        expected: float = 1.0 / (1.0 + 10.0 ** (gap / _SCALE))
        drawn = game.draws * 4.0 * expected * (1.0 - expected)  # the more even, the likelier
        chance = self._random.random()
        if chance < drawn:
            return 0.5
        return 1.0 if chance < drawn + (1.0 - drawn) * expected else 0.0

    def _side(self, game: Game, player: str, score: float) -> Side:
        return Side(player, score, self._birth_years[player] if game.pool.startswith("chess/") else None)


def repeated(record: Record) -> Record:
    """Send the same match again: it must change nothing."""
    return replace(record, kind=Kind.REPEAT)


def spoilt(good: Sequence[Record], run: str, first: int = 0) -> list[Record]:
    """Make a record that the worker must refuse of each of some good ones; the ways are taken in turn.

    Args:
        good: Records of matches.
        run: Starts the bad ones' match ids.
        first: Which way to start with.
    """
    return [_WAYS[place % len(_WAYS)](record, f"{run}-bad-{place}") for place, record in enumerate(good, start=first)]


def _bad(record: Record, value: bytes | None) -> Record:
    return replace(record, value=value, kind=Kind.BAD, match=None)


def _edited(record: Record, match_id: str, **fields: object) -> Record:
    document = orjson.loads(record.value or b"{}") | {"match_id": match_id} | fields
    return _bad(record, orjson.dumps(document))


def _cut_off(record: Record, match_id: str) -> Record:
    return _bad(record, (_edited(record, match_id).value or b"")[:-9])


def _self_play(record: Record, match_id: str) -> Record:
    return _edited(record, match_id, players=[{"id": "amina-01", "score": 1}, {"id": "amina-01", "score": 0}])


def _two_winners(record: Record, match_id: str) -> Record:
    return _edited(record, match_id, players=[{"id": "amina-01", "score": 1}, {"id": "bao-01", "score": 1}])


def _no_pool(record: Record, match_id: str) -> Record:
    return _edited(record, match_id, pool="tiddlywinks")


def _no_time(record: Record, match_id: str) -> Record:
    return _edited(record, match_id, finished_at="yesterday evening")


def _tombstone(record: Record, _match_id: str) -> Record:
    return _bad(record, None)


def _conflict(record: Record, _match_id: str) -> Record:
    """Tell another story of the same match."""
    document = orjson.loads(record.value or b"{}")
    return _bad(record, orjson.dumps(document | {"finished_at": "2020-01-01T00:00:00Z"}))


_WAYS = (_cut_off, _self_play, _two_winners, _conflict, _no_pool, _no_time, _tombstone)
