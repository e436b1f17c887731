"""What came out of a scenario, as rows like those of its tables: what there is in each, and how it is compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.scenarios.events import NEWCOMER
from tests.scenarios.values import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

Got = dict[str, Any]
"""A row of what came out, by column."""


class Section(NamedTuple):
    """One kind of table.

    Attributes:
        identity: The columns that say which row of what came out a row of the table is about.
        kinds: Every column and how it is read.
        chain: Rows of the same value in this column come in the order of the table; None for any order.
        always: Whether a scenario without this table says that there are no such rows.
    """

    identity: tuple[str, ...]
    kinds: Mapping[str, Kind]
    chain: str | None = None
    always: bool = False


CHANGES = {
    **dict.fromkeys(("match", "player", "opponent", "reason", "score", "K rule", "factors", "bent by"), Kind.TEXT),
    **dict.fromkeys(("title before", "title", "policy", "cause", "pool"), Kind.TEXT),
    **dict.fromkeys(("before", "after", "delta", "expected", "opponent's rating"), Kind.FIGURE),
    **dict.fromkeys(("K", "weight", "games", "shown before", "shown", "shown delta"), Kind.EXACT),
    "provisional": Kind.FLAG,
    "time": Kind.TIME,
}
SECTIONS: dict[str, Section] = {
    "Changes": Section(("match", "player", "reason"), CHANGES, chain="player"),
    "Recorded without change": Section(
        ("match",), dict.fromkeys(("match", "reason", "because of"), Kind.TEXT), always=True
    ),
    "Dead letters": Section(("id", "reason"), dict.fromkeys(("id", "reason", "says"), Kind.TEXT), always=True),
    "Notices": Section(
        ("notice", "player", "opponent", "policy"),
        {
            **dict.fromkeys(("notice", "pool", "player", "opponent", "policy", "evidence", "reason"), Kind.TEXT),
            "time": Kind.TIME,
        },
    ),
    "Seeds": Section(
        ("tournament", "player"),
        {
            **dict.fromkeys(("tournament", "player"), Kind.TEXT),
            "place": Kind.EXACT,
            **dict.fromkeys(("seeding rating", "rating", "best"), Kind.FIGURE),
        },
    ),
    "Refused": Section(("tournament", "player"), dict.fromkeys(("tournament", "player", "reason"), Kind.TEXT)),
    "Standings": Section(
        ("pool", "player"),
        {
            **dict.fromkeys(("pool", "player", "title"), Kind.TEXT),
            "rating": Kind.FIGURE,
            **dict.fromkeys(("games", "wins", "draws", "losses"), Kind.EXACT),
            **dict.fromkeys(("provisional", "inactive"), Kind.FLAG),
        },
    ),
    "Verdicts": Section(
        ("id",),
        {
            **dict.fromkeys(("id", "player", "kind", "pool", "why", "by", "lifted why", "lifted by"), Kind.TEXT),
            **dict.fromkeys(("from", "until", "lifted"), Kind.TIME),
        },
    ),
    "Leaderboard": Section(
        ("player",),
        {
            **dict.fromkeys(("pool", "player", "title"), Kind.TEXT),
            **dict.fromkeys(("rating", "games", "wins", "draws", "losses"), Kind.EXACT),
            "last played": Kind.TIME,
        },
        chain="pool",
    ),
}


@dataclass
class Outcome:
    """What came out of one scenario.

    Attributes:
        events: The events of rating-events, as they were published.
        rows: By table.
        policies: The notices of changed policies, which nobody looks at who does not ask for them.
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, list[Got]] = field(default_factory=lambda: {name: [] for name in SECTIONS})
    policies: list[Got] = field(default_factory=list)


class Names(NamedTuple):
    """Turns real names into those that scenarios use.

    Attributes:
        made: What the names and versions of made-up policies stand for.
    """

    made: Mapping[tuple[str, int], tuple[str, int]]

    @staticmethod
    def plain(name: str | None) -> str | None:
        """Give an id or a pool without the scenario's prefix."""
        if name is None:
            return None
        plain = name.split(".", 1)[-1]
        return NEWCOMER if plain.startswith(f"{NEWCOMER}-") else plain

    @staticmethod
    def pool(name: str, prefix: str) -> str:
        """Give a pool without the scenario's prefix."""
        return name.removeprefix(f"{prefix}/")

    def policy(self, policy: Mapping[str, Any]) -> str:
        """Give a policy version as scenarios write it."""
        name, version = self.made.get((policy["name"], policy["version"]), (policy["name"], policy["version"]))
        return f"{name} {version}"


def change_row(event: Mapping[str, Any], names: Names, prefix: str) -> Got:
    """Give a change as a row."""
    scores = {None: None, 1: "1", 0.5: "½", 0: "0"}
    factors = " × ".join(f"{factor['name']} {factor['value']:g}" for factor in event["factors"])
    return {
        "match": names.plain(event["match_id"]),
        "player": names.plain(event["player_id"]),
        "opponent": names.plain(event["opponent_id"]),
        "reason": event["reason"],
        "score": scores[event["score"]],
        "K rule": event["k_rule"],
        "factors": factors or None,
        "bent by": ", ".join(event["adjusted"]) or None,
        "title before": event["title_before"],
        "title": event["title_after"],
        "policy": names.policy(event["policy"]),
        "cause": names.plain(event["cause"]),
        "pool": names.pool(event["pool"], prefix),
        "before": event["before"],
        "after": event["after"],
        "delta": event["delta"],
        "expected": event["expected"],
        "opponent's rating": event["opponent_before"],
        "K": event["k"],
        "weight": event["weight"],
        "games": event["games"],
        "shown before": event["display_before"],
        "shown": event["display_after"],
        "shown delta": event["display_delta"],
        "provisional": event["provisional"],
        "time": datetime.fromisoformat(event["occurred_at"]),
    }


def notice_row(kind: str, event: Mapping[str, Any], names: Names, prefix: str) -> Got:
    """Give a notice as a row; of a signal, the notice is the signal's name."""
    evidence = ", ".join(f"{name} {value:g}" for name, value in sorted(event.get("evidence", {}).items()))
    return {
        "notice": event.get("signal", kind),
        "pool": names.pool(event["pool"], prefix) if "pool" in event else None,
        "player": names.plain(event.get("player_id")),
        "opponent": names.plain(event.get("opponent_id")),
        "policy": names.policy(event["policy"]),
        "evidence": evidence or None,
        "reason": event.get("reason"),
        "time": datetime.fromisoformat(event["occurred_at"]),
    }


def seeding_rows(event: Mapping[str, Any], names: Names) -> tuple[list[Got], list[Got]]:
    """Give the seeds and the refusals of a tournament as rows."""
    tournament = names.plain(event["tournament_id"])
    seeds = [
        {
            "tournament": tournament,
            "player": names.plain(seed["player_id"]),
            "place": seed["place"],
            "seeding rating": seed["seeding_rating"],
            "rating": seed["rating"],
            "best": seed["best"],
        }
        for seed in event["seeds"]
    ]
    refused = [
        {"tournament": tournament, "player": names.plain(one["player_id"]), "reason": one["reason"]}
        for one in event["refused"]
    ]
    return seeds, refused
