"""What was imposed on a player, and what became of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from worker.ledger import sql
from worker.rating.model import Reason, Sanction, SanctionKind
from worker.rating.sanctions import Imposed

if TYPE_CHECKING:
    from datetime import datetime

    from worker.ledger.reads.players import Connection

_SQL = sql.load("reviews.sql")


class SanctionState(StrEnum):
    """How a sanction stands at a moment."""

    IN_FORCE = "in force"
    TO_COME = "to come"
    OVER = "over"
    LIFTED = "lifted"
    DONE = "done"  # a reset acts once, when it starts


@dataclass(frozen=True, slots=True)
class Lifting:
    """When a sanction was lifted, why, and by whom."""

    at: datetime
    why: str
    by: str


@dataclass(frozen=True, slots=True)
class ResetChange:
    """What a reset took in a pool, or its lift gave back."""

    pool: str
    reason: Reason
    before: float
    after: float
    delta: float
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class SanctionRecord:
    """A sanction with what became of it.

    Attributes:
        recorded_at: When the ledger took it.
        lifting: None where it was not lifted.
        changes: Of a reset, in the order of recording; none where it found nothing to take.
    """

    sanction: Sanction
    recorded_at: datetime
    lifting: Lifting | None
    changes: tuple[ResetChange, ...] = ()

    def state(self, now: datetime) -> SanctionState:
        """Tell how it stands; what is in force is for the core to say."""
        one, lifting = self.sanction, self.lifting
        if one.kind is SanctionKind.RESET:
            return SanctionState.DONE if lifting is None else SanctionState.LIFTED
        if Imposed(one, None if lifting is None else lifting.at).in_force(one.pool or "", now):
            return SanctionState.IN_FORCE
        if lifting is not None and lifting.at <= now and (one.ends_at is None or lifting.at < one.ends_at):
            return SanctionState.LIFTED
        return SanctionState.TO_COME if now < one.starts_at else SanctionState.OVER


async def sanctions(connection: Connection, player_id: str) -> list[SanctionRecord]:
    """Give every sanction that was ever imposed on a player, the latest start first."""
    rows = await connection.fetch(_SQL["sanctions_of"], player_id)
    changes: defaultdict[str, list[ResetChange]] = defaultdict(list)
    resets = [row["sanction_id"] for row in rows if row["kind"] == SanctionKind.RESET]
    for sanction_id, pool, reason, *figures in await connection.fetch(_SQL["changes_of_sanctions"], resets):
        changes[sanction_id].append(ResetChange(pool, Reason(reason), *figures))
    found = []
    for row in rows:
        sanction_id, player, kind, starts_at, ends_at, pool, why, by, lifted_at, lifted_why, lifted_by, recorded_at = (
            row
        )
        found.append(
            SanctionRecord(
                Sanction(sanction_id, player, SanctionKind(kind), starts_at, ends_at, pool, why, by),
                recorded_at,
                None if lifted_at is None else Lifting(lifted_at, lifted_why, lifted_by),
                tuple(changes[sanction_id]),
            )
        )
    return found
