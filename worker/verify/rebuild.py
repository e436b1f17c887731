"""Rebuilding every rating by the very core, from what is recorded and in recorded order, and comparing.

Each event is rated again from where the ledger says that its players stood, so one wrong number is one finding, not all
that came after it. That each entry starts where the one before ended is what `chains` looks at. Where both find
nothing, rating everything again from nothing gives the stored ratings exactly.

Housekeeping's sweeps leave no event. They need none: what an absence costs follows from when a player last played and
comes out the same whenever anybody looks, so each step is made at its own entry, whoever noticed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.ledger.rows import LedgerRow
from worker.rating.model import PlayerState
from worker.verify.replay import Replay
from worker.verify.report import Name, told
from worker.verify.states import States

if TYPE_CHECKING:
    from worker.verify.pair_times import PairTimes
    from worker.verify.piece import Piece
    from worker.verify.registered import Registered
    from worker.verify.report import Checks
    from worker.verify.snapshot import Entry

_FIELDS_TOLD = 3


class Rebuild:
    """What the rules give, entry by entry.

    Attributes:
        states: Where the rules leave the players.
    """

    def __init__(self, registered: Registered, checks: Checks) -> None:
        self._registered = registered
        self._check = checks[Name.REBUILT_ENTRIES]
        self.states = States()
        self._due: dict[int, dict[int, Entry]] = {}

    def take(self, entry: Entry, piece: Piece, times: PairTimes) -> None:
        """Rate again what made an entry, unless an earlier entry of the same event has seen to that, and compare."""
        self._check.looked_at += 1
        row = entry.row
        due = self._due.get(row.rating_id)
        if due is None or row.version not in due:
            self._drop_due(row.rating_id)
            replay = Replay(entry, piece, times, self._registered, self.states)
            made = replay.run()
            for fault in replay.faults:
                self._check.find(fault, **entry.ids)
            if made is None:  # another check says why it can't be rated again
                self._follow(entry)
                return
            for one in made:
                self._due.setdefault(one.row.rating_id, {})[one.row.version] = one
            due = self._due.get(row.rating_id, {})
        given = due.pop(row.version, None)
        if not due:
            self._due.pop(row.rating_id, None)
        if given is None:
            self._check.find(f"the rules give no such entry of reason {row.reason}", **entry.ids)
        else:
            self._compare(entry, given.row)

    def finish(self) -> None:
        """Look for what the rules give and the ledger lacks."""
        for rating_id in list(self._due):
            self._drop_due(rating_id)

    def _compare(self, entry: Entry, given: LedgerRow) -> None:
        row = entry.row
        if row.opponent_before is None:  # of a game, older releases did not record it
            given = given._replace(opponent_before=None)
        if given == row:
            return
        self._check.find(_difference(row, given), **entry.ids)
        kept = self.states.get(row.rating_id)
        if kept is not None and row.games != given.games:  # or all later entries would differ as well
            self.states.put(row.rating_id, kept.state._replace(games=row.games))

    def _drop_due(self, rating_id: int) -> None:
        """Find the entries that did not come in their place."""
        for missing in self._due.pop(rating_id, {}).values():
            self._check.find(f"the ledger lacks an entry of reason {missing.row.reason}", **missing.ids)

    def _follow(self, entry: Entry) -> None:
        """Take an entry's word for where it leaves the player, as far as it says."""
        row = entry.row
        kept = self.states.get(row.rating_id)
        state = PlayerState(row.after, peak=row.after) if kept is None else kept.state
        self.states.put(row.rating_id, state._replace(rating=row.after, version=row.version, games=row.games))


def _difference(ledger: LedgerRow, rules: LedgerRow) -> str:
    if ledger.reason != rules.reason:
        return f"the ledger has an entry of reason {ledger.reason}, the rules give one of reason {rules.reason}"
    differing = [
        f"{name}: the ledger has {told(old)}, the rules give {told(new)}"
        for name, old, new in zip(LedgerRow._fields, ledger, rules, strict=True)
        if old != new
    ]
    more = len(differing) - _FIELDS_TOLD
    return "; ".join(differing[:_FIELDS_TOLD]) + (f"; and {more} fields more" if more > 0 else "")
