"""Housekeeping on real services: each thing once, by one worker at a time, whoever dies between its two commits."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from tests.integration.test_cli_check import configure_topic
from tests.integration.test_ledger import apply, arrivals
from tests.support.kafka import read_all
from tests.support.matches import START, stream
from tests.support.waiting import until
from tests.unit.rating.examples import YIBOARD
from worker.housekeeping import integrity, tasks
from worker.housekeeping.housekeeper import Housekeeper
from worker.housekeeping.integrity import Integrity
from worker.housekeeping.tasks import Inactivity, TellPolicies
from worker.ledger.ledger import Ledger
from worker.ledger.rounds import Done
from worker.ops.metrics import Metrics
from worker.policies import load_policies
from worker.rating.book import Book
from worker.rating.model import Match, Side
from worker.rating.notices import policy_changed
from worker.records import Translator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from worker.housekeeping.tasks import Task
    from worker.ledger.rounds import Round
    from worker.settings import Settings

POLICIES = load_policies(None, ())
LATER = START + timedelta(days=300)


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Give a ledger on a fresh database, with players of shax who have played and gone."""
    opened = await Ledger.open(settings, POLICIES)
    await apply(opened, arrivals(matches()))
    yield opened
    await opened.close()


def matches() -> list[Any]:
    """Give matches that lift some players well above where decay ends."""
    return [
        match._replace(sides=(match.sides[0]._replace(score=1.0), match.sides[1]._replace(score=0.0)), verified=True)
        for match in stream(400, players=12, seed=3, pools=("shax",))
    ]


def housekeeper(
    settings: Settings,
    ledger: Ledger,
    now: datetime,
    instance: str = "one",
    *,
    todo: Sequence[Task] | None = None,
    interval_s: float = 600.0,
) -> Housekeeper:
    """Give a housekeeper to whom it is `now`."""
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 - only here

    return Housekeeper(
        settings.model_copy(update={"instance_id": instance, "housekeeping_interval_s": interval_s}),
        ledger,
        Translator(settings, POLICIES),
        todo or [TellPolicies(POLICIES), Inactivity(POLICIES), Integrity(POLICIES)],
        Metrics(CollectorRegistry()),
        clock=lambda: now,
    )


def owed(until: datetime) -> tuple[list[Any], list[Any]]:
    """Give the changes and notices that the core says are owed by then."""
    book = Book(POLICIES)
    for match in matches():
        book.rate(match)
    changes: list[Any] = []
    notices: list[Any] = []
    for pool, player in sorted(book.states):
        its_changes, its_notices = book.age(pool, player, until)
        changes += its_changes
        notices += its_notices
    return changes, notices


async def published(settings: Settings, topic: str, reason: str | None = None) -> list[Any]:
    """Give what an independent reader sees on a topic, of one reason where that is given."""
    events = [record.json() for record in await read_all(settings, topic)]
    return [event for event in events if reason is None or event["reason"] == reason]


