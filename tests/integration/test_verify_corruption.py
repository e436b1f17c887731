"""`verify` on databases in which one thing was changed by hand: the right checks find it, and no other."""

from __future__ import annotations

import itertools
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg
import pytest

from tests.integration.test_ledger import fide_falls
from tests.integration.test_verify import found, tell
from tests.support.stories import POLICIES, story
from worker.ledger.ledger import Ledger, open_pool
from worker.ledger.migrate import migrate
from worker.settings import Settings
from worker.settings.values import DatabaseUrl
from worker.verify import verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from deploy.local import Stack

_numbers = itertools.count()


@dataclass(frozen=True)
class Written:
    """A database that the worker has written a story to, as a template, and its server's settings."""

    settings: Settings
    name: str


@pytest.fixture(scope="module")
async def written(stack: Stack) -> Written:
    """A story with everything in it."""
    name = f"verified_{secrets.token_hex(3)}"
    settings = Settings(kafka_bootstrap=stack.bootstrap, database_url=stack.create_database(name))
    await migrate(settings.database_url.get_secret_value())
    ledger = await Ledger.open(settings, POLICIES)
    juniors = [one._replace(sides=(one.sides[0]._replace(birth_year=2012), one.sides[1])) for one in fide_falls()]
    await tell(ledger, 3, [*story(3, 250, sweeps=True), *juniors])
    await ledger.close()
    return Written(settings, name)


@asynccontextmanager
async def copy_of(written: Written) -> AsyncIterator[asyncpg.Pool]:
    """Give a copy of the database for one test."""
    name = f"{written.name}_{next(_numbers)}"
    url = written.settings.database_url.get_secret_value()
    server = await asyncpg.connect(url.replace(written.name, "postgres"))
    try:
        await server.execute(f"create database {name} template {written.name}")
        copied = written.settings.model_copy(update={"database_url": DatabaseUrl(url.replace(written.name, name))})
        async with await open_pool(copied) as pool:
            yield pool
    finally:
        await server.execute(f"drop database {name}")
        await server.close()


# A match entry in the middle of its player's chain, and the last entry of a chain, that of a match too.
INNER = """(select l.entry_id from ledger l join ratings r using (rating_id) join matches m using (match_id)
    where l.reason = 'match' and l.version between 5 and r.version - 5 and l.weight = 1 and not m.voided
    and l.adjusted is null order by l.entry_id limit 1)"""
LAST = """(select l.entry_id from ledger l join ratings r using (rating_id) join matches m using (match_id)
    where l.reason = 'match' and l.version = r.version and l.adjusted is null and not m.voided
    order by l.entry_id desc limit 1)"""
INNER_MATCH = f"(select match_id from ledger where entry_id = {INNER})"
LAST_MATCH = f"(select match_id from ledger where entry_id = {LAST})"
LAST_PLAYER = f"(select rating_id from ledger where entry_id = {LAST})"
VOIDED = "(select min(match_id) from matches where voided and lo_version is not null)"
CASUAL = "(select min(match_id) from matches where unrated_reason = 'casual')"
LIFTED = "(select min(sanction_id) from sanctions where lifted_at is not null)"
SUSPENSION = "(select min(sanction_id) from sanctions where kind = 'suspension')"
RESET = "(select min(sanction_id) from sanctions where taken is not null)"

