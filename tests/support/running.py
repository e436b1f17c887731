"""A worker inside the test's own loop, for tests that look at it while it runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from worker.policies import load_policies
from worker.service import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from worker.settings import Settings


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Worker]:
    """Run a worker while the block runs; it is stopped in order at the end, and its failure is the test's."""
    worker = Worker(settings, load_policies(None, ()))
    task = asyncio.create_task(worker.run())
    started = asyncio.create_task(worker.running.wait())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    try:
        if not task.done():
            yield worker
    finally:
        worker.stop()
        await task
