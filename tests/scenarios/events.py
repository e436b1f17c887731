"""From the rows of **Events** to the records that backends send, as schemas/ and the project's README describe them.

Nothing of the worker makes them: a contract that it broke would show.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.scenarios.reading import EVENTS, check_columns
from tests.scenarios.values import LOOK, MARGIN, Clock
from tests.support.kafka import Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from tests.scenarios.reading import Row, Scenario

COLUMNS = ("time", "event", "id", "pool", "who", "type", "tournament", "verified", "born", "until", "times", "text")
NEWCOMER = "newcomer"
HOUSEKEEPING = "housekeeping"
KINDS = (
    *("match", "void", "rating reset", "suspension", "tournament ban", "lift"),
    *("tournament opened", "entries closed", "tournament finished", "housekeeping", "record"),
)
AGAIN = " again"
ROW_HEADER = "scenario-row"  # on each record, and so on its dead letter: which row it was

_RESULT = re.compile(r"(\S+) (1|½|0)–(1|½|0) (\S+)")
_SCORES = {"1": 1, "½": 0.5, "0": 0}
_TIMES = re.compile(r"(\d+) × (\d+) (min|h|days)")
_UNITS = {"min": "minutes", "h": "hours", "days": "days"}
_BORN = re.compile(r"(\S+) (\d{4})")
_SANCTIONS = {"rating reset": "rating-reset", "suspension": "suspension", "tournament ban": "tournament-ban"}
_WHY = {"why": "as decided", "by": "referee"}


class Sent(NamedTuple):
    """A record to send.

    Attributes:
        row: The id in its row.
        topic: `match`, `verdict` or `tournament`.
        event: The name of its schema; None for one that is to be refused as no event at all.
    """

    row: str
    topic: str
    record: Raw
    event: str | None


class Look(NamedTuple):
    """Housekeeping looks, and it is this time."""

    at: datetime


class Story:
    """What a scenario's rows say, in order.

    Attributes:
        steps: The records and the looks of housekeeping.
        clock: The scenario's times.
    """

    def __init__(self, scenario: Scenario, pool_of: Callable[[str], str]) -> None:
        """Take the rows.

        Args:
            scenario: As it was read.
            pool_of: Gives the real name of a pool.

        Raises:
            ScenarioError: A row that can't be read.
        """
        self._scenario = scenario
        self._pool_of = pool_of
        self._newcomers = 0
        self._known: dict[tuple[str, str], Sent] = {}
        self.steps: list[Sent | Look] = []
        self.clock = clock_of(scenario)
        table = scenario.tables[EVENTS]
        check_columns(scenario, table, COLUMNS)
        self._who: dict[str, str] = {}  # by id, of the first row that says it: a void may come before its match
        for row in table.rows:
            if "id" in row.cells and "who" in row.cells:
                self._who.setdefault(row.cells["id"], row.cells["who"])
        for row in table.rows:
            try:
                self.steps += self._steps(row)
            except ValueError as error:
                raise scenario.error(row.line, str(error)) from None

    def _steps(self, row: Row) -> Iterator[Sent | Look]:
        kind = _cell(row, "event")
        if kind.endswith(AGAIN):
            yield self._again(kind.removesuffix(AGAIN), _cell(row, "id"))
            return
        if kind == "record":
            yield Sent(_cell(row, "id"), "match", self._record(row, None, _cell(row, "text").encode()), None)
            return
        at = self._time(row, relative=kind != HOUSEKEEPING)
        if kind == HOUSEKEEPING:
            yield Look(at)
            return
        count, gap = _times(row.cells.get("times"))
        for number in range(1, count + 1):
            name = _cell(row, "id") if count == 1 else f"{_cell(row, 'id')}{number}"
            sent = self._sent(kind, name, row, at + gap * (number - 1))
            self._known[kind, name] = sent
            yield sent

    def _again(self, kind: str, name: str) -> Sent:
        known = self._known.get((kind, name))
        if known is None:
            raise ValueError(f"'{kind}{AGAIN}': no row above has the event {kind!r} and the id {name!r}")
        return known

    def _sent(self, kind: str, name: str, row: Row, at: datetime) -> Sent:
        """Make the record of a row."""
        match kind:
            case "match":
                return self._match(name, row, at)
            case "void":
                return self._void(name, row, at)
            case "rating reset" | "suspension" | "tournament ban":
                return self._sanction(kind, name, row, at)
            case "lift":
                return self._lift(name, row, at)
            case "tournament opened" | "entries closed" | "tournament finished":
                return self._tournament(kind, name, row, at)
        raise ValueError(f"no such event as {kind!r}; there are {', '.join(KINDS)}, and '… again' for one of them")

    def _match(self, name: str, row: Row, at: datetime) -> Sent:
        found = _RESULT.fullmatch(_cell(row, "who"))
        if found is None:
            raise ValueError(f"who is {row.cells['who']!r}; of a match it is written 'ann 1–0 bob', 'ann ½–½ bob'")
        born = _born(row.cells.get("born"))
        players: list[dict[str, Any]] = []
        for player, score in ((found[1], found[2]), (found[4], found[3])):
            players.append({"id": self._id(player), "score": _SCORES[score]})
            if player in born:
                players[-1]["attributes"] = {"birth_year": born[player]}
        pool = self._pool(row)
        match: dict[str, Any] = {
            "match_id": self._id(name),
            "pool": pool,
            "finished_at": at.isoformat(),
            "players": players,
        }
        if "type" in row.cells:
            match["match_type"] = row.cells["type"]
        if "tournament" in row.cells:
            match["tournament_id"] = self._id(row.cells["tournament"])
        if "verified" in row.cells:
            match["verified"] = _flag(row, "verified")
        return self._event("match", "match-finished", row, _pair_key(pool, [one["id"] for one in players]), match)

    def _void(self, name: str, row: Row, at: datetime) -> Sent:
        match = self._known.get(("match", name))
        if match is not None and "who" not in row.cells:
            players = [player["id"] for player in match.record.json()["players"]]
        else:
            who = row.cells.get("who") or self._named_elsewhere(name)
            found = _RESULT.fullmatch(who)
            players = [self._id(player) for player in ((found[1], found[4]) if found else who.split(", "))]
        pool = self._pool(row)
        fields = {"match_id": self._id(name), "pool": pool, "players": players, "voided_at": at.isoformat()}
        return self._event("match", "match-voided", row, _pair_key(pool, players), fields | _WHY)

    def _sanction(self, kind: str, name: str, row: Row, at: datetime) -> Sent:
        player = self._id(_cell(row, "who"))
        fields = {"sanction_id": self._id(name), "player_id": player, "kind": _SANCTIONS[kind]}
        fields |= {"starts_at": at.isoformat(), **_WHY}
        if "until" in row.cells:
            fields["ends_at"] = self.clock.read(row.cells["until"]).isoformat()
        if "pool" in row.cells:
            fields["pool"] = self._pool(row)
        return self._event("verdict", "player-sanctioned", row, player, fields)

    def _lift(self, name: str, row: Row, at: datetime) -> Sent:
        player = self._id(row.cells.get("who") or self._named_elsewhere(name))
        fields = {"sanction_id": self._id(name), "player_id": player, "lifted_at": at.isoformat()}
        return self._event("verdict", "sanction-lifted", row, player, fields | _WHY)

    def _tournament(self, kind: str, name: str, row: Row, at: datetime) -> Sent:
        fields: dict[str, Any] = {"tournament_id": self._id(name), "pool": self._pool(row)}
        match kind:
            case "tournament opened":
                fields |= {"opened_at": at.isoformat(), "by": "referee"}
            case "entries closed":
                fields |= {"closed_at": at.isoformat(), "entrants": self._ids(row)}
            case _:
                fields |= {"finished_at": at.isoformat(), "standings": self._ids(row)}
        return self._event("tournament", kind.replace(" ", "-"), row, self._id(name), fields)

    def _event(self, topic: str, name: str, row: Row, key: str, fields: dict[str, Any]) -> Sent:
        return Sent(row.cells["id"], topic, self._record(row, key, json.dumps(fields).encode(), name), name)

    def _record(self, row: Row, key: str | None, value: bytes, name: str | None = None) -> Raw:
        headers = [(ROW_HEADER, f"{self._scenario.prefix}:{row.cells.get('id', '')}".encode())]
        if name is not None:
            headers.append(("ce_type", f"org.rating-worker.{name}.v1".encode()))
        return Raw(None if key is None else key.encode(), value, tuple(headers))

    def _time(self, row: Row, *, relative: bool) -> datetime:
        text = _cell(row, "time")
        at = self.clock.read(text)
        if relative and text.startswith("day") and at > LOOK - MARGIN:
            raise ValueError(f"{text!r} lies less than 3 days before the look of housekeeping: start 'Day 0' earlier")
        return at

    def _pool(self, row: Row) -> str:
        pool = row.cells.get("pool") or self._scenario.setting("Pool")
        if pool is None:
            raise ValueError("no pool: name one in the row, or for all rows in the setting 'Pool'")
        return self._pool_of(pool)

    def _named_elsewhere(self, name: str) -> str:
        """Give who the row that has this id is about."""
        if name not in self._who:
            raise ValueError(f"no row with the id {name!r} says who it is about, so 'who' can't be left out here")
        return self._who[name]

    def _ids(self, row: Row) -> list[str]:
        return [self._id(player) for player in _cell(row, "who").split(", ")]

    def _id(self, name: str) -> str:
        """Give the real id of what a scenario calls so; a newcomer is somebody else each time."""
        if name == NEWCOMER:
            self._newcomers += 1
            name = f"{NEWCOMER}-{self._newcomers}"
        return f"{self._scenario.prefix}.{name}"


def clock_of(scenario: Scenario) -> Clock:
    """Give the times of a scenario.

    Raises:
        ScenarioError: Its setting `Day 0` can't be read.
    """
    setting = scenario.settings.get("Day 0")
    try:
        return Clock.starting("60 days ago" if setting is None else setting.text)
    except ValueError as error:
        raise scenario.error(setting.line if setting else scenario.line, str(error)) from None


def _cell(row: Row, column: str) -> str:
    if column not in row.cells:
        raise ValueError(f"{column!r} is empty")
    return row.cells[column]


def _flag(row: Row, column: str) -> bool:
    if row.cells[column] not in {"yes", "no"}:
        raise ValueError(f"{column} is {row.cells[column]!r}; it is yes or no")
    return row.cells[column] == "yes"


def _times(text: str | None) -> tuple[int, timedelta]:
    """Read `20 × 1 h`: so often, and what lies between."""
    if text is None:
        return 1, timedelta()
    found = _TIMES.fullmatch(text)
    if found is None:
        raise ValueError(f"times is {text!r}; it is written '20 × 25 h', with min, h or days")
    return int(found[1]), timedelta(**{_UNITS[found[3]]: int(found[2])})


def _born(text: str | None) -> dict[str, int]:
    years = {}
    for part in text.split(", ") if text else ():
        found = _BORN.fullmatch(part)
        if found is None:
            raise ValueError(f"born is {text!r}; it is written 'ann 2008' or 'ann 2008, bob 1990'")
        years[found[1]] = int(found[2])
    return years


def _pair_key(pool: str, players: list[str]) -> str:
    return "|".join([pool, *sorted(players)])
