"""The book: the ratings of the players at hand, in memory, moved by one event after another.

The batch transaction, the `rate` command, rebuild and verify all go through it, so they agree to the last bit. It only
puts together what the rules, each in its own module, say.
"""

from __future__ import annotations

from bisect import insort
from types import MappingProxyType
from typing import TYPE_CHECKING

from worker.rating.eligibility import barred, entrant
from worker.rating.inactivity import age, changes_of, come_back, is_away, notices_of
from worker.rating.model import Rated, SanctionKind, Unrated
from worker.rating.named import new
from worker.rating.pair_times import count_times, forget_time, pair_of
from worker.rating.rate import rate
from worker.rating.sanctions import Sanctioned, Sanctions, Taken, give_back, reset
from worker.rating.tournaments import TOURNAMENT, Tournaments, seed
from worker.rating.voids import VOIDED, Matches, Recorded, Repeated, Voided, reverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from worker.rating.event import EntriesClosed, Lift, Sanction, TournamentFinished, TournamentOpened, Void
    from worker.rating.inactivity import Aged
    from worker.rating.model import Change, Match, Notice, Outcome, PlayerState
    from worker.rating.policy_set import PolicySet, Versions
    from worker.rating.sanctions import Imposed, Lifted
    from worker.rating.tournaments import Seeding, Tournament
    from worker.rating.voids import VoidOutcome


