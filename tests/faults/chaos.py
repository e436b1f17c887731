"""Faults on purpose, drawn from a seed: workers killed, stopped, frozen and woken; servers taken away and back."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import asyncpg

from tests.support.freezing_worker import STEPS
from tests.support.processes import WorkerProcess
from tests.support.waiting import until

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from deploy.local import Stack
    from worker.settings import Settings

    Feed = Callable[[], Awaitable[None]]

# Kept short so that a fault is over within seconds; what they govern is in the README's settings.
QUICK = {
    "RATING_BATCH_MAX_RECORDS": "300",
    "RATING_DATABASE_ACQUIRE_TIMEOUT_S": "2",
    "RATING_STATEMENT_TIMEOUT_MS": "3000",
    "RATING_REBALANCE_TIMEOUT_MS": "20000",
    "RATING_IDLE_IN_TRANSACTION_TIMEOUT_MS": "6000",
    "RATING_PUBLISH_TIMEOUT_S": "5",
    "RATING_KAFKA_REQUEST_TIMEOUT_S": "3",
    "RATING_LOCK_TIMEOUT_MS": "2000",
    "RATING_SHUTDOWN_TIMEOUT_S": "20",
    "RATING_HOUSEKEEPING_INTERVAL_S": "5",
}
_OUTAGES_S = (0.0, 2.0, 8.0)


@dataclass
class Slot:
    """A place that a worker works in, again and again a new process."""

    name: str
    worker: WorkerProcess
    stack: AsyncExitStack
    starts: int = 1


@dataclass
class Chaos:
    """Some workers on a stack, and the faults that can be done to them.

    Attributes:
        settings: The workers'.
        stack: Their servers, which nobody else uses.
        logs: Folder for the workers' logs.
        chance: Draws everything that is drawn.
        done: How often each fault was done.
    """

    settings: Settings
    stack: Stack
    logs: Path
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    slots: list[Slot] = field(default_factory=list)
    all_workers: list[WorkerProcess] = field(default_factory=list)

    async def start(self, count: int) -> None:
        """Start the workers."""
        for number in range(count):
            worker, stack = await self._process(f"w{number}", None)
            self.slots.append(Slot(f"w{number}", worker, stack))

    async def stop(self) -> list[int]:
        """Stop every worker in order; gives the exit codes."""
        codes = []
        for slot in self.slots:
            async with slot.stack:
                slot.worker.send(signal.SIGTERM)
                codes.append(await slot.worker.until_ended(90))
        self.slots.clear()
        return codes

    async def abandon(self) -> None:
        """Kill what still runs."""
        for slot in self.slots:
            await slot.stack.aclose()
        self.slots.clear()

    async def kill(self) -> None:
        """Kill a worker at whatever it does, and start one in its place: under its old name, or under a new one."""
        slot = self._any()
        slot.worker.send(signal.SIGKILL)
        await slot.worker.until_ended()
        await self._start_again(slot, same=self.chance.random() < 0.5)
        self.done["killed at random"] += 1

    async def terminate(self) -> None:
        """Stop a worker in order, and start one in its place."""
        slot = self._any()
        slot.worker.send(signal.SIGTERM)
        code = await slot.worker.until_ended(90)
        assert code == 0, f"exit code {code} after SIGTERM: {slot.worker.tail()}"
        await self._start_again(slot, same=self.chance.random() < 0.5)
        self.done["stopped in order"] += 1

    async def kill_at_a_step(self, feed: Feed) -> None:
        """Kill a worker at a named step of the loop, and start one in its place."""
        slot, step = await self._freeze_at_a_step(feed)
        slot.worker.send(signal.SIGKILL)
        await slot.worker.until_ended()
        await self._start_again(slot, same=self.chance.random() < 0.5)
        self.done[f"killed at {step}"] += 1

    async def zombie_at_a_step(self, feed: Feed, settled: Callable[[], Awaitable[None]]) -> None:
        """Freeze a worker at a named step until others have done all there is, then let it go on."""
        slot, step = await self._freeze_at_a_step(feed)
        await settled()
        slot.worker.send(signal.SIGCONT)
        self.done[f"zombie of {step}"] += 1

    async def interrupt_kafka(self) -> None:
        """Take the broker away, or freeze it, and bring it back."""
        await self._interrupt(self.stack.kafka, "Kafka")

    async def interrupt_postgres(self) -> None:
        """Take Postgres away, freeze it, or cut every connection to it."""
        if self.chance.random() < 0.3:
            connection = await asyncpg.connect(self.settings.database_url.get_secret_value())
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
            await connection.close()
            self.done["Postgres cut every connection"] += 1
            return
        await self._interrupt(self.stack.postgres, "Postgres")

    async def _interrupt(self, server: object, name: str) -> None:
        how = self.chance.choice(("kill", "stop", "pause"))
        back = {"kill": "start", "stop": "start", "pause": "resume"}[how]
        await asyncio.to_thread(getattr(server, how))
        await asyncio.sleep(self.chance.choice(_OUTAGES_S))  # the outage itself; nothing waits for it to have passed
        await asyncio.to_thread(getattr(server, back))
        self.done[f"{name}: {how}"] += 1

    async def _freeze_at_a_step(self, feed: Feed) -> tuple[Slot, str]:
        slot, step = self._any(), self.chance.choice(list(STEPS))
        slot.worker.send(signal.SIGTERM)
        await slot.worker.until_ended(90)
        await self._start_again(slot, same=False, freeze_at=f"{step}:{self.chance.randrange(4)}")

        async def frozen() -> bool:
            if slot.worker.is_frozen():
                return True
            await feed()
            return False

        await until(frozen, 120, lambda: f"not frozen at {step}: {slot.worker.tail()}")
        return slot, step

    def _any(self) -> Slot:
        return self.chance.choice(self.slots)

    async def _start_again(self, slot: Slot, *, same: bool, freeze_at: str | None = None) -> None:
        await slot.stack.aclose()
        if not same:
            slot.starts += 1
        slot.worker, slot.stack = await self._process(f"{slot.name}-{slot.starts}", freeze_at)

    async def _process(self, instance: str, freeze_at: str | None) -> tuple[WorkerProcess, AsyncExitStack]:
        log = self.logs / f"{len(self.all_workers):03}-{instance}.log"
        worker = WorkerProcess(self.settings, log, freeze_at=freeze_at, RATING_INSTANCE_ID=instance, **QUICK)
        stack = AsyncExitStack()
        await stack.enter_async_context(worker)
        self.all_workers.append(worker)
        await worker.until_logged("serving metrics and health")
        return worker, stack
