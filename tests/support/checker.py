"""The checker: reads what was produced, Postgres and the output topic, and trusts nothing that the worker says."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson

from tests.support.kafka import Raw, read_all
from worker.events import encode_change, validator
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.model import Change, Match, Rated, Unrated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from worker.settings import Settings


@dataclass
class Findings:
    """What is wrong; all lists empty where everything holds."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    broken_chains: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    unpublished: list[str] = field(default_factory=list)
    published_twice: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)

    def wrong(self, *, but: str = "") -> dict[str, list[str]]:
        """Give the kinds of findings that there are, a few examples each; `but` is a kind that may be."""
        return {kind: found[:3] for kind, found in vars(self).items() if found and kind != but}


async def check(settings: Settings, produced: Iterable[Match]) -> Findings:
    """Check the whole of a run that is over: database, output topic, and one against the other."""
    findings = Findings()
    matches = {match.match_id: match for match in produced}
    connection = await asyncpg.connect(settings.database_url.get_secret_value())
    try:
        await connection.set_type_codec("jsonb", encoder=str, decoder=orjson.loads, schema="pg_catalog")
        recorded = {row["match_id"]: row for row in await connection.fetch("select * from matches")}
        entries = await connection.fetch(
            """select l.*, p.name as pool, r.player_id from ledger l join ratings r using (rating_id)
               join pools p using (pool_id) order by l.entry_id"""
        )
        ratings = await connection.fetch("select r.*, p.name as pool from ratings r join pools p using (pool_id)")
    finally:
        await connection.close()

    findings.lost += sorted(matches.keys() - recorded.keys())
    findings.doubled += sorted(recorded.keys() - matches.keys())
    _check_chains(entries, ratings, findings)
    rebuilt = _check_rebuild(matches, recorded, entries, ratings, findings)
    _check_published(await read_all(settings, settings.rating_topic), entries, rebuilt, findings)
    return findings


def _check_chains(entries: list[Any], ratings: list[Any], findings: Findings) -> None:
    """Version n+1 starts at the rating where version n ended, with no gap and no fork; the last one is what stands."""
    chains: dict[int, list[Any]] = defaultdict(list)
    for entry in entries:
        chains[entry["rating_id"]].append(entry)
    for row in ratings:
        chain = chains[row["rating_id"]]
        if [entry["version"] for entry in chain] != list(range(1, len(chain) + 1)) or len(chain) != row["version"]:
            findings.broken_chains.append(f"{row['pool']} {row['player_id']}: versions")
        for one, other in pairwise(chain):
            if one["after"] != other["before"]:
                findings.broken_chains.append(f"{row['pool']} {row['player_id']}: {one['after']} {other['before']}")
        if any(entry["before"] + entry["delta"] != entry["after"] for entry in chain):
            findings.broken_chains.append(f"{row['pool']} {row['player_id']}: sum")
        if chain and chain[-1]["after"] != row["rating"]:
            findings.broken_chains.append(f"{row['pool']} {row['player_id']}: end")
    by_match = Counter((entry["match_id"], entry["rating_id"], entry["reason"]) for entry in entries)
    findings.doubled += [f"{key}" for key, count in by_match.items() if count > 1]


def _check_rebuild(
    matches: dict[str, Match], recorded: dict[str, Any], entries: list[Any], ratings: list[Any], findings: Findings
) -> dict[tuple[str, str, int], Change]:
    """Rating the produced matches again, in the order of the ledger, gives the stored ratings to the last bit.

    Returns:
        Every change that there has to be, by pool, player and version.
    """
    book = Book(load_policies(None, ()))
    rebuilt: dict[tuple[str, str, int], Change] = {}
    rated = dict.fromkeys(entry["match_id"] for entry in entries)
    for match_id in rated:
        if match_id not in matches:
            continue  # reported already
        outcome = book.rate(matches[match_id])
        assert isinstance(outcome, Rated), f"{match_id} has ledger entries and is not rated"
        rebuilt |= {(change.pool, change.player_id, change.version): change for change in outcome.changes}
    _check_unrated([matches[name] for name in matches.keys() & recorded.keys() - rated.keys()], recorded, findings)
    stored = {(e["pool"], e["player_id"], e["version"]): e for e in entries}
    names = ("before", "after", "delta", "expected", "score", "k", "k_rule", "weight", "games", "reason", "occurred_at")
    for key, change in rebuilt.items():
        entry = stored.get(key)
        if entry is None or any(getattr(change, name) != entry[name] for name in names):
            findings.unequal.append(f"{change} {entry}")
    if rebuilt.keys() != stored.keys():
        findings.unequal.append(f"{len(rebuilt)} changes rebuilt, {len(entries)} stored")
    _check_states(book, ratings, findings)
    return rebuilt


def _check_unrated(unrated: list[Match], recorded: dict[str, Any], findings: Findings) -> None:
    for match in unrated:
        outcome = Book(load_policies(None, ())).rate(match)
        reason = recorded[match.match_id]["unrated_reason"]
        if not isinstance(outcome, Unrated) or outcome.reason != reason:
            findings.unequal.append(f"{match.match_id}: recorded as {reason}, should be {outcome}")


def _check_states(book: Book, ratings: list[Any], findings: Findings) -> None:
    for row in ratings:
        state = book.state(row["pool"], row["player_id"])
        if row["version"] == 0:
            continue
        if state is None or any(getattr(state, name) != row[name] for name in state._fields):
            findings.unequal.append(f"{row['pool']} {row['player_id']}: {state} {dict(row)}")


def _check_published(
    records: list[Raw], entries: list[Any], rebuilt: dict[tuple[str, str, int], Change], findings: Findings
) -> None:
    """Each ledger entry is published once, under its own id, valid, as the core says, in version order."""
    valid = validator("rating-changed")
    last: dict[tuple[str, str], int] = {}
    seen: Counter[tuple[str, str, int]] = Counter()
    ids: set[str] = set()
    for record in records:
        event = record.json()
        assert valid.is_valid(event), event
        player = (event["pool"], event["player_id"])
        key = (*player, event["version"])
        seen[key] += 1
        if event["event_id"] in ids or record.header("ce_id") != event["event_id"]:
            findings.published_twice.append(event["event_id"])
        ids.add(event["event_id"])
        if key not in rebuilt or (record.key, record.value) != encode_change(rebuilt[key])[:2]:
            findings.unequal.append(f"published: {event}")
        if event["version"] != last.get(player, 0) + 1:
            findings.out_of_order.append(f"{player}: {event['version']} after {last.get(player, 0)}")
        last[player] = event["version"]
    stored = {(entry["pool"], entry["player_id"], entry["version"]): entry for entry in entries}
    findings.unpublished += [f"{key}" for key in stored if not seen[key]]
    findings.published_twice += [f"{key}" for key, count in seen.items() if count > 1 or key not in stored]
