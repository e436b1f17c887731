"""Reading what there is to look at of a player: signals as the ledger gives them now, and as they were published."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from worker.cli import evidence
from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit
from worker.cli.output import plain
from worker.cli.running import policies_of
from worker.ledger import reads
from worker.rating.errors import UnknownPoolError
from worker.rating.signals import signals_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from worker.cli.evidence import Case
    from worker.ledger.reads.players import Connection
    from worker.rating.policy import Policy
    from worker.rating.policy_set import PolicySet
    from worker.rating.signals import Signal
    from worker.settings import Settings


class Review(NamedTuple):
    """What there is to look at of a player.

    Attributes:
        now: The signals that the ledger gives now, published or not.
        before: Those that were published, newest first, but for those of `now`.
        more: Whether there are more of those.
    """

    now: list[Case]
    before: list[Case]
    more: bool


async def review(settings: Settings, player_id: str, pool: str | None, kind: Signal | None, limit: int) -> Review:
    """Look at a player, in every pool or in one, for every signal or for one; `limit` published ones at most.

    Raises:
        CommandError: Nobody knows the player.
    """
    policies = policies_of(settings)
    async with postgres(settings) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        standings = await reads.standings(connection, player_id, pool)
        if not standings:
            where = "in any pool" if pool is None else f"in pool {plain(pool)}"
            raise CommandError(f"Player {plain(player_id)} has no match {where}.", Exit.FAILED)
        now = {
            key: case
            for standing in standings
            async for key, case in _found_now(connection, standing, policies)
            if kind is None or case.signal is kind
        }
        told = await reads.published(connection, list(now))
        found = await reads.flags(connection, player_id, limit=limit + len(now) + 1, pool=pool, signal=kind)
        others = [flag for flag in found if flag.key not in now]
        versions = {
            (one.ref.name, one.ref.version): reads.policy_of(one.body)
            for one in (await reads.registered_policies(connection) if others else ())
        }
        return Review(
            [evidence.published(case, told.get(key)) for key, case in now.items()],
            [await _flagged_before(connection, flag, versions) for flag in others[:limit]],
            len(others) > limit,
        )


async def _found_now(
    connection: Connection, standing: reads.Standing, policies: PolicySet
) -> AsyncIterator[tuple[str, Case]]:
    """Ask the core what the latest games in a pool look like, by the policy in force now; each case with its key."""
    pool, player_id = standing.pool, standing.player_id
    try:
        policy = policies.at(pool, datetime.now(UTC))
    except UnknownPoolError:
        return  # an operator took the pool away, and with it the thresholds
    games = await reads.latest_games(connection, standing.rating_id)
    for found in signals_in([one.game for one in games], policy):
        yield evidence.key_of(pool, player_id, found, policy), evidence.case_of(pool, player_id, found, policy, games)


async def _flagged_before(
    connection: Connection, flag: reads.Flag, versions: Mapping[tuple[str, int], Policy | None]
) -> Case:
    """Find what stood behind a published signal, among the games that the ledger had then."""
    games = await reads.latest_games(connection, flag.rating_id, flag.published_at)
    policy = flag.body["policy"]
    return evidence.case_of_flag(flag, versions.get((policy["name"], policy["version"])), games)
