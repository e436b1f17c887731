"""Sanctions: rating resets, suspensions and tournament bans; when each is in force, and what lifts it.

rules.md, policy `biciid`: rating reset (to the start, provisional again), account suspension (matches recorded, not
rated, off the leaderboard), tournament ban; each can be lifted; each recorded with who, when and why.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from worker.rating.entry import entry
from worker.rating.errors import LiftMismatchError
from worker.rating.model import Reason, SanctionKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from worker.rating.model import Change, Lift, Notice, PlayerState, Sanction
    from worker.rating.policy import Policy


class Taken(NamedTuple):
    """What a reset took from a player in one pool.

    Attributes:
        version: Of the reset's change, `delta` too.
        games: The player's rated games before it.
        peak: The player's peak before it.
        restarted: The version of the change that had taken the player to the start before it, 0 for none.
    """

    pool: str
    version: int
    delta: float
    games: int
    peak: float
    restarted: int = 0


class Imposed(NamedTuple):
    """A sanction that was imposed.

    Attributes:
        lifted_at: When it was lifted, None if it was not.
        taken: Of a reset that may yet be lifted: what it took.
    """

    sanction: Sanction
    lifted_at: datetime | None = None
    taken: tuple[Taken, ...] = ()

    def in_force(self, pool: str, at: datetime) -> bool:
        """Tell whether it holds in a pool at a time: from its start on, before its end and before it was lifted."""
        sanction, lifted_at, _ = self
        return (
            sanction.starts_at <= at
            and (sanction.ends_at is None or at < sanction.ends_at)
            and (lifted_at is None or at < lifted_at)
            and (sanction.pool is None or sanction.pool == pool)
        )


class Sanctioned(NamedTuple):
    """What imposing or lifting a sanction did.

    Attributes:
        changes: Of a reset: for each pool, the steps of inactivity that the player owed, then the reset or, lifted, its
            opposite.
        notices: That the player had become inactive before it, where nobody had noticed.
        taken: Of a reset: what it took, in each pool.
    """

    changes: tuple[Change, ...] = ()
    notices: tuple[Notice, ...] = ()
    taken: tuple[Taken, ...] = ()


class Lifted(StrEnum):
    """What became of a lift."""

    LIFTED = "lifted"
    WAITING = "waiting"  # its sanction is not known yet: kept
    REPEATED = "repeated"  # lifted already

    def __bool__(self) -> bool:
        return self is Lifted.LIFTED


class Sanctions:
    """The sanctions that are known, by player, and the lifts that wait for theirs."""

    __slots__ = ("_by_player", "_lifts")

    def __init__(self) -> None:
        self._by_player: dict[str, dict[str, Imposed]] = {}
        self._lifts: dict[str, Lift] = {}

    def put(self, player_id: str, imposed: Iterable[Imposed]) -> None:
        """Enter a player's sanctions, in place of those that were known."""
        self._by_player[player_id] = {one.sanction.sanction_id: one for one in imposed}

    def put_lift(self, lift: Lift) -> None:
        """Enter a lift that waits for its sanction."""
        self._lifts[lift.sanction_id] = lift

    def impose(self, sanction: Sanction) -> Imposed | None:
        """Remember a sanction; None if it is known already.

        A lift that waits for it takes effect, unless it names another player: then it is not this sanction's.
        """
        known = self._by_player.setdefault(sanction.player_id, {})
        if sanction.sanction_id in known:
            return None
        lift = self._lifts.get(sanction.sanction_id)
        lifted_at = None
        if lift is not None and lift.player_id == sanction.player_id:
            lifted_at = lift.lifted_at
            del self._lifts[sanction.sanction_id]
        known[sanction.sanction_id] = Imposed(sanction, lifted_at)
        return known[sanction.sanction_id]

    def remember(self, sanction: Sanction, taken: Iterable[Taken]) -> None:
        """Remember what a reset that is imposed took."""
        known = self._by_player[sanction.player_id]
        known[sanction.sanction_id] = known[sanction.sanction_id]._replace(taken=tuple(taken))

    def of(self, lift: Lift) -> Imposed | None:
        """Give the sanction that a lift names, None if it is not known."""
        return self._by_player.get(lift.player_id, {}).get(lift.sanction_id)

    def lift(self, lift: Lift) -> Lifted:
        """Lift a sanction, or wait for it.

        Raises:
            LiftMismatchError: The sanction is another player's.
        """
        known = self.of(lift)
        if known is None:
            if any(lift.sanction_id in others for others in self._by_player.values()):
                raise LiftMismatchError(lift.sanction_id, lift.player_id)
            if lift.sanction_id in self._lifts:
                return Lifted.REPEATED
            self._lifts[lift.sanction_id] = lift
            return Lifted.WAITING
        if known.lifted_at is not None:
            return Lifted.REPEATED
        self._by_player[lift.player_id][lift.sanction_id] = known._replace(lifted_at=lift.lifted_at)
        return Lifted.LIFTED

    def in_force(self, kind: SanctionKind, player_id: str, pool: str, at: datetime) -> bool:
        """Tell whether a player is under a sanction of a kind, in a pool and at a time."""
        known = self._by_player.get(player_id)
        return known is not None and any(one.sanction.kind is kind and one.in_force(pool, at) for one in known.values())

    def __bool__(self) -> bool:
        return bool(self._by_player)


def reset(sanction: Sanction, pool: str, before: PlayerState, policy: Policy) -> tuple[Change, PlayerState]:
    """Take a player to the start of a pool, provisional again.

    The tally of wins, draws and losses is for life. The peak starts anew, or it would give the K of a rating that the
    verdict says was never earned. Absence goes on: a reset is no game, and steps that are done must not be done again.

    Args:
        sanction: The verdict.
        pool: The pool.
        before: Where the player stands there.
        policy: The version in force when the reset starts.
    """
    delta = policy.start - before.rating
    rating, version = before.rating + delta, before.version + 1
    after = before._replace(
        rating=rating, version=version, games=0, peak=rating, requalify=0, boost=0, restarted=version
    )
    change = entry(
        pool,
        sanction.player_id,
        Reason.RESET,
        (before, after),
        delta,
        policy,
        sanction.starts_at,
        cause=sanction.sanction_id,
    )
    return change, after


def give_back(
    sanction: Sanction, taken: Taken, before: PlayerState, policy: Policy, lifted_at: datetime
) -> tuple[Change, PlayerState]:
    """Give back what a reset that is lifted took: the points and the games. What came after it stays.

    So does what a match of before the reset gave, if it was voided between reset and lift: that void found it gone.

    Args:
        sanction: The reset.
        taken: What it took in a pool.
        before: Where the player stands there; no later reset or restart has taken them to the start again.
        policy: The version in force when the reset is lifted.
        lifted_at: When that is.
    """
    delta = 0.0 - taken.delta
    rating = before.rating + delta
    after = before._replace(
        rating=rating,
        version=before.version + 1,
        games=before.games + taken.games,
        peak=max(before.peak, taken.peak, rating),
        restarted=taken.restarted,
    )
    change = entry(
        taken.pool,
        sanction.player_id,
        Reason.LIFT,
        (before, after),
        delta,
        policy,
        lifted_at,
        cause=sanction.sanction_id,
    )
    return change, after
