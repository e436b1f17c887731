"""The command line on a real Kafka and a real Postgres: matches in, ratings out."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka import produce, read_all, record_of, until_all_committed
from tests.support.matches import START, stream
from tests.support.running import running
from tests.support.waiting import until
from tests.unit.cli.processes import cli, seen, sql, start, start_into
from worker.cli.watching import lag
from worker.events import encode_event, encode_match, pair_key
from worker.ledger import reads
from worker.ledger.ledger import open_pool
from worker.ledger.reads.explanation import explain
from worker.rating.model import Match, Sanction, SanctionKind, Side, Void

if TYPE_CHECKING:
    from worker.rating.model import Event
    from worker.settings import Settings


@pytest.fixture
async def ready(settings: Settings) -> Settings:
    """Settings whose topics the broker shows."""
    return await seen(settings)


MATCHES = stream(300, players=8, seed=3, pools=("yi",))


async def test_produce(ready: Settings) -> None:
    """Lines go as they are, keyed by their pair, with CloudEvents headers; bad ones are told and left out."""
    matches = MATCHES
    given = b"".join(encode_match(match) + b"\n" for match in matches) + b"no match\n"
    sent = await cli(ready, "produce", "-", stdin=given)
    assert sent.code == 65
    assert sent.err.splitlines()[0].startswith("line 301: refused, not-json")
    assert sent.err.splitlines()[1] == "300 sent, 1 refused."
    records = await read_all(ready, ready.match_topic)
    assert sorted(record.key or b"" for record in records) == sorted(
        pair_key(match.pool, *(side.id for side in match.sides)) for match in matches
    )
    assert {record.value for record in records} == {encode_match(match) for match in matches}
    assert {record.header("ce_type") for record in records} == {"org.rating-worker.match-finished.v1"}
    assert {record.header("ce_id") for record in records} == {match.match_id for match in matches}


async def test_produce_finds_conflicts_within_a_file(ready: Settings) -> None:
    """A match that comes again with other content is refused before it is sent; the same once more is sent."""
    one = MATCHES[0]
    other = one._replace(sides=(one.sides[0]._replace(score=1.0), one.sides[1]._replace(score=0.0)))
    other = other if other != one else one._replace(verified=not one.verified)
    given = b"\n".join(map(encode_match, (one, one, other)))
    sent = await cli(ready, "produce", stdin=given)
    assert sent.code == 65
    assert f"line 3: refused, conflict: match '{one.match_id}' came in line 1 with other content" in sent.err
    assert [record.value for record in await read_all(ready, ready.match_topic)] == [encode_match(one)] * 2


async def rate_all(settings: Settings) -> None:
    """Produce the matches and let a worker rate them."""
    assert (await cli(settings, "produce", stdin=b"\n".join(map(encode_match, MATCHES)))).code == 0
    async with running(settings):
        await until_all_committed(settings)


async def test_leaderboard(ready: Settings) -> None:
    """The leaderboard has every established player, by rating; its pages, one after the other, are the whole."""
    await rate_all(ready)
    rows = await sql(
        ready,
        "select json_agg(json_build_object('player_id', player_id, 'rating', rating, 'wins', wins) "
        "order by rating desc, rating_id desc) from ratings where not provisional",
    )
    expected = json.loads(rows)
    board = (await cli(ready, "leaderboard", "yi", "--json")).json()
    assert [{key: one[key] for key in expected[0]} for one in board["players"]] == expected
    assert [one["rank"] for one in board["players"]] == list(range(1, len(expected) + 1))
    assert board["after"] is None
    paged: list[str] = []
    after: list[str] = []
    while True:
        page = (await cli(ready, "leaderboard", "yi", "--limit", 3, "--json", *after)).json()
        paged += [one["player_id"] for one in page["players"]]
        if page["after"] is None:
            break
        after = ["--after", page["after"]]
    assert paged == [one["player_id"] for one in expected]
    shown = await cli(ready, "leaderboard", "yi", "--limit", 2)
    assert expected[0]["player_id"] in shown.out
    assert "More: --after " in shown.out


async def test_player_and_explain(ready: Settings) -> None:
    """A player's history is the ledger's chain; explain shows its numbers, and why a match is not rated."""
    await rate_all(ready)
    best = (await cli(ready, "leaderboard", "yi", "--json", "--limit", 1)).json()["players"][0]["player_id"]
    player = (await cli(ready, "player", best, "--json", "--limit", 5)).json()
    [pool] = player["pools"]
    assert pool["rating"] == await sql(ready, "select rating from ratings where player_id = $1", best)
    history = pool["history"]
    assert len(history) == 5
    assert history[0]["after"] == pool["rating"]
    assert [one["before"] for one in history[:-1]] == [one["after"] for one in history[1:]]
    assert history[0]["match_id"] in (await cli(ready, "player", best, "--pool", "yi")).out

    explained = (await cli(ready, "explain", history[0]["match_id"], "--json")).json()
    assert explained["consistent"] is True
    [change] = next(one for one in explained["players"] if one["player_id"] == best)["changes"]
    assert change["after"] == pool["rating"]
    assert explained["source"]["topic"] == ready.match_topic
    text = (await cli(ready, "explain", history[0]["match_id"])).out
    assert "the same, to the last bit" in text

    unrated = next(match.match_id for match in MATCHES if not match.verified)
    told = await cli(ready, "explain", unrated)
    assert told.code == 0
    assert "Not rated: unverified" in told.out


async def test_output_that_can_t_be_written(ready: Settings) -> None:
    """What reads from Postgres or Kafka ends quietly where its reader has gone, and says so where there is no room."""
    await rate_all(ready)
    reading, closed = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    best = (await cli(ready, "leaderboard", "yi", "--json")).json()["players"][0]["player_id"]
    commands = ["leaderboard yi", f"player {best}", f"explain {MATCHES[0].match_id}", "topics", "check --json"]
    for command in [*commands, f"sanctions {best}", f"integrity {best}", "policy list --database"]:
        for stdout, code in ((closed, 141), (full, 74)):
            process = await start_into(stdout, ready, *command.split())
            _, err = await process.communicate()
            assert process.returncode == code, (command, err)
            assert len(err.splitlines()) == (code == 74), (command, err)
    os.close(closed)
    os.close(full)


async def test_a_ledger_that_was_tampered_with(ready: Settings) -> None:
    """A number in the ledger that the rules don't give is told loudly, and the command ends with 65."""
    await rate_all(ready)
    match_id = await sql(ready, "select match_id from ledger order by entry_id desc limit 1")
    assert (await cli(ready, "explain", match_id)).code == 0
    await sql(ready, "update ledger set k = k * 2 where match_id = $1", match_id)
    forged = await cli(ready, "explain", match_id)
    assert forged.code == 65
    assert "CONTRADICTION" in forged.out
    assert "contradicts its own rules" in forged.err