IN_RATINGS = {
    "rating": ("rating = rating + 1e-9", {"standings", "rebuilt-ratings"}),
    "version": ("version = version + 1", {"standings", "rebuilt-ratings"}),
    "games": ("games = games + 1", {"tallies", "rebuilt-ratings"}),
    "wins": ("wins = wins + 1", {"tallies", "rebuilt-ratings"}),
    "draws": ("draws = draws - 1", {"tallies", "rebuilt-ratings"}),
    "losses": ("losses = losses + 1", {"tallies", "rebuilt-ratings"}),
    "peak": ("peak = peak + 1", {"rebuilt-ratings"}),
    "title": ("title = 'Ninth Dan'", {"titles"}),
    "provisional": ("provisional = not provisional", {"titles"}),
    "last played": ("last_played_at = last_played_at + interval '1 second'", {"rebuilt-ratings"}),
    "steps of decay": ("idle_steps = idle_steps + 1", {"rebuilt-ratings"}),
    "games to requalify": ("requalify = requalify + 1", {"rebuilt-ratings"}),
    "games to come with the multiplier": ("boost = boost + 1", {"rebuilt-ratings"}),
    "restarted": ("restarted = restarted + 1", {"rebuilt-ratings"}),
}
IN_AN_INNER_ENTRY = {
    "before": ("before = before + 1", {"chains", "sums", "rebuilt-entries"}),
    "after": ("after = after + 1", {"chains", "sums", "rebuilt-entries"}),
    "delta": ("delta = delta + 1", {"sums", "zero-sums", "rebuilt-entries"}),
    "delta and after": ("delta = delta + 1, after = after + 1", {"chains", "zero-sums", "rebuilt-entries"}),
    "expected": ("expected = expected + 1e-15", {"rebuilt-entries"}),
    "K": ("k = k + 1", {"rebuilt-entries"}),
    "rule of K": ("k_rule = 'another'", {"rebuilt-entries"}),
    "weight": ("weight = 0.5", {"rebuilt-entries"}),
    "factors": ('factors = \'[["repeat-pair", 0.5, "so"]]\'', {"rebuilt-entries"}),
    "what bent it": ("adjusted = '[\"gap-cap\"]'", {"rebuilt-entries"}),
    "games": ("games = games + 1", {"tallies", "rebuilt-entries"}),
    "score": ("score = 1 - score", {"matches", "tallies", "rebuilt-entries"}),
    "time": ("occurred_at = occurred_at + interval '1 second'", {"matches", "rebuilt-entries"}),
    "opponent": ("opponent_rating_id = rating_id", {"matches", "rebuilt-entries"}),
    "rating of the opponent": ("opponent_before = opponent_before + 1", {"rebuilt-entries"}),
    "match": (f"match_id = {LAST_MATCH}", {"matches", "rebuilt-ratings"}),
    "reason": ("reason = 'floor'", {"matches", "tallies", "rebuilt-entries"}),
    "reason that there is not": ("reason = 'luck'", {"events", "matches", "tallies", "rebuilt-entries"}),
    "policy": ("policy_id = (select policy_id from policies where name = 'yiboard')", {"rebuilt-entries"}),
    "policy that there is not": ("policy_id = 99", {"policies", "rebuilt-ratings"}),
    "cause": ("cause = 's1'", {"rebuilt-entries"}),
}


