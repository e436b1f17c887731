"""The arithmetic of the players' chains: counting and adding alone, without the rules that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from worker.rating.model import Reason
from worker.verify.report import Name
from worker.verify.slots import Slots

if TYPE_CHECKING:
    from worker.verify.piece import Piece
    from worker.verify.registered import Registered
    from worker.verify.report import Checks
    from worker.verify.snapshot import Entry

_LAYOUT = "idiiiiiih"
_WIN, _DRAW, _LOSS = 1.0, 0.5, 0.0


class Chain(NamedTuple):
    """Where a player's chain stands.

    Attributes:
        version: Of the last entry.
        after: The rating there.
        games: As its entries count them; `wins`, `draws` and `losses` likewise.
        restarted: The version of the last entry that took the player to the start, as far as that was not taken back.
        idle: How many steps of inactivity the chain ends with.
        policy_id: The policy of the last entry.
    """

    version: int = 0
    after: float = 0.0
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    restarted: int = 0
    idle: int = 0
    policy_id: int = 0


_NONE = Chain()


class Chains:
    """The chains of all players, as far as they were read."""

    def __init__(self, registered: Registered, checks: Checks) -> None:
        self._starts = registered.starts()
        self._checks = checks
        self._slots = Slots(_LAYOUT)

    def of(self, rating_id: int) -> Chain:
        """Give where a player's chain stands; version 0 where there is none."""
        fields = self._slots.get(rating_id)
        return _NONE if fields is None else Chain(*fields)

    def take(self, entry: Entry, piece: Piece) -> Chain:
        """Follow a chain by one entry.

        Returns:
            Where it stood before.
        """
        row, chain = entry.row, self.of(entry.row.rating_id)
        self._check_links(entry, chain)
        sums = self._checks[Name.SUMS]
        sums.looked_at += 1
        if row.before + row.delta != row.after:
            what = f"{row.before!r} {row.delta:+} is not {row.after!r}"
            sums.find(what, **entry.ids)
        after = self._count(entry, chain, piece)
        tallies = self._checks[Name.TALLIES]
        tallies.looked_at += 1
        if after.games != row.games:
            tallies.find(
                f"the entry says {row.games} games; {chain.games} before it and what it is make {after.games}",
                **entry.ids,
            )
            after = after._replace(games=row.games)
        self._slots.put(row.rating_id, *after)
        return chain

    def _check_links(self, entry: Entry, chain: Chain) -> None:
        row, check = entry.row, self._checks[Name.CHAINS]
        check.looked_at += 1
        if entry.player_id is None:
            check.find(f"an entry of a player who is not in ratings (rating_id {row.rating_id})", **entry.ids)
        if row.version != chain.version + 1:
            came = f"version {chain.version}" if chain.version else "nothing"
            check.find(f"version {row.version} comes after {came}", **entry.ids)
        elif chain.version and row.before != chain.after:
            check.find(
                f"version {row.version} starts at {row.before!r}, version {chain.version} ended at {chain.after!r}",
                **entry.ids,
            )
        elif not chain.version and self._starts and row.before not in self._starts:
            check.find(f"the chain starts at {row.before!r}, where no policy lets anyone start", **entry.ids)

    def _count(self, entry: Entry, chain: Chain, piece: Piece) -> Chain:
        """Give where the entry leaves the chain."""
        row = entry.row
        after = chain._replace(version=row.version, after=row.after, idle=0, policy_id=row.policy_id)
        match row.reason:
            case Reason.MATCH:
                return after._replace(games=chain.games + 1, **_tally(chain, row.score, 1))
            case Reason.FLOOR | Reason.RESET:
                return after._replace(games=0, restarted=row.version)
            case Reason.INACTIVITY:
                return after._replace(idle=chain.idle + 1)
            case Reason.VOID:
                return self._reverse(entry, after, piece)
            case Reason.LIFT:
                sanction = piece.sanctions.get(row.cause or "")
                taken = None if sanction is None else sanction.taken_in(entry.pool)
                if taken is not None:
                    return after._replace(games=chain.games + taken.games, restarted=taken.restarted)
        return after

    def _reverse(self, entry: Entry, after: Chain, piece: Piece) -> Chain:
        """Take back what the match of a void gave, unless the player was taken to the start again since."""
        row, check = entry.row, self._checks[Name.VOIDS]
        check.looked_at += 1
        given = piece.given_to(row.match_id, row.rating_id)
        if not given:
            check.find("voids a match that gave this player nothing", **entry.ids)
            return after
        after = after._replace(**_tally(after, given[0]["score"], -1))
        gone = given[-1]["version"] < after.restarted
        owed = 0.0 if gone else 0.0 - sum(one["delta"] for one in given)
        if row.delta != owed:
            why = "the player has started again since" if gone else f"the match gave {_sum(given)}"
            check.find(f"moves {row.delta!r}; {why}", **entry.ids)
        if gone:
            return after
        games = max(0, after.games + given[0]["games"] - 1 - given[-1]["games"])
        return after._replace(games=games, restarted=after.restarted if len(given) == 1 else 0)


def _tally(chain: Chain, score: float | None, by: int) -> dict[str, Any]:
    return {
        "wins": chain.wins + by * (score == _WIN),
        "draws": chain.draws + by * (score == _DRAW),
        "losses": chain.losses + by * (score == _LOSS),
    }


def _sum(given: list[Any]) -> str:
    return " and ".join(repr(one["delta"]) for one in given)