async def until_taken(settings: Settings, *events: Event) -> None:
    """Produce events and wait until a worker has taken all of them."""
    sent = await cli(settings, "produce", stdin=b"\n".join(map(encode_event, events)))
    assert (sent.code, sent.err) == (0, f"{len(events)} sent.\n")

    async def taken() -> bool:
        return await lag(settings) == 0

    await until(taken, 60)


async def test_what_voids_and_verdicts_did_can_be_explained(ready: Settings) -> None:
    """Whatever happened to matches and players since, each match is explained by what held when it was rated."""
    later = START + timedelta(days=1)
    voided, suspended = MATCHES[10:140:7], MATCHES[0].sides[0].id
    async with running(ready):
        await until_taken(ready, *MATCHES[:150])
        await until_taken(
            ready, *(Void(one.match_id, "yi", players(one), later, "arranged", "the desk") for one in voided)
        )
        await until_taken(ready, *MATCHES[150:])
        sanction = Sanction("s1", suspended, SanctionKind.SUSPENSION, START, None, None, "insults", "the desk")
        await until_taken(ready, sanction)
        on_board = (await cli(ready, "leaderboard", "yi", "--json")).json()["players"]
        assert suspended not in {one["player_id"] for one in on_board}
        barred = MATCHES[0]._replace(match_id="barred", finished_at=later)
        reset = Sanction("s2", MATCHES[0].sides[1].id, SanctionKind.RESET, later, None, None, "cheating", "the desk")
        await until_taken(ready, barred, reset)

    pool = await open_pool(ready)
    async with pool.acquire() as connection:
        for match in MATCHES:
            record = await reads.match_record(connection, match.match_id)
            assert record is not None
            assert explain(record).contradictions == []
    await pool.close()
    told = await cli(ready, "explain", next(one.match_id for one in voided if one.verified))
    assert told.code == 0
    assert "by the desk: arranged" in told.out
    assert "the match was voided: it no longer counts" in told.out
    told = await cli(ready, "explain", "barred")
    assert f"Not rated: suspended: {suspended} was suspended when it was played" in told.out
    shown = (await cli(ready, "player", MATCHES[0].sides[1].id, "--limit", 300)).out
    assert "reset" in shown
    assert "void" in shown


