"""What the runbook asks Postgres is understood by it, and answers what the runbook says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.integration.test_ledger import apply, arrivals
from tests.observability.vocabulary import DEPLOY
from tests.support.matches import stream
from worker.ledger.ledger import Ledger
from worker.policies import load_policies

if TYPE_CHECKING:
    from worker.settings import Settings

_IN_COMMANDS = re.compile(r'-c "\s*(select.*?)"', re.DOTALL)
_BY_THEMSELVES = re.compile(r"^    (select.*?;)$", re.DOTALL | re.MULTILINE)
RUNBOOK = (DEPLOY / "runbook.md").read_text("utf-8")


async def test_every_statement_is_understood(settings: Settings) -> None:
    """No statement names a table or a column that is gone, and where to go on from is one after what is recorded."""
    in_commands, alone = _IN_COMMANDS.findall(RUNBOOK), _BY_THEMSELVES.findall(RUNBOOK)
    assert (len(in_commands), len(alone)) == (2, 2)
    ledger = await Ledger.open(settings, load_policies(None, ()))
    try:
        sent = arrivals(stream(50, players=10, seed=5), first_offset=7)
        await apply(ledger, sent)
        async with ledger.connection() as connection:
            offsets, rounds = [await connection.fetch(statement) for statement in in_commands]
            for statement in alone:
                await connection.fetch(statement)
    finally:
        await ledger.close()
    ends: dict[tuple[str, int], int] = {}
    for (topic, partition, offset), _ in sent:
        ends[topic, partition] = max(ends.get((topic, partition), 0), offset + 1)
    assert {(topic, partition): offset for topic, partition, offset in offsets} == ends
    assert rounds == []
