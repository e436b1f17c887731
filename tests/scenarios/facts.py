"""What holds in every scenario, whatever it is about: the facts at the end of the rules, of what was published."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NOISE = 1e-9


def broken_facts(events: Sequence[dict[str, Any]]) -> list[str]:
    """Say which facts do not hold of the changes of a scenario, in the order in which they were published."""
    return [*_published_twice(events), *_broken_chains(events), *_not_zero_sum(events)]


def _published_twice(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    ids = [event["event_id"] for event in events]
    yield from (f"published twice: {event_id}" for event_id in sorted(set(ids)) if ids.count(event_id) > 1)


def _broken_chains(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Version n+1 starts at the rating where version n ended, with no gap and no fork."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for event in events:
        player = (event["pool"], event["player_id"])
        before = last.get(player)
        if event["version"] != (before["version"] + 1 if before else 1):
            yield f"{player}: version {event['version']} comes after {before and before['version']}"
        if before and event["before"] != before["after"]:
            yield f"{player}: version {event['version']} starts at {event['before']}, not at {before['after']}"
        if event["before"] + event["delta"] != event["after"]:
            yield f"{player}: version {event['version']} does not add up"
        last[player] = event


def _not_zero_sum(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A match's two changes add up to 0 when K is equal and neither floor, rounding nor a cap for one side acted."""
    by_match: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["reason"] == "match":
            by_match[event["match_id"]].append(event)
    for match_id, sides in by_match.items():
        for one, other in combinations(sides, 2):
            bent = {*one["adjusted"], *other["adjusted"]} - {"activity-boost"}
            if one["k"] == other["k"] and not bent and abs(one["delta"] + other["delta"]) > _NOISE:
                yield f"{match_id}: {one['delta']} and {other['delta']} do not add up to 0"