async def test_what_an_absence_did_is_explained(ready: Settings) -> None:
    """Points lost by not playing are told apart from the match before which they came due, and K's boost after it."""
    begun = datetime(2025, 1, 1, tzinfo=UTC)
    games = [
        Match(f"m{number}", "shax", begun + timedelta(hours=number), (Side("ann", 1.0), Side(f"b{number}", 0.0)))
        for number in range(30)
    ]
    back = Match("back", "shax", begun + timedelta(days=250), (Side("ann", 0.0), Side("c", 1.0)))
    # On one partition before the worker starts, so in one batch: else housekeeping may come between.
    await produce(ready, [record_of(match)._replace(partition=0) for match in (*games, back)])
    async with running(ready):
        await until_all_committed(ready)
    told = await cli(ready, "explain", "back")
    assert "for not playing, due before this match" in told.out
    assert "the same, to the last bit" in told.out
    assert "inactivity" in (await cli(ready, "player", "ann")).out


def players(match: Match) -> tuple[str, str]:
    """Name the two of a match."""
    one, other = match.sides
    return one.id, other.id


async def test_what_is_not_there(settings: Settings) -> None:
    """A pool, a player or a match that the ledger does not know ends with 1 and says where else to look."""
    pool = await cli(settings, "leaderboard", "yi")
    assert (pool.code, pool.out) == (1, "")
    assert pool.err == "Nobody has played in pool yi; nor in any other: the ledger is empty.\n"
    player = await cli(settings, "player", "ann", "--pool", "yi")
    assert (player.code, player.err) == (1, "Player ann has no match in pool yi.\n")
    match = await cli(settings, "explain", "m1")
    assert match.code == 1
    assert "`rating-worker dead-letters list --text m1`" in match.err


async def test_produce_raw(ready: Settings) -> None:
    """With --no-validate every line is sent as it is, to the topic that is named, keyed where a key can be found."""
    lines = [b'{"pool":"yi","players":[{"id":"b"},{"id":"a"}]}', b"junk", b'{"pool":1}']
    sent = await cli(ready, "produce", "--no-validate", "--topic", ready.dead_letter_topic, stdin=b"\n".join(lines))
    assert (sent.code, sent.err) == (0, "3 sent.\n")
    records = await read_all(ready, ready.dead_letter_topic)
    assert sorted((record.key or b"", record.value or b"") for record in records) == sorted(
        [(b"yi|a|b", lines[0]), (b"", lines[1]), (b"", lines[2])]
    )


async def test_produce_passes_on_what_comes_slowly(ready: Settings) -> None:
    """A line that is written into a pipe is in the topic before the next one is."""
    process = await start(ready, "produce")
    assert process.stdin
    for number, match in enumerate(stream(3, players=4, seed=1, pools=("yi",)), start=1):
        process.stdin.write(encode_match(match) + b"\n")
        await process.stdin.drain()

        async def arrived(wanted: int = number) -> bool:
            return len(await read_all(ready, ready.match_topic)) == wanted

        await until(arrived, 60)
    process.stdin.close()
    assert await process.wait() == 0


async def test_produce_a_line_that_the_topic_refuses(ready: Settings) -> None:
    """A line that is larger than the topic takes is told as what it is."""
    ended = await cli(ready, "produce", "--no-validate", stdin=b64encode(os.urandom(1_500_000)))
    assert ended.code == 65
    assert "larger than the topic takes" in ended.err
