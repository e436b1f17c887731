"""Applying what is new in a batch to the book, as rows to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.events import Reject
from worker.ledger.loading_tournaments import protected_since
from worker.ledger.rows import (
    EntryRow,
    EventRow,
    LedgerRow,
    MatchRow,
    NoticeRow,
    RatingRow,
    SanctionRow,
    TournamentRow,
)
from worker.ledger.stored import body_of
from worker.ledger.values import Applied, Arrival, Publication, Refusal
from worker.ledger.writing import Rows
from worker.rating.errors import LiftMismatchError, TournamentMismatchError, VoidMismatchError
from worker.rating.model import (
    Change,
    EntriesClosed,
    Lift,
    Match,
    Notice,
    Reason,
    Sanction,
    TournamentFinished,
    TournamentOpened,
    Unrated,
    Void,
)
from worker.rating.named import new
from worker.rating.sanctions import Lifted, Sanctioned
from worker.rating.voids import Repeated, Voided, Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from worker.ledger.loading import Loaded, Player
    from worker.ledger.references import References
    from worker.rating.model import Event, Side
    from worker.rating.policy import Policy
    from worker.rating.policy_set import PolicySet


class Recorder:
    """Applies events one after another and collects their rows."""

    def __init__(
        self,
        loaded: Loaded,
        policies: PolicySet,
        references: References,
        source_ids: Mapping[str, int],
        applied: Applied,
    ) -> None:
        self._loaded = loaded
        self._book = loaded.book
        self._policies = policies
        self._references = references
        self._source_ids = source_ids
        self._applied = applied
        self._moved: dict[Player, Policy] = {}
        self._named: dict[Player, Policy] = {}
        self._waiting_lifts = dict(loaded.waiting_lifts)
        self._rows = Rows()
        self.notices: list[NoticeRow] = []

    def record(self, arrival: Arrival) -> None:
        """Apply an event; one that contradicts what is recorded is refused and leaves no trace."""
        event = arrival.event.event
        try:
            match event:
                case Match():
                    self._record_match(arrival, event)
                case Void():
                    self._record_void(arrival, event)
                case Sanction():
                    self._record_sanction(arrival, event)
                case Lift():
                    self._record_lift(arrival, event)
                case TournamentOpened():
                    self._book.open_tournament(event)
                    row = TournamentRow(event.tournament_id, event.pool, opened_at=event.opened_at)
                    self._record_tournament(arrival, event, row)
                case EntriesClosed():
                    self._record_entries(arrival, event)
                case TournamentFinished():
                    self._book.finish_tournament(event)
                    standings = list(event.standings)
                    row = TournamentRow(
                        event.tournament_id, event.pool, finished_at=event.finished_at, standings=standings
                    )
                    self._record_tournament(arrival, event, row)
        except (VoidMismatchError, LiftMismatchError, TournamentMismatchError) as error:
            self._applied.refusals.append(Refusal(arrival.origin, Reject.CONFLICT, str(error)))

    def rows(self) -> Rows:
        """Give the rows of all that was recorded."""
        states = self._book.states
        for player, policy in (self._named | self._moved).items():
            pool, player_id = player
            row = RatingRow.of(
                self._loaded.rating_ids[player],
                self._loaded.pool_ids[pool],
                player_id,
                states[player],
                policy,
            )
            (self._rows.new_ratings if player in self._loaded.new else self._rows.moved_ratings).append(row)
        return self._rows

    def _record_match(self, arrival: Arrival, match: Match) -> None:
        outcome = self._book.rate(match)
        if isinstance(outcome, Unrated):
            self._applied.unrated[outcome.reason] += 1
            if outcome.reason == "voided":
                self._rows.met.append(match.match_id)
            self._name(match.pool, [side.id for side in match.sides], match.finished_at)
            self._rows.matches.append(self._match_row(arrival, match, {}, {}, outcome))
            return
        self._applied.rated += 1
        traceparent = arrival.event.traceparent
        versions: dict[str, int] = {}
        steps: dict[str, int] = {}
        for change in outcome.changes:
            if change.reason is Reason.MATCH:
                versions[change.player_id] = change.version
            elif change.reason is Reason.INACTIVITY:
                steps[change.player_id] = steps.get(change.player_id, 0) + 1
            self._enter(change, traceparent)
        if outcome.notices:
            self._notify(outcome.notices, arrival)
        self._rows.matches.append(self._match_row(arrival, match, versions, steps, None))

    def _record_void(self, arrival: Arrival, void: Void) -> None:
        outcome = self._book.void(void)
        if isinstance(outcome, Voided):
            self._record_event(arrival, void, outcome.changes, outcome.notices)
        else:
            self._record_event(arrival, void)
        self._name(void.pool, void.players, void.voided_at)
        (self._rows.waiting if isinstance(outcome, Waiting) else self._rows.voided).append(void.match_id)

    def _record_sanction(self, arrival: Arrival, sanction: Sanction) -> None:
        outcome = self._book.sanction(sanction)
        taken = None
        if isinstance(outcome, Sanctioned):
            self._record_event(arrival, sanction, outcome.changes, outcome.notices)
            taken = [list(one) for one in outcome.taken] or None
        else:
            self._record_event(arrival, sanction)
        self._rows.sanctions.append(SanctionRow(*sanction, taken))
        lift = self._waiting_lifts.get(sanction.sanction_id)
        if lift is not None and lift.player_id == sanction.player_id:
            self._rows.lifts.append(lift)

    def _record_lift(self, arrival: Arrival, lift: Lift) -> None:
        given = Sanctioned()
        match self._book.lift(lift):
            case Lifted.LIFTED:
                given = self._book.give_back(lift)
                self._rows.lifts.append(lift)
            case Lifted.WAITING:
                self._waiting_lifts[lift.sanction_id] = lift
            case Lifted.REPEATED:
                pass
        self._record_event(arrival, lift, given.changes, given.notices)

    def _record_entries(self, arrival: Arrival, event: EntriesClosed) -> None:
        seeding = self._book.close_entries(event, self._bests(event))
        row = TournamentRow(event.tournament_id, event.pool, closed_at=event.closed_at)
        if isinstance(seeding, Repeated):
            self._record_tournament(arrival, event, row)
            return
        self._rows.entries += [
            EntryRow(event.tournament_id, one.player_id, one.place, one.seeding_rating, one.rating, one.best)
            for one in seeding.seeds
        ]
        self._rows.entries += [
            EntryRow(event.tournament_id, one.player_id, refused=one.reason) for one in seeding.refused
        ]
        self._record_tournament(arrival, event, row, [seeding.notice])

    def _bests(self, event: EntriesClosed) -> Mapping[str, float]:
        """Give the best ratings of the time that counts for the seeds: what is recorded, and what this batch gave."""
        bests = dict(self._loaded.bests.get(event.tournament_id, {}))
        since = protected_since(self._policies, event)
        if since is not None:
            for change, _ in self._applied.publications:
                if isinstance(change, Change) and change.pool == event.pool:
                    player = change.player_id
                    if since <= change.occurred_at <= event.closed_at:
                        bests[player] = max(bests.get(player, change.before), change.before, change.after)
        return bests

    def _record_tournament(
        self, arrival: Arrival, event: Event, row: TournamentRow, notices: Sequence[Notice] = ()
    ) -> None:
        self._rows.tournaments.append(row)
        self._record_event(arrival, event, notices=notices)

    def _record_event(
        self, arrival: Arrival, event: Event, changes: Sequence[Change] = (), notices: Sequence[Notice] = ()
    ) -> None:
        origin, decoded = arrival
        keys = [[self._enter(change, decoded.traceparent), change.version] for change in changes]
        self._notify(notices, arrival)
        kind = type(event).__name__.lower()
        self._applied.recorded[kind] += 1
        self._rows.events.append(
            EventRow(
                decoded.id,
                kind,
                self._source_ids[origin.topic],
                origin.partition,
                origin.offset,
                decoded.digest,
                body_of(event),
                keys or None,
            )
        )

    def _enter(self, change: Change, traceparent: str | None) -> int:
        """Enter a change in the ledger, publish it, and give the rating_id of its player."""
        pool, ids = change.pool, self._loaded.rating_ids
        player = pool, change.player_id
        rating_id = ids[player]
        policy_id, self._moved[player] = self._references.registered(change.policy)
        self._applied.publications.append(new(Publication, (change, traceparent)))
        opponent = None if change.opponent_id is None else ids[pool, change.opponent_id]
        self._rows.ledger.append(LedgerRow.of(change, rating_id, opponent, policy_id))
        return rating_id

    def _name(self, pool: str, players: Iterable[str], at: datetime) -> None:
        """See to it that players who are new get a row, though nothing moved them: they stand at the start."""
        for player_id in players:
            player = (pool, player_id)
            if player in self._loaded.new:
                policy = self._policies.at(pool, at)
                if player not in self._book.states:
                    self._book.put_state(pool, player_id, policy.start_state())
                self._named.setdefault(player, policy)

    def _notify(self, notices: Iterable[Notice], arrival: Arrival) -> None:
        self.notices += [NoticeRow.of(notice, arrival.event.id, arrival.event.traceparent) for notice in notices]

    def _match_row(
        self,
        arrival: Arrival,
        match: Match,
        versions: Mapping[str, int],
        steps: Mapping[str, int],
        unrated: Unrated | None,
    ) -> MatchRow:
        origin, decoded = arrival
        lo, hi = in_id_order(match)
        return new(
            MatchRow,
            (
                match.match_id,
                self._source_ids[origin.topic],
                origin.partition,
                origin.offset,
                decoded.digest,
                self._loaded.rating_ids[match.pool, lo.id],
                self._loaded.rating_ids[match.pool, hi.id],
                versions.get(lo.id),
                versions.get(hi.id),
                lo.score,
                match.finished_at,
                match.match_type,
                match.tournament_id,
                match.verified,
                _attributes(lo, hi),
                None if unrated is None else unrated.reason,
                None if unrated is None else unrated.player_id,
                steps.get(lo.id, 0),
                steps.get(hi.id, 0),
            ),
        )


def in_id_order(match: Match) -> tuple[Side, Side]:
    """Give the sides by player id: lo, hi."""
    one, other = match.sides
    return (one, other) if one.id < other.id else (other, one)


def _attributes(lo: Side, hi: Side) -> dict[str, int] | None:
    if lo.birth_year is None and hi.birth_year is None:
        return None
    given = {"lo_birth_year": lo.birth_year, "hi_birth_year": hi.birth_year}
    return {name: year for name, year in given.items() if year is not None}