NO_IDENTITY = "alter table ledger alter column entry_id drop identity"
AROUND = {
    "an entry is gone from a chain": (
        f"delete from ledger where entry_id = {INNER}",
        {"chains", "tallies", "matches", "rebuilt-entries"},
    ),
    "the last entry is gone": (
        f"delete from ledger where entry_id = {LAST}",
        {"standings", "tallies", "matches", "rebuilt-entries"},
    ),
    "the last entry is there again under the next version": (
        f"""{NO_IDENTITY}; insert into ledger select (jsonb_populate_record(
            l, jsonb_build_object('version', version + 1, 'entry_id', entry_id + 1000000)
        )).* from ledger l where entry_id = {LAST}""",
        {"chains", "matches", "standings", "tallies", "rebuilt-ratings"},
    ),
    "a fork, which an index that was broken let in": (
        f"""{NO_IDENTITY}; alter table ledger drop constraint ledger_pkey;
            insert into ledger select * from ledger where entry_id = {INNER}""",
        {"chains", "zero-sums", "tallies", "rebuilt-entries", "rebuilt-ratings"},
    ),
    "an entry is recorded in the wrong order": (
        f"{NO_IDENTITY}; update ledger set entry_id = entry_id + 1000000 where entry_id = {INNER}",
        {"chains", "standings", "tallies", "rebuilt-entries", "rebuilt-ratings"},
    ),
    "a match with another score": (
        f"update matches set lo_score = 1 - lo_score where match_id = {INNER_MATCH}",
        {"digests", "matches", "rebuilt-entries", "rebuilt-ratings"},
    ),
    "a match that finished later": (
        f"update matches set finished_at = finished_at + interval '1 second' where match_id = {INNER_MATCH}",
        {"digests", "matches", "rebuilt-entries"},
    ),
    "a match of a type that is not rated": (
        f"update matches set match_type = 'casual' where match_id = {INNER_MATCH}",
        {"digests", "rebuilt-entries", "rebuilt-ratings"},
    ),
    "a match that names another version": (
        f"update matches set lo_version = lo_version + 1 where match_id = {INNER_MATCH}",
        {"matches", "rebuilt-ratings"},
    ),
    "a match with steps of decay that are not there": (
        f"update matches set hi_steps = hi_steps + 1 where match_id = {INNER_MATCH}",
        {"matches"},
    ),
    "a match that is gone": (
        f"delete from matches where match_id = {LAST_MATCH}",
        {"matches", "rebuilt-ratings"},
    ),
    "a rated match that says it is not": (
        f"""update matches set lo_version = null, hi_version = null, unrated_reason = 'suspended'
            where match_id = {LAST_MATCH}""",
        {"matches", "unrated", "rebuilt-ratings"},
    ),
    "a match that is rated, without entries": (
        f"update matches set lo_version = 1, hi_version = 1, unrated_reason = null where match_id = {CASUAL}",
        {"matches"},
    ),
    "a reason that does not hold": (
        f"update matches set unrated_reason = 'unverified' where match_id = {CASUAL}",
        {"unrated"},
    ),
    "a void that is not marked": (f"update matches set voided = false where match_id = {VOIDED}", {"voids"}),
    "a mark without a void": (f"update matches set voided = true where match_id = {LAST_MATCH}", {"voids"}),
    "a void that gave back too much": (
        f"update ledger set delta = delta + 1, after = after + 1 where match_id = {VOIDED} and reason = 'void'",
        {"chains", "voids", "rebuilt-entries"},
    ),
    "a void that is gone": (
        f"delete from events where event_id = 'void:' || {VOIDED}",
        {"voids", "events", "rebuilt-ratings"},
    ),
    "a void that names nothing": (
        f"update events set changes = null where event_id = 'void:' || {VOIDED}",
        {"voids", "events", "rebuilt-ratings"},
    ),
    "an event that names an entry which is not there": (
        f"update events set changes = changes || '[[1, 999999]]' where event_id = 'void:' || {VOIDED}",
        {"events"},
    ),
    "a void that waits for a match that has come": (
        f"insert into waiting_voids (match_id) values ({VOIDED})",
        {"voids"},
    ),
    "a void that waits without an event": ("insert into waiting_voids (match_id) values ('nothing')", {"voids"}),
    "a void that does not wait": ("delete from waiting_voids", {"voids"}),
    "a sanction that took something else": (
        f"update sanctions set taken = jsonb_set(taken, '{{0,2}}', '-1') where sanction_id = {RESET}",
        {"sanctions", "rebuilt-entries"},
    ),
    "a sanction that differs from its event": (
        f"update sanctions set starts_at = starts_at - interval '1 day' where sanction_id = {RESET}",
        {"sanctions", "rebuilt-entries"},
    ),
    "a lift that is forgotten": (f"update sanctions set lifted_at = null where sanction_id = {LIFTED}", {"sanctions"}),
    "a sanction that is gone": (f"delete from sanctions where sanction_id = {SUSPENSION}", {"sanctions"}),
    "two matches of one place": (
        f"""update matches m set source_offset = o.source_offset from matches o
            where m.match_id = {INNER_MATCH} and o.match_id = {LAST_MATCH}""",
        {"sources"},
    ),
    "a player who is gone": (f"delete from ratings where rating_id = {LAST_PLAYER}", {"chains", "rebuilt-ratings"}),
    "a policy with another K": (
        "update policies set body = jsonb_set(body, '{k_factor,-1,k}', '31') where name = 'yiboard'",
        {"policies", "rebuilt-entries", "rebuilt-ratings"},
    ),
    "a policy that can't be read": ("update policies set body = '{}' where name = 'yiboard'", {"policies"}),
}


@pytest.mark.parametrize("case", AROUND)
async def test_what_belongs_together(written: Written, case: str) -> None:
    """What is missing, doubled or at odds with what is recorded elsewhere is found."""
    change, checks = AROUND[case]
    await finds(written, change, checks)


@pytest.mark.parametrize("case", IN_RATINGS)
async def test_where_a_player_stands(written: Written, case: str) -> None:
    """What is changed in `ratings` is found, whatever field it is."""
    change, checks = IN_RATINGS[case]
    await finds(written, f"update ratings set {change} where rating_id = {LAST_PLAYER}", checks)


@pytest.mark.parametrize("case", IN_AN_INNER_ENTRY)
async def test_an_entry(written: Written, case: str) -> None:
    """What is changed in one entry of a chain is found, whatever field it is."""
    change, checks = IN_AN_INNER_ENTRY[case]
    await finds(written, f"update ledger set {change} where entry_id = {INNER}", checks)


async def finds(written: Written, change: str, checks: set[str]) -> None:
    """Verify a copy of the database with a change in it; given checks find something, a little, and no others do."""
    async with copy_of(written) as pool, pool.acquire() as connection:
        status = await connection.execute(change)
        assert not status.endswith(" 0"), "changed nothing: the test would say nothing"
        report = await verify(connection)
    assert found(report).keys() == checks, found(report)
    assert report.findings <= 3 * len(checks) or "policies" in checks, found(report)
