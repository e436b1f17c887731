"""`python -m tests.faults.soak`: many matches, many faults, and a checker that trusts nothing of the worker.

Everything is drawn from one seed. While matches come (with duplicates, conflicts, wrongly keyed and poisoned records
among them), workers are killed, stopped, frozen past their session and woken, the broker and the database go and come.
In the end what was produced, the database and the output topics are compared by independent clients.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from rich.console import Console
from rich.table import Table

from deploy.local import Stack
from tests.faults.chaos import Chaos
from tests.support.checker import Findings, check
from tests.support.kafka import Raw, produce, read_all, record_of, uncommitted, until_all_committed
from tests.support.matches import stream
from worker.ledger.migrate import migrate
from worker.settings import Delivery, Settings
from worker.stream.topics import create_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.rating.model import Match

_BUGS = ("Traceback", "was never retrieved", "Task was destroyed", "a bug, please report")


@dataclass(frozen=True)
class Plan:
    """What a soak does; the same plan does the same faults in the same order.

    Attributes:
        seed: Of all that is drawn.
        matches: How many different matches are sent.
        kills: How often a worker is killed, half of them at a named step of the loop.
        zombies: How often one is frozen until others have taken over.
        stops: How often one is stopped in order.
        broker: How often the broker is interrupted.
        database: How often the database is.
    """

    seed: int
    matches: int
    kills: int
    zombies: int
    stops: int
    broker: int
    database: int
    workers: int = 3
    players: int = 2_000
    partitions: int = 6
    delivery: Delivery = Delivery.EXACTLY_ONCE


@dataclass
class Sent:
    """What went to the match topic."""

    matches: list[Match] = field(default_factory=list)
    records: int = 0
    dead: Counter[bytes] = field(default_factory=Counter)  # what must become a dead letter, by its value


@dataclass
class Outcome:
    """What a soak found."""

    findings: Findings
    done: Counter[str]
    sent: Sent
    letters_missing: int
    letters_twice: int
    bugs: list[str]
    repaired: int
    seconds: float

    def wrong(self, delivery: Delivery) -> dict[str, object]:
        """Give what must not be, empty where all is well."""
        wrong: dict[str, object] = dict(self.findings.wrong(but="out_of_order"))
        if delivery is Delivery.AT_LEAST_ONCE:  # repeats are allowed; that they are the same `unequal` tells
            wrong.pop("published_twice", None)
        if self.letters_missing:
            wrong["dead letters missing"] = self.letters_missing
        if self.letters_twice and delivery is Delivery.EXACTLY_ONCE:
            wrong["dead letters twice"] = self.letters_twice
        if self.bugs:
            wrong["bugs in logs"] = self.bugs[:3]
        return wrong


class Soak:
    """One run of a plan on servers of its own."""

    def __init__(self, plan: Plan, settings: Settings, stack: Stack, logs: Path) -> None:
        self._plan = plan
        self._settings = settings
        self._chance = random.Random(plan.seed)
        self._chaos = Chaos(settings, stack, logs, random.Random(plan.seed + 1))
        self._stream = self._matches()
        self._sent = Sent()

    async def run(self) -> Outcome:
        """Do the faults one after the other, matches coming all the while, and check what came of it."""
        started = time.monotonic()
        faults = self._faults()
        share = max(1, self._plan.matches // (len(faults) + 1))
        try:
            await self._chaos.start(self._plan.workers)
            for number, fault in enumerate(faults):
                await self._feed(share)
                await self._until_somewhere_in(share)
                await self._do(fault)
                print(f"{number + 1}/{len(faults)} {fault}", file=sys.stderr, flush=True)  # noqa: T201
            await self._feed(self._plan.matches - len(self._sent.matches))
            await until_all_committed(self._settings, timeout_s=300)
            codes = await self._chaos.stop()
            assert set(codes) == {0}, f"exit codes {codes}"
        finally:
            await self._chaos.abandon()
        return await self._outcome(time.monotonic() - started)

    def _faults(self) -> list[str]:
        plan = self._plan
        kills = ["kill"] * (plan.kills - plan.kills // 2) + ["kill at a step"] * (plan.kills // 2)
        others = ["zombie"] * plan.zombies + ["stop"] * plan.stops
        faults = [*kills, *others, *["broker"] * plan.broker, *["database"] * plan.database]
        self._chance.shuffle(faults)
        return faults

    async def _do(self, fault: str) -> None:
        chaos = self._chaos

        async def feed() -> None:
            if await uncommitted(self._settings) == 0:  # or the worker would never come to its step
                await self._feed(50)

        match fault:
            case "kill":
                await chaos.kill()
            case "kill at a step":
                await chaos.kill_at_a_step(feed)
            case "zombie":
                await chaos.zombie_at_a_step(feed, lambda: until_all_committed(self._settings, timeout_s=120))
            case "stop":
                await chaos.terminate()
            case "broker":
                await chaos.interrupt_kafka()
            case "database":
                await chaos.interrupt_postgres()

    async def _feed(self, how_many: int) -> None:
        """Send the next matches, and among them what badly behaved backends send."""
        records: list[Raw] = []
        for match in islice(self._stream, max(0, how_many)):
            self._sent.matches.append(match)
            record = record_of(match)
            if self._chance.random() < 0.05:  # wrongly keyed
                record = record._replace(key=str(self._chance.random()).encode())
            records.append(record)
            if self._chance.random() < 0.05:  # sent twice, by whatever key
                records.append(record._replace(key=self._chance.choice((record.key, b"other"))))
            if self._chance.random() < 0.01:  # another result under the same id, behind the first on its partition
                one, other = match.sides
                liar = match._replace(sides=(one._replace(score=other.score), other._replace(score=one.score)))
                if liar != match:
                    records.append(record_of(liar)._replace(key=record.key))
                    self._sent.dead[records[-1].value or b""] += 1
            if self._chance.random() < 0.01:  # poison
                poison = b"poison %d" % len(self._sent.matches)
                records.append(Raw(record.key, poison))
                self._sent.dead[poison] += 1
        if records:
            self._sent.records += await produce(self._settings, records)

    def _matches(self) -> Iterator[Match]:
        """Give matches without end; thousands by thousands they are of the same hours, so late ones are among them."""
        for part in count():
            prefix, seed = f"m{part}", self._plan.seed + part
            yield from stream(10_000, players=self._plan.players, seed=seed, prefix=prefix)

    async def _until_somewhere_in(self, share: int) -> None:
        """Wait until a random part of what was sent last is committed: faults meet workers at work."""
        await until_all_committed(self._settings, timeout_s=180, but=self._chance.randrange(share))

    async def _outcome(self, seconds: float) -> Outcome:
        findings = await check(self._settings, self._sent.matches)
        letters = await read_all(self._settings, self._settings.dead_letter_topic)
        places = Counter((letter.header("dlq.partition"), letter.header("dlq.offset")) for letter in letters)
        by_place = {(letter.header("dlq.partition"), letter.header("dlq.offset")): letter.value for letter in letters}
        kept = Counter(value or b"" for value in by_place.values())
        logs = [line for worker in self._chaos.all_workers for line in worker.lines()]
        bugs = [line for line in logs if any(bug in line for bug in _BUGS)]
        bugs += [f"no reason for a dead letter: {value!r}" for value in kept - self._sent.dead]
        missing = self._sent.dead - kept
        return Outcome(
            findings,
            self._chaos.done,
            self._sent,
            missing.total(),
            sum(count - 1 for count in places.values()),
            bugs,
            len(findings.out_of_order),
            seconds,
        )


async def soak(plan: Plan, logs: Path) -> Outcome:
    """Run a plan on a stack of its own."""
    with Stack() as stack:
        name = "soak"
        settings = Settings(
            kafka_bootstrap=stack.bootstrap,
            database_url=stack.create_database(name),
            consumer_group=name,
            match_topic=f"{name}.matches",
            verdict_topic=f"{name}.verdicts",
            tournament_topic=f"{name}.tournaments",
            rating_topic=f"{name}.ratings",
            notice_topic=f"{name}.notices",
            http_port=0,
            session_timeout_ms=6_000,
            retry_max_wait_s=1.0,
            delivery=plan.delivery,
        )
        await migrate(settings.database_url.get_secret_value())
        await create_topics(settings, partitions=plan.partitions)
        return await Soak(plan, settings, stack, logs).run()


def main() -> int:
    """Run the long form, print what was done and found; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__)
    add = parser.add_argument
    add("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="repeat a run by its seed")
    add("--matches", type=int, default=200_000)
    add("--kills", type=int, default=100)
    add("--zombies", type=int, default=12)
    add("--stops", type=int, default=20)
    add("--broker", type=int, default=10)
    add("--database", type=int, default=10)
    add("--delivery", type=Delivery, choices=list(Delivery), default=Delivery.EXACTLY_ONCE)
    add("--out", type=Path, help="write the figures to this file as JSON, too")
    given = parser.parse_args()
    numbers = {name: value for name, value in vars(given).items() if name != "out"}
    plan = Plan(**numbers)
    logs = Path(tempfile.mkdtemp(prefix="soak-"))
    outcome = asyncio.run(soak(plan, logs))
    wrong = outcome.wrong(plan.delivery)
    figures = {
        **{name: str(value) for name, value in numbers.items()},
        "records sent": outcome.sent.records,
        "seconds": round(outcome.seconds),
        **dict(sorted(outcome.done.items())),
        "lost": len(outcome.findings.lost),
        "rated twice": len(outcome.findings.doubled),
        "changes missing": len(outcome.findings.unpublished),
        "changes published twice": len(outcome.findings.published_twice),
        "chains broken": len(outcome.findings.broken_chains),
        "not as the core says": len(outcome.findings.unequal),
        "dead letters": outcome.sent.dead.total(),
        "dead letters missing": outcome.letters_missing,
        "dead letters twice": outcome.letters_twice,
        "repaired, so out of version order": outcome.repaired,
    }
    table = Table("what", "figure", title="soak")
    for name, figure in figures.items():
        table.add_row(name, str(figure))
    Console().print(table)
    if given.out is not None:
        given.out.write_bytes(orjson.dumps(figures | {"wrong": repr(wrong)}, option=orjson.OPT_INDENT_2))
    if wrong:
        Console(stderr=True).print(f"WRONG: {wrong}; the logs are in {logs}", markup=False)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
