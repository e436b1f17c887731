"""Running scenarios: many at a time through one real worker, on real Kafka and real Postgres.

Scenarios share a worker and a database and never meet, as every id starts with the scenario's. The records of a
scenario are sent in the order of its rows: those of one topic together, the next topic's when all of them are
committed. Topics have one partition here, so that rows are taken in the order in which they are written; scenarios take
turns and batches are small, so that a row finds what the rows above it did in Postgres.

The worker is a process of its own. Where housekeeping looks, at a time that a scenario says, a housekeeper in this
process takes over its lead, as that of another worker would.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from tests.scenarios.collecting import Played, collect
from tests.scenarios.comparing import check_tables
from tests.scenarios.events import Look, Sent, Story
from tests.scenarios.policies import Policies, own_versions
from tests.scenarios.values import LOOK
from tests.support.kafka import produce, until_all_committed
from tests.support.processes import WorkerProcess
from tests.support.waiting import until
from worker.housekeeping.housekeeper import Housekeeper
from worker.housekeeping.integrity import Integrity
from worker.housekeeping.tasks import Inactivity, TellPolicies
from worker.ledger.errors import ClaimLostError
from worker.ledger.ledger import Ledger
from worker.ledger.migrate import migrate
from worker.ops.metrics import Metrics
from worker.policies import load_policies
from worker.records import Translator
from worker.retrying import PASSING_FAULTS
from worker.settings import Settings
from worker.stream.errors import BatchLostError
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from deploy.local import Stack
    from tests.scenarios.reading import Scenario


@dataclass(frozen=True)
class Prepared:
    """A scenario that can be run.

    Attributes:
        scenario: As it was read.
        story: What is sent.
    """

    scenario: Scenario
    story: Story

    def __str__(self) -> str:
        return str(self.scenario)


def prepare(scenario: Scenario) -> Prepared:
    """Make the records of a scenario, and look through its tables and its policy.

    Raises:
        ScenarioError: Something in it can't be read.
    """
    own = own_versions(scenario)
    story = Story(scenario, lambda pool: f"{scenario.prefix}/{pool}" if own else pool)
    check_tables(scenario, story.clock)
    return Prepared(scenario, story)


def arenas(prepared: Sequence[Prepared]) -> list[list[Prepared]]:
    """Put together the scenarios that may share a database: those whose housekeeping looks at the same times."""
    found: dict[tuple[datetime, ...], list[Prepared]] = {}
    for one in prepared:
        looks = tuple(step.at for step in one.story.steps if isinstance(step, Look))
        found.setdefault(looks, []).append(one)
    return list(found.values())


async def play(stack: Stack, arena: Sequence[Prepared], folder: Path) -> Played:
    """Run the scenarios of an arena and give what came out of each.

    Args:
        stack: Real Kafka and real Postgres.
        arena: See `arenas`.
        folder: For the policies and the worker's log.
    """
    policies = Policies(folder)
    for one in arena:
        policies.add(one.scenario)
    settings = await _fresh(stack, policies, len(arena))
    loaded = load_policies(settings.pools_file, settings.policy_files)
    moments: list[datetime] = [LOOK]
    async with WorkerProcess(settings, folder / "worker.log") as worker:
        ledger = await Ledger.open(settings, loaded)
        keeper = Housekeeper(
            settings.model_copy(update={"instance_id": "keeper", "housekeeping_interval_s": 1.0}),
            ledger,
            Translator(settings, loaded),
            [TellPolicies(loaded), Inactivity(loaded), Integrity(loaded)],
            Metrics(CollectorRegistry()),
            clock=lambda: moments[0],
        )
        try:
            await worker.until_logged("partitions assigned")
            await until(lambda: _is_out_of_the_way(worker, ledger, settings), 60, worker.tail)
            for batch in _batches([one.story for one in arena]):
                if isinstance(batch, Look):
                    moments[0] = batch.at
                    await _look(keeper, ledger, settings, batch.at)
                else:
                    await _send(settings, batch)
            moments[0] = LOOK
            await _look(keeper, ledger, settings, LOOK)
            assert await keeper.turn(asyncio.Event()) == 0, "a second look of the same day found something to do"
            worker.send(signal.SIGTERM)
            assert await worker.until_ended() == 0, worker.tail()
            return await collect(settings, ledger, [one.scenario for one in arena], policies)
        finally:
            await ledger.close()


async def _fresh(stack: Stack, policies: Policies, batch: int) -> Settings:
    """Make a database and topics, for a worker that takes so many records in a batch."""
    name = f"scenarios_{secrets.token_hex(3)}"
    settings = Settings(
        kafka_bootstrap=stack.bootstrap,
        database_url=stack.create_database(name),
        consumer_group=f"{name}.group",
        match_topic=f"{name}.matches",
        verdict_topic=f"{name}.verdicts",
        tournament_topic=f"{name}.tournaments",
        rating_topic=f"{name}.ratings",
        notice_topic=f"{name}.notices",
        http_port=0,
        session_timeout_ms=6_000,
        batch_max_records=batch,
        batch_max_wait_ms=20,
        housekeeping_interval_s=86_400.0,
        pools_file=policies.write_pools(),
        policy_files=policies.files(),
    )
    await migrate(settings.database_url.get_secret_value())
    await create_topics(settings, partitions=1)
    return settings


def _batches(stories: Sequence[Story]) -> Iterator[list[Sent] | Look]:
    """Put stories with the same looks of housekeeping together, each cut where it turns to another topic.

    The stories take turns, record by record, so that the rows of one come to the worker in different batches.
    """
    looks = [step for step in stories[0].steps if isinstance(step, Look)]
    for place, together in enumerate(zip(*map(_stretches, stories), strict=True)):
        for stretches in zip_longest(*together, fillvalue=()):
            yield [sent for turn in zip_longest(*stretches) for sent in turn if sent is not None]
        yield from looks[place : place + 1]


def _stretches(story: Story) -> list[list[list[Sent]]]:
    """Give what a story sends before, between and after the looks, in stretches of one topic."""
    found: list[list[list[Sent]]] = [[]]
    for _, steps in groupby(story.steps, key=lambda step: step.topic if isinstance(step, Sent) else None):
        sent = [step for step in steps if isinstance(step, Sent)]
        if sent:
            found[-1].append(sent)
        else:
            found.append([])
    return found


async def _send(settings: Settings, batch: Sequence[Sent]) -> None:
    """Send records and wait until they are done with."""
    topics = {
        "match": settings.match_topic,
        "verdict": settings.verdict_topic,
        "tournament": settings.tournament_topic,
    }
    for name, topic in topics.items():
        records = [sent.record for sent in batch if sent.topic == name]
        if records:
            await produce(settings, records, topic)
    await until_all_committed(settings, topics=settings.input_topics)


async def _look(keeper: Housekeeper, ledger: Ledger, settings: Settings, at: datetime) -> None:
    """Let housekeeping look, as soon as it may have the lead; what passes by itself puts it off, as in a worker."""

    async def looked() -> bool:
        with suppress(*PASSING_FAULTS, BatchLostError, ClaimLostError):
            await keeper.turn(asyncio.Event())
        return await _position(ledger, settings) == at.date().isoformat()

    await until(looked, 60, lambda: f"housekeeping has not looked on {at:%Y-%m-%d}")


async def _is_out_of_the_way(worker: WorkerProcess, ledger: Ledger, settings: Settings) -> bool:
    """Tell whether the worker's own housekeeping has looked, or has put it off: its next look would come in a day."""
    return worker.has_logged("housekeeping is put off") or await _position(ledger, settings) is not None


async def _position(ledger: Ledger, settings: Settings) -> str | None:
    """Give the day of the last look for inactive players that is done."""
    async with ledger.connection() as connection:
        day: str | None = await connection.fetchval(
            "select position->>'day' from progress where consumer_group = $1 and task = 'inactivity' "
            "and (position->>'done')::boolean",
            f"{settings.consumer_group}.housekeeping",
        )
    return day