@pytest.mark.parametrize("at_once", [300, 5])
async def test_absence_is_marked_and_costs_points_once(
    settings: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """A sweep publishes each owed step and each mark once, and a second sweep of the day finds nothing to do.

    However many players it ages in one piece.
    """
    monkeypatch.setattr(tasks, "_ABSENT", at_once)
    changes, notices = owed(LATER)
    assert changes, "nobody owes anything: the test would say nothing"
    assert notices
    stop = asyncio.Event()
    keeper = housekeeper(settings, ledger, LATER)
    assert await keeper.turn(stop) > 0
    assert await keeper.turn(stop) == 0
    events = await published(settings, settings.rating_topic, "inactivity")
    key = ("pool", "player_id", "version", "before", "after", "reason")
    assert sorted(tuple(event[name] for name in key) for event in events) == sorted(
        (c.pool, c.player_id, c.version, c.before, c.after, c.reason) for c in changes
    )
    told = await read_all(settings, settings.notice_topic)
    kinds = [record.header("ce_type") for record in told]
    assert sum("player-inactive" in (kind or "") for kind in kinds) == len(notices)
    assert sum("policy-changed" in (kind or "") for kind in kinds) == 1  # fide, version 2
    async with ledger.connection() as connection:
        assert await connection.fetchval("select count(*) from leaderboard") == 0
        assert await connection.fetchval("select bool_and(inactive) from ratings where version > 0")


class Telling:
    """A task that tells of two policies, one with a reason that is longer than its topic takes."""

    name = "telling"

    async def piece(self, round_: Round, now: datetime) -> Done | None:
        """Tell one after the other, each in a round of its own."""
        known = await round_.connection.fetchval("select count(*) from notices")
        if known == 2:
            return None
        name, reason = (("long", secrets.token_hex(20_000)), ("short", "because"))[known]
        notice = policy_changed(YIBOARD.model_copy(update={"name": name, "valid_from": START, "reason": reason}))
        assert notice is not None
        return Done([], [notice], {}, {}, now)


async def test_a_notice_that_is_too_large_for_ever_holds_nobody_up(settings: Settings, ledger: Ledger) -> None:
    """It is left out and told as an error; what comes after it is published."""
    await configure_topic(settings, settings.notice_topic, max_message_bytes="10000")
    keeper = housekeeper(settings, ledger, LATER, todo=[Telling()], interval_s=1.0)
    stop = asyncio.Event()

    async def published_one() -> bool:
        return [record.key for record in await read_all(settings, settings.notice_topic)] == [b"short"]

    with capture_logs() as logs:
        running = asyncio.create_task(keeper.run(stop))
        await until(published_one, 60, lambda: str(logs))
        stop.set()
        await running
    [told] = [line for line in logs if line["log_level"] == "error"]
    assert (told["subject"], told["topic"]) == ("long", settings.notice_topic)
    assert told["bytes"] > 40_000


def test_entries_are_settled_after_the_longest_batch() -> None:
    """Where batches may take longer, signals wait for longer, and never for less than two minutes."""
    for longest_s, minutes in ((1, 2), (60, 2), (300, 10)):
        assert Integrity(POLICIES, timedelta(seconds=longest_s))._settled_after == timedelta(minutes=minutes)


async def test_when_the_sweep_runs_does_not_matter(settings: Settings, ledger: Ledger) -> None:
    """Sweeps on many days lead to the same ratings and the same changes as one late sweep."""
    stop = asyncio.Event()
    for days in (89, 90, 119, 121, 122, 200, 260):
        keeper = housekeeper(settings, ledger, START + timedelta(days=days))
        await keeper.turn(stop)
        await keeper.leave()  # then whoever comes next need not wait for the lease to end
    await housekeeper(settings, ledger, LATER).turn(stop)
    changes, _ = owed(LATER)
    events = await published(settings, settings.rating_topic, "inactivity")
    assert {(e["player_id"], e["version"], e["after"]) for e in events} == {
        (c.player_id, c.version, c.after) for c in changes
    }
    assert len(events) == len(changes)


async def test_a_round_that_was_not_published_is_published_by_the_next_leader(
    settings: Settings, ledger: Ledger
) -> None:
    """A housekeeper that died between its two commits loses and doubles nothing: the next one publishes its round."""
    dying = housekeeper(settings, ledger, LATER, "dying")
    await dying._claims.take([(settings.notice_topic, 0)], _nobody)
    async with dying._rounds.open() as round_:  # committed to Postgres, and never to Kafka
        done = await Inactivity(POLICIES).piece(round_, LATER)
        assert done is not None
        number, _ = await round_.record("inactivity", done)
    assert number == 1
    assert await published(settings, settings.rating_topic) == []
    stop = asyncio.Event()
    assert await housekeeper(settings, ledger, LATER, "heir").turn(stop) == 0, "the lead is held as long as the lease"
    async with ledger.connection() as connection:
        await connection.execute("update partition_claims set claimed_at = now() - interval '2 hours'")
    assert await housekeeper(settings, ledger, LATER, "heir").turn(stop) >= 2  # that round, the policies, maybe signals
    changes, _ = owed(LATER)
    events = await published(settings, settings.rating_topic, "inactivity")
    assert len(events) == len(changes)
    assert len({event["event_id"] for event in events}) == len(changes)


async def _nobody(owner: str) -> None:
    raise AssertionError(f"{owner} holds nothing that would have to be fenced")


class Endless:
    """A task that is never done."""

    name = "endless"

    def __init__(self) -> None:
        self.pieces = 0

    async def piece(self, round_: Round, now: datetime) -> Done | None:  # noqa: ARG002 - it reads nothing
        """Count."""
        self.pieces += 1
        return Done([], [], {}, {}, now)


async def test_a_task_that_is_far_behind_holds_no_other_up(settings: Settings, ledger: Ledger) -> None:
    """After some intervals of work the next task has its turn, and the turn does not count as finished."""
    first, second = Endless(), Endless()
    keeper = housekeeper(settings, ledger, LATER, todo=[first, second], interval_s=0)
    await keeper.turn(asyncio.Event())
    assert (first.pieces, second.pieces) == (1, 1)
    finished = keeper._metrics.housekeeping._finished
    assert finished._value.get() == 0


@pytest.mark.parametrize(("in_backlog", "rest_s"), [(True, 18.0), (False, 2.0)])
async def test_housekeeping_leaves_more_to_matches_that_wait(
    settings: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, rest_s: float, *, in_backlog: bool
) -> None:
    """A piece of two seconds is followed by eighteen of rest in a backlog, by as much as it took otherwise."""
    keeper = housekeeper(settings, ledger, LATER)
    keeper._in_backlog = lambda: in_backlog
    rests: list[float] = []
    timeout = asyncio.timeout

    def noted(seconds: float) -> asyncio.Timeout:
        rests.append(seconds)
        return timeout(0)  # nobody waits for it here

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "timeout", noted)
        await keeper._rest(2.0, asyncio.Event())
    assert rests == [rest_s]