class Book:
    """Ratings by pool and player, and all else that decides what an event does to them.

    Events are applied in the order in which they are given, and the book remembers what it learns from them. What came
    before must be entered (`put_...`) before an event that depends on it: the states of the players that it names, for
    a reset all of the player's; for a match the times of its pair, the sanctions of both players, its tournament and a
    void that waits for it; for a void its match; for a sanction and a lift each other; for entries the sanctions of all
    entrants.
    """

    __slots__ = ("_matches", "_pair_times", "_policies", "_sanctions", "_states", "_tournaments")

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self._states: dict[tuple[str, str], PlayerState] = {}
        self._pair_times: dict[tuple[str, str, str], list[datetime]] = {}
        self._sanctions = Sanctions()
        self._tournaments = Tournaments()
        self._matches = Matches()

    @property
    def states(self) -> Mapping[tuple[str, str], PlayerState]:
        """Every state in the book, by pool and player; a live view."""
        return MappingProxyType(self._states)

    def state(self, pool: str, player: str) -> PlayerState | None:
        """Give where a player stands, None for one that the book does not know: they start at their first match."""
        return self._states.get((pool, player))

    def put_state(self, pool: str, player: str, state: PlayerState) -> None:
        """Enter where a player stands."""
        self._states[pool, player] = state

    def put_pair_times(self, pool: str, a: str, b: str, times: Iterable[datetime]) -> None:
        """Enter when the pair's earlier rated matches in a pool finished, in place of what the book had; any order.

        Matches that were voided since do not belong to them.
        """
        self._pair_times[pair_of(pool, a, b)] = sorted(times)

    def put_sanctions(self, player: str, imposed: Iterable[Imposed]) -> None:
        """Enter all sanctions of a player, in place of what the book had."""
        self._sanctions.put(player, imposed)

    def put_waiting_lift(self, lift: Lift) -> None:
        """Enter a lift that came before its sanction."""
        self._sanctions.put_lift(lift)

    def put_recorded(self, match_id: str, recorded: Recorded) -> None:
        """Enter a match that came before."""
        self._matches.recorded[match_id] = recorded

    def put_waiting_void(self, void: Void) -> None:
        """Enter a void that came before its match."""
        self._matches.waiting[void.match_id] = void

    def put_tournament(self, tournament_id: str, tournament: Tournament) -> None:
        """Enter a tournament that is known."""
        self._tournaments.put(tournament_id, tournament)

    def rate(self, match: Match) -> Outcome:
        """Rate a match by the policy that holds for it and enter where it leaves both players.

        Of the reasons why it may not be rated, the first of these is given: `voided`, `unverified`, `suspended`,
        `tournament-banned`, `tournament-refused`, `tournament-provisional`, `tournament-inactive`, `draw`, its type.

        Raises:
            UnknownPoolError: No policy for the pool.
            ValueError: The match is none (see `rate.rate`).
        """
        pool, finished_at = match.pool, match.finished_at
        versions = self._policies.versions(pool)
        policy = versions.at(finished_at)
        if self._matches.waiting and self._matches.meet(match):
            return Unrated(VOIDED)
        one, other = match.sides
        first = self._states.get((pool, one.id)) or policy.start_state()
        second = self._states.get((pool, other.id)) or policy.start_state()
        may_not = None
        if self._sanctions or match.match_type == TOURNAMENT:
            may_not = barred(match, (first, second), versions, self._sanctions, self._tournaments)
        away: list[Aged] = []
        if versions.idle_after is not None:
            if is_away(first, finished_at, versions.idle_after):
                away.append(come_back(pool, one.id, first, versions, finished_at))
                first = away[-1].state
            if is_away(second, finished_at, versions.idle_after):
                away.append(come_back(pool, other.id, second, versions, finished_at))
                second = away[-1].state
        pair = pair_of(pool, one.id, other.id)
        times = self._pair_times.get(pair)
        window = policy.pair_window
        earlier = count_times(times, finished_at, window) if times and window else 0
        outcome = rate(match, first, second, earlier, policy, may_not)
        if isinstance(outcome, Unrated):
            self._matches.recorded[match.match_id] = Recorded(match, unrated=outcome.reason)
            return outcome
        self._states[pool, one.id], self._states[pool, other.id] = outcome.states
        if times is None:
            self._pair_times[pair] = [finished_at]
        else:
            insort(times, finished_at)
        self._matches.recorded[match.match_id] = new(Recorded, (match, outcome.changes, False, None))
        if not away:
            return outcome
        return Rated((*changes_of(away), *outcome.changes), outcome.states, notices_of(away))

    def void(self, void: Void) -> VoidOutcome:
        """Reverse a match, or wait for it.

        Raises:
            UnknownPoolError: No policy for the pool of the match.
            VoidMismatchError: The match is recorded with another pool or other players.
        """
        recorded = self._matches.void(void)
        if not isinstance(recorded, Recorded):
            return recorded
        match = recorded.match
        versions = self._policies.versions(match.pool)
        policy = versions.at(void.voided_at)
        aged: list[Aged] = []
        reversals: list[Change] = []
        for place, side in enumerate(match.sides):
            player = match.pool, side.id
            aged.append(age(*player, self._states[player], versions, void.voided_at))
            change, self._states[player] = reverse(void, recorded, place, aged[-1].state, policy)
            reversals.append(change)
        times = self._pair_times.get(pair_of(match.pool, match.sides[0].id, match.sides[1].id))
        if times:
            forget_time(times, match.finished_at)
        one, other = match.sides
        states = self._states[match.pool, one.id], self._states[match.pool, other.id]
        return Voided((*changes_of(aged), *reversals), states, notices_of(aged))

    def sanction(self, sanction: Sanction) -> Sanctioned | Repeated:
        """Impose a sanction. A reset takes the player to the start at once, in each of its pools in which they played.

        A reset whose lift came first does nothing. A pool that has no policy any more stays as it is.
        """
        imposed = self._sanctions.impose(sanction)
        if imposed is None:
            return Repeated()
        if sanction.kind is not SanctionKind.RESET or imposed.lifted_at is not None:
            return Sanctioned()
        changes: list[Change] = []
        notices: list[Notice] = []
        taken: list[Taken] = []
        for pool, versions in self._pools_of(sanction):
            player = pool, sanction.player_id
            before, steps, marks = age(*player, self._states[player], versions, sanction.starts_at)
            change, self._states[player] = reset(sanction, pool, before, versions.at(sanction.starts_at))
            taken.append(Taken(pool, change.version, change.delta, before.games, before.peak, before.restarted))
            changes += (*steps, change)
            notices += marks
        self._sanctions.remember(sanction, taken)
        return Sanctioned(tuple(changes), tuple(notices), tuple(taken))

    def lift(self, lift: Lift) -> Lifted:
        """Lift a sanction, or wait for it. Only `LIFTED` is true; of a reset, `give_back` does the rest.

        Raises:
            LiftMismatchError: The sanction is another player's.
        """
        return self._sanctions.lift(lift)

    def give_back(self, lift: Lift) -> Sanctioned:
        """Give back what a reset took that was just lifted: in each pool the opposite of what it did there.

        Where the player was taken to the start again since there is nothing to give back; other sanctions took nothing.
        A pool that has no policy any more stays as it is.
        """
        imposed = self._sanctions.of(lift)
        if imposed is None:
            return Sanctioned()
        changes: list[Change] = []
        notices: list[Notice] = []
        for taken in imposed.taken:
            player = taken.pool, lift.player_id
            if self._states[player].restarted > taken.version or not self._policies.knows(taken.pool):
                continue
            versions = self._policies.versions(taken.pool)
            before, steps, marks = age(*player, self._states[player], versions, lift.lifted_at)
            policy = versions.at(lift.lifted_at)
            change, self._states[player] = give_back(imposed.sanction, taken, before, policy, lift.lifted_at)
            changes += (*steps, change)
            notices += marks
        return Sanctioned(tuple(changes), tuple(notices))

    def age(self, pool: str, player: str, until: datetime) -> tuple[tuple[Change, ...], tuple[Notice, ...]]:
        """Do what a player owes for their absence up to a time, inclusive: the steps of decay, and the mark.

        Returns:
            The changes, and the notice that they became inactive; both empty for a player who owes nothing, has never
            played or is not known.

        Raises:
            UnknownPoolError: No policy for the pool.
        """
        state = self._states.get((pool, player))
        if state is None:
            return (), ()
        aged = age(pool, player, state, self._policies.versions(pool), until)
        self._states[pool, player] = aged.state
        return aged.changes, aged.notices

    def open_tournament(self, event: TournamentOpened) -> None:
        """Remember a tournament.

        Raises:
            TournamentMismatchError: It is known in another pool.
        """
        self._tournaments.see(event)

    def close_entries(self, event: EntriesClosed, bests: Mapping[str, float]) -> Seeding | Repeated:
        """Refuse the entrants who may not play, seed the others and remember whom it refused. No rating changes.

        Args:
            event: The closing of the entries; a second one of a tournament changes nothing.
            bests: By player, the highest rating that they held in the pool at any time of the policy's
                `protection_days` before `closed_at`, the one with which that time began included. Who is not named is
                seeded by the current rating alone.

        Raises:
            TournamentMismatchError: The tournament is known in another pool.
            UnknownPoolError: No policy for the pool.
        """
        versions = self._policies.versions(event.pool)
        policy = versions.at(event.closed_at)
        if self._tournaments.see(event).closed:
            return Repeated()
        entrants = [
            entrant(
                player,
                self._states.get((event.pool, player)) or policy.start_state(),
                bests.get(player),
                event,
                versions,
                self._sanctions,
            )
            for player in dict.fromkeys(event.entrants)
        ]
        seeding = seed(event, entrants, policy)
        self._tournaments.close(event.tournament_id, seeding.refused)
        return seeding

    def finish_tournament(self, event: TournamentFinished) -> None:
        """Take note that a tournament is over; its standings never override a rating.

        Raises:
            TournamentMismatchError: It is known in another pool.
        """
        self._tournaments.see(event)

    def _pools_of(self, sanction: Sanction) -> list[tuple[str, Versions]]:
        pools = sorted(
            pool
            for (pool, player), state in self._states.items()
            if player == sanction.player_id and state.version > 0 and sanction.pool in {None, pool}
        )
        return [(pool, self._policies.versions(pool)) for pool in pools if self._policies.knows(pool)]
