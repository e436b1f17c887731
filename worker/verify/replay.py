"""Rating one event again, from what is recorded of it and from where the ledger says that its players stood."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from worker.ledger.rows import LedgerRow
from worker.ledger.stored import change_of, lift_of, void_of
from worker.rating.book import Book
from worker.rating.errors import VoidMismatchError
from worker.rating.inactivity import age
from worker.rating.model import PlayerState, Reason, Unrated
from worker.rating.sanctions import Imposed, Sanctioned
from worker.rating.voids import Recorded, Voided
from worker.verify.absence import nothing_to_lose
from worker.verify.piece import event_of
from worker.verify.snapshot import Entry
from worker.verify.states import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from worker.ledger.references import References
    from worker.rating.model import Change
    from worker.rating.policy_set import PolicySet
    from worker.verify.pair_times import PairTimes
    from worker.verify.piece import Piece
    from worker.verify.registered import Registered
    from worker.verify.snapshot import RecordedMatch
    from worker.verify.states import States

_MICROSECOND = timedelta(microseconds=1)


class Replay:
    """One event, met at the first of its entries.

    Attributes:
        faults: Where the rules give something else than an entry.
    """

    def __init__(self, entry: Entry, piece: Piece, times: PairTimes, registered: Registered, states: States) -> None:
        self.faults: list[str] = []
        self._entry = entry
        self._row = entry.row
        self._piece = piece
        self._times = times
        self._registered = registered
        self._states = states
        self._pool = entry.pool or ""

    def run(self) -> list[Entry] | None:
        """Rate it again and keep where that leaves its players.

        Returns:
            The entries that the rules give, in order; None where something that is recorded contradicts the entry, so
            that there is nothing to rate: another check says what.
        """
        if self._entry.player_id is None or not self._registered.knows(self._row.policy_id):
            return None
        again: dict[str, Callable[[], list[Entry] | None]] = {
            Reason.MATCH: self._match,
            Reason.VOID: self._void,
            Reason.RESET: self._reset,
            Reason.LIFT: self._lift,
            Reason.INACTIVITY: self._step,
        }
        run = again.get(self._row.reason, list)
        try:
            return run()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            self.faults.append(f"what is recorded can't be rated: {error!r}")  # a score of 7, say
            return None

    def _match(self) -> list[Entry] | None:
        row, match = self._row, self._piece.matches.get(self._row.match_id or "")
        if match is None or (row.rating_id, row.version) not in match.keys:
            return None
        rows = [one for key in match.keys if (one := self._piece.rows.get(key)) is not None]
        if any(one.match_id != match.match_id or not self._registered.knows(one.policy_id) for one in rows):
            return None
        book, ids = self._together(match, match.keys, match.finished_at)
        if ids is None:
            return None
        lo, hi = ids
        book.put_pair_times(self._pool, lo, hi, self._times.of(match))
        outcome = book.rate(match.match())
        if isinstance(outcome, Unrated):
            self.faults.append(f"the rules don't rate this match: {outcome.reason}")
            return None
        return self._made(outcome.changes, book, ids)

    def _void(self) -> list[Entry] | None:
        match = self._piece.matches.get(self._row.match_id or "")
        event = self._piece.events.get(event_of(self._entry) or "")
        if match is None or event is None or (self._row.rating_id, self._row.version) not in event.changes:
            return None
        given = [row for row in self._piece.given.get(match.match_id, ()) if self._registered.knows(row["policy_id"])]
        void = void_of(event.body)
        if {row["rating_id"] for row in given} != {match.lo_rating_id, match.hi_rating_id}:
            return None
        book, ids = self._together(match, event.changes, void.voided_at)
        if ids is None:
            return None
        # All that it asks of the references is a policy by its short key.
        changes = tuple(change_of(row, cast("References", self._registered)) for row in given)
        book.put_recorded(match.match_id, Recorded(match.match(), changes))
        try:
            outcome = book.void(void)
        except VoidMismatchError:
            return None
        return self._made(outcome.changes, book, ids) if isinstance(outcome, Voided) else []

    def _reset(self) -> list[Entry] | None:
        sanction = self._piece.sanctions.get(self._row.cause or "")
        if sanction is None or sanction.sanction.player_id != self._entry.player_id:
            return None
        book, ids = self._alone(sanction.sanction.starts_at)
        outcome = book.sanction(sanction.sanction)
        if not isinstance(outcome, Sanctioned):
            raise AssertionError("a book that knows no sanction has seen one before")  # noqa: TRY004
        recorded = sanction.taken_in(self._pool)
        if outcome.taken != (recorded,):
            self.faults.append(f"the rules take {outcome.taken}; the sanction says {recorded}")
        return self._made(outcome.changes, book, ids)

    def _lift(self) -> list[Entry] | None:
        sanction = self._piece.sanctions.get(self._row.cause or "")
        event = self._piece.events.get(event_of(self._entry) or "")
        taken = None if sanction is None else sanction.taken_in(self._pool)
        if sanction is None or event is None or taken is None:
            return None
        lift = lift_of(event.body)
        if not sanction.sanction.player_id == lift.player_id == self._entry.player_id:
            return None
        book, ids = self._alone(lift.lifted_at)
        book.put_sanctions(lift.player_id, [Imposed(sanction.sanction, None, (taken,))])
        book.lift(lift)
        return self._made(book.give_back(lift).changes, book, ids)

    def _step(self) -> list[Entry]:
        at = self._row.occurred_at
        book, ids = self._alone(at, until=at - _MICROSECOND)
        changes, _ = book.age(self._pool, self._entry.player_id or "", at)
        return self._made(changes, book, ids)

    def _together(
        self, match: RecordedMatch, keys: Iterable[tuple[int, int | None]], at: datetime
    ) -> tuple[Book, dict[str, int] | None]:
        """Make a book in which both players of a match stand, each as their row among the entries of `keys` says.

        Returns:
            The book, and the players' rating ids; None for these where a player is missing, or is of another pool.
        """
        policies = self._policies(at)
        book = Book(policies)
        if match.lo_player is None or match.hi_player is None or match.pool != self._entry.pool:
            return book, None
        ids = {match.lo_player: match.lo_rating_id, match.hi_player: match.hi_rating_id}
        found = [row for key in keys if (row := self._piece.rows.get(key)) is not None]
        rows = {row.rating_id: row for row in found if row.reason == self._row.reason}
        for player_id, rating_id in ids.items():
            state = self._stands(player_id, rating_id, rows.get(rating_id), policies, at)
            book.put_state(self._pool, player_id, state)
        return book, ids

    def _alone(self, at: datetime, until: datetime | None = None) -> tuple[Book, dict[str, int]]:
        """Make a book in which only the player of the entry stands."""
        policies, player_id = self._policies(at), self._entry.player_id or ""
        book = Book(policies)
        before = at if until is None else until
        state = self._stands(player_id, self._row.rating_id, self._row, policies, before)
        book.put_state(self._pool, player_id, state)
        return book, {player_id: self._row.rating_id}

    def _stands(
        self, player_id: str, rating_id: int, row: LedgerRow | None, policies: PolicySet, at: datetime
    ) -> PlayerState:
        """Give where a player stands before the event: at what their row says, where it is at hand.

        What an absence cost up to then has its own entries, which were met before. A step without one was counted when
        there was nothing to lose.
        """
        kept = self._states.get(rating_id)
        if kept is None:
            kept = self._new(self._row.opponent_before if row is None else row.before)
        state, low = kept
        if row is not None and (row.before != state.rating or row.version != state.version + 1):
            state = state._replace(rating=row.before, version=row.version - 1)
        versions = policies.versions(self._pool)
        aged = age(self._pool, player_id, state, versions, at)
        if aged.changes and nothing_to_lose(low, versions):
            state = state._replace(idle_steps=aged.state.idle_steps)
        return state

    def _new(self, rating: float | None) -> Kept:
        """Give the state of a player who is new: at the start of the version that held when their row was made."""
        start = self._registered.policy(self._row.policy_id).start_state()
        if rating is not None:
            start = start._replace(rating=rating, peak=rating)
        return Kept(start, start.rating)

    def _policies(self, at: datetime) -> PolicySet:
        return self._registered.at(self._pool, self._row.policy_id, at)

    def _made(self, changes: Iterable[Change], book: Book, ids: Mapping[str, int]) -> list[Entry]:
        """Keep where an event leaves its players, and give its changes as entries."""
        for player_id, rating_id in ids.items():
            state = book.state(self._pool, player_id)
            if state is not None:
                self._states.put(rating_id, state)
        return [
            Entry(
                self._entry.entry_id,
                change.pool,
                change.player_id,
                LedgerRow.of(
                    change,
                    ids[change.player_id],
                    None if change.opponent_id is None else ids[change.opponent_id],
                    self._registered.policy_id(change.policy),
                ),
            )
            for change in changes
        ]