async def test_a_stop_ends_the_rest_after_a_piece(settings: Settings, ledger: Ledger) -> None:
    """However long the piece took: a worker that is told to stop does not wait for housekeeping."""
    stop = asyncio.Event()
    resting = asyncio.create_task(housekeeper(settings, ledger, LATER)._rest(1e6, stop))
    stop.set()
    await resting


@pytest.mark.parametrize("heirs", [False, True])
@pytest.mark.parametrize("at_once", [50, 3])
async def test_what_looks_like_boosting_and_win_trading_is_flagged_once(
    settings: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, at_once: int, *, heirs: bool
) -> None:
    """A new account that loses again and again to one player, and a pair that takes turns, are told of once.

    However many players are looked at in one piece, and if the next piece is another leader's.
    """
    monkeypatch.setattr(integrity, "_PLAYERS", at_once)
    games = [
        Match(f"boost-{n}", "yi", START + timedelta(minutes=n), (Side("booster", 1.0), Side("fresh", 0.0)))
        for n in range(6)
    ]
    games += [
        Match(f"trade-{n}", "yi", START + timedelta(minutes=n), (Side("left", n % 2), Side("right", 1 - n % 2)))
        for n in range(8)
    ]
    games += [
        Match(f"fair-{n}", "yi", START + timedelta(minutes=n), (Side("one", 1.0), Side(f"other-{n}", 0.0)))
        for n in range(8)
    ]
    await apply(ledger, arrivals(games, first_offset=5_000))
    now, stop = datetime.now(UTC) + timedelta(minutes=10), asyncio.Event()
    while heirs:
        keeper = housekeeper(settings, ledger, now, secrets.token_hex(2), todo=[Integrity(POLICIES)], interval_s=0)
        await keeper.turn(stop)
        await keeper.leave()
        if keeper._metrics.housekeeping._finished._value.get():
            break
    keeper = housekeeper(settings, ledger, now)
    await keeper.turn(stop)
    await keeper.turn(stop)
    told = await read_all(settings, settings.notice_topic)
    flags = [record.json() for record in told if "integrity-flagged" in (record.header("ce_type") or "")]
    cases = sorted((flag["signal"], flag["player_id"], flag["opponent_id"]) for flag in flags if flag["pool"] == "yi")
    assert cases == [("boosting", "fresh", "booster"), ("win-trading", "left", "right")]
