"""The batch transaction under whatever order hypothesis thinks of: stateful fuzzing on real Postgres.

What it finds is kept as a test of its own beside what it is about; a failure prints the steps that lead to it.
"""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.integration.test_ledger import apply, arrivals
from tests.integration.test_rule_book import agrees, swept_by
from tests.support.matches import START, in_id_order
from tests.support.stories import POLICIES, Sweep, Telling
from worker.ledger.ledger import Ledger
from worker.ledger.values import Arrival, Origin
from worker.rating.model import (
    Change,
    EntriesClosed,
    Lift,
    Match,
    Sanction,
    SanctionKind,
    Side,
    TournamentOpened,
    Void,
)

if TYPE_CHECKING:
    from worker.ledger.values import Applied
    from worker.rating.model import Event
    from worker.settings import Settings

_NAMES = [f"p{number}" for number in range(4)]
_POOLS = ["yi", "shax", "chess/blitz"]
_names = st.sampled_from(_NAMES)
_pools = st.sampled_from(_POOLS)
_kinds = st.sampled_from([SanctionKind.RESET, *SanctionKind])
_few = st.integers(0, 7)


class LedgerMachine(RuleBasedStateMachine):
    """A ledger and a book that is told the same, one event at a time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.ledger = self.runner.run(_emptied(settings))
        self.telling = Telling()
        self.now = START
        self.coming: list[Event] = []
        self.events: list[Event] = []
        self.delivered: list[Arrival] = []
        self.published: dict[Origin, list[Change]] = {}
        self.count = 0

    def teardown(self) -> None:
        """Deliver the rest, compare all that is stored, and close."""
        try:
            self.deliver(len(self.coming), again=0)
            self.runner.run(agrees(self.ledger, self.telling))
        finally:
            self.runner.run(self.ledger.close())
            self.runner.close()

    # What happens out there, to be delivered later.

    @rule(
        pool=_pools,
        one=_names,
        other=_names,
        score=st.sampled_from([1.0, 0.5, 0.0]),
        kind=st.sampled_from(["ranked", "ranked", "tournament", "casual"]),
        cup=st.sampled_from([None, "cup0", "cup1"]),
        late=st.sampled_from([0, 0, 0, 90, 60 * 24 * 100]),
    )
    def match(self, pool: str, one: str, other: str, score: float, kind: str, cup: str | None, late: int) -> None:
        """Two players finish a match, now or a while ago."""
        if one == other:
            other = "p9"
        sides = in_id_order(Side(one, score), Side(other, 1.0 - score))
        cup = cup if kind == "tournament" else None
        self._happen(Match(f"m{self._number()}", pool, self.now - timedelta(minutes=late), sides, kind, cup))

    @rule(seed=st.integers(0, 1_000), pool=_pools)
    def evening(self, seed: int, pool: str) -> None:
        """The players meet each other many times."""
        chance = random.Random(seed)
        for _ in range(12):
            one, other = chance.sample(_NAMES, 2)
            sides = in_id_order(Side(one, 1.0), Side(other, 0.0))
            self.now += timedelta(minutes=chance.randrange(200))
            self._happen(Match(f"m{self._number()}", pool, self.now, sides))

    @rule(back=_few, stranger=st.booleans(), ahead=st.booleans())
    def void(self, back: int, stranger: bool, ahead: bool) -> None:
        """A match of before is voided, or one that is yet to come; maybe by someone who mixes up its players."""
        matches = [event for event in self.events if isinstance(event, Match)]
        if ahead or not matches:
            sides = in_id_order(Side("p0", 1.0), Side("p1", 0.0))
            match = Match(f"m{self._number()}", "shax", self.now, sides)
        else:
            match = matches[-1 - back % len(matches)]
        players = ("p0", "stranger") if stranger else (match.sides[0].id, match.sides[1].id)
        if not any(isinstance(event, Void) and event.match_id == match.match_id for event in self.events):
            self._happen(Void(match.match_id, match.pool, players, self.now, "collusion", "ref"))
        if match not in matches:
            self._happen(match)

    @rule(
        player=_names,
        kind=st.sampled_from([SanctionKind.RESET, *SanctionKind]),
        pool=st.sampled_from([None, "shax", "yi"]),
    )
    def sanction(self, player: str, kind: SanctionKind, pool: str | None) -> None:
        """A player is sanctioned."""
        self._happen(Sanction(f"s{self._number()}", player, kind, self.now, None, pool, "cheating", "ref"))

    @precondition(lambda self: any(isinstance(event, Sanction) for event in self.events))
    @rule(back=st.integers(0, 2))
    def lift(self, back: int) -> None:
        """A sanction is lifted."""
        imposed = [event for event in self.events if isinstance(event, Sanction)]
        if imposed:
            sanction = imposed[-1 - back % len(imposed)]
            if not any(isinstance(one, Lift) and one.sanction_id == sanction.sanction_id for one in self.events):
                self._happen(Lift(sanction.sanction_id, sanction.player_id, self.now, "appeal", "ref"))

    @rule(cup=st.sampled_from(["cup0", "cup1"]), close=st.booleans(), entrants=st.lists(_names, unique=True))
    def tournament(self, cup: str, close: bool, entrants: list[str]) -> None:
        """A tournament is opened, or its entries are closed."""
        kind: type = EntriesClosed if close else TournamentOpened
        if not any(isinstance(event, kind) and event[0] == cup for event in self.events):
            self._happen(
                EntriesClosed(cup, "shax", self.now, tuple(entrants))
                if close
                else TournamentOpened(cup, "shax", self.now, "ref")
            )

    @rule(days=st.sampled_from([0.01, 1, 40, 91, 200]))
    def time_passes(self, days: float) -> None:
        """Nobody plays for a while."""
        self.now += timedelta(days=days)

    # What the worker does about it.

    @precondition(lambda self: self.coming)
    @rule(size=st.integers(1, 30), again=st.integers(0, 4))
    def deliver(self, size: int, again: int) -> None:
        """A batch comes, with some of what came before delivered again."""
        repeated = self.delivered[len(self.delivered) - min(again, len(self.delivered)) :]
        fresh, self.coming = self.coming[:size], self.coming[size:]
        batch = arrivals(fresh, first_offset=len(self.delivered))
        known = len(self.telling.changes)
        for event in fresh:
            self.telling.tell(event)
        applied = self._apply([*repeated, *batch])
        changes = [what for what, _ in applied.publications if isinstance(what, Change)]
        expected = [change for one in repeated for change in self.published.get(one.origin, [])]
        new = self.telling.changes[known:]
        assert sorted(changes, key=repr) == sorted([*expected, *new], key=repr)
        assert [change for change in changes if change in new] == new
        for arrival in batch:
            own = self._apply([arrival])  # told again alone, it says what came of it
            self.published[arrival.origin] = [what for what, _ in own.publications if isinstance(what, Change)]
        self.delivered += batch

    @precondition(lambda self: self.delivered)
    @rule(back=_few)
    def resend(self, back: int) -> None:
        """A backend sends something again: it counts once, and nothing is published."""
        arrival = self.delivered[-1 - back % len(self.delivered)]
        applied = self._apply([arrival._replace(origin=Origin("match-events", 1, self._number()))])
        assert applied.publications == []
        assert applied.resent + len(applied.refusals) == 1

    @precondition(lambda self: self.coming)
    @rule()
    def crash(self) -> None:
        """A worker dies before its commit: nothing of its batch is there."""

        async def die() -> None:
            async with self.ledger.transaction([]) as transaction:
                await transaction.apply(arrivals(self.coming, first_offset=len(self.delivered)))
                raise _DeathError

        try:
            self.runner.run(die())
        except _DeathError:
            return

    @precondition(lambda self: not self.coming)
    @rule()
    def sweep(self) -> None:
        """Housekeeping looks for who has been away."""
        known = len(self.telling.changes)
        done = self.runner.run(swept_by(self.ledger, Sweep(self.now)))
        self.telling.tell(Sweep(self.now))
        assert sorted(done.changes, key=repr) == sorted(self.telling.changes[known:], key=repr)

    @invariant()
    def chains_hold(self) -> None:
        """The book's own chains never break, or comparing with them would say nothing."""
        ends: dict[tuple[str, str], tuple[int, float]] = {}
        for change in self.telling.changes[-50:]:
            player = change.pool, change.player_id
            version, after = ends.get(player, (change.version - 1, change.before))
            assert (version + 1, after) == (change.version, change.before)
            ends[player] = change.version, change.after

    def _happen(self, event: Event) -> None:
        self.events.append(event)
        self.coming.append(event)

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _apply(self, batch: list[Arrival]) -> Applied:
        return self.runner.run(apply(self.ledger, batch))


class _DeathError(Exception):
    pass


async def _emptied(settings: Settings) -> Ledger:
    ledger = await Ledger.open(settings, POLICIES)
    async with ledger.pool.acquire() as connection:
        tables = await connection.fetchval(
            "select string_agg(tablename, ', ') from pg_tables "
            "where schemaname = 'public' and tablename not in ('alembic_version', 'policies')"
        )
        await connection.execute(f"truncate {tables}")
    return ledger


def test_whatever_happens_the_ledger_says_what_the_book_says(settings: Settings) -> None:
    """However events, batches, crashes, repeats and sweeps follow each other."""
    machine: Any = partial(LedgerMachine, settings)
    run_state_machine_as_test(
        machine,
        settings=hypothesis_settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[phase for phase in Phase if phase is not Phase.shrink],  # on a database that takes minutes
        ),
    )
