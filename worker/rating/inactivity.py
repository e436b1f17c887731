"""Inactivity: who has not played a rated match for long is marked, loses points step by step, and requalifies.

rules.md, policy `biciid`: after 90 days marked inactive; every further full 30 days costs 15 points, never below 1200
and never raising anyone; on return, 5 games of requalification. Policy `fide`: after a year marked, rating unchanged.

Everything here follows from when the player last played and from the dates of the policy's versions, so it comes out
the same whenever and however often anybody looks. Each version has its own calendar of steps, and of it those steps
count that fall while the version holds: a new version never acts on the time before it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field, model_validator

from worker.rating.entry import entry
from worker.rating.model import Notice, NoticeKind, Reason
from worker.rating.notices import notice_key, player_subject, policy_body
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from worker.rating.model import Change, PlayerState
    from worker.rating.policy import Policy
    from worker.rating.policy_set import Versions

LONGEST_DAYS = 366 * 100
DECAY = "step_days", "step_points", "lowest"

Days = Annotated[float, Field(gt=0, le=LONGEST_DAYS)]


class Inactivity(Rule):
    """A policy's rule of inactivity.

    Attributes:
        after_days: Without a rated match for so many days, a player is marked inactive.
        step_days: Every further full so many days cost `step_points`; None for no decay.
        step_points: What a step costs, in whole points.
        lowest: Decay goes no lower, and does not touch who is lower already; in whole points.
        requalify_games: So many rated games after their return, the one that they return with included, keep a player
            from the leaderboard and from tournaments.
        boost_games: So many rated games after those count with K times `boost`.
        boost: The multiplier for activity.
    """

    after_days: Days
    step_days: Days | None = None
    step_points: Annotated[int | None, Field(gt=0)] = None
    lowest: Annotated[int | None, Field(ge=0)] = None
    requalify_games: Annotated[int, Field(ge=0)] = 0
    boost_games: Annotated[int, Field(ge=0)] = 0
    boost: Annotated[float, Field(gt=0)] = 1.0

    @model_validator(mode="after")
    def _decays_wholly_or_not_at_all(self) -> Inactivity:
        given = [name for name in DECAY if getattr(self, name) is not None]
        if given and len(given) < len(DECAY):
            raise ValueError(f"{', '.join(DECAY)} go together; there is only {' and '.join(given)}")
        return self

    @cached_property
    def after(self) -> timedelta:
        """How long an absence is inactivity."""
        return timedelta(days=self.after_days)

    @cached_property
    def step(self) -> timedelta | None:
        """How long a step of decay is, None for no decay."""
        return None if self.step_days is None else timedelta(days=self.step_days)


class Aged(NamedTuple):
    """What an absence did to a player.

    Attributes:
        state: Where it left them.
        changes: The steps that cost something, in order.
        notices: That they became inactive, if that is new.
    """

    state: PlayerState
    changes: tuple[Change, ...]
    notices: tuple[Notice, ...]


def age(pool: str, player_id: str, state: PlayerState, versions: Versions, until: datetime) -> Aged:
    """Do what a player owes for their absence up to a time, inclusive, and has not done yet.

    Step n falls `after_days` and n times `step_days` after the last rated match. A step that costs nothing is counted
    and gives no change, so the work is bounded by the points that there are to lose, not by the length of the absence.

    Args:
        pool: The pool.
        player_id: The player.
        state: Where they stand. Who has never played has nothing to lose.
        versions: Those of the pool's policy.
        until: Up to when; never a time in the future of what is known.
    """
    last = state.last_played_at
    if last is None or versions.idle_after is None or until - last < versions.idle_after:
        return Aged(state, (), ())
    notices: tuple[Notice, ...] = ()
    marked = marked_at(last, versions)
    if not state.inactive and marked is not None and marked[0] <= until:
        state = state._replace(inactive=True)
        notices = (_became_inactive(pool, player_id, last, *marked),)
    changes: list[Change] = []
    done = state.idle_steps
    for policy, first, count in _steps(last, versions, until):
        if done >= count:
            done -= count
            continue
        state = _take_steps(pool, player_id, state, policy, range(first + done, first + count), changes)
        done = 0
    return Aged(state, tuple(changes), notices)


def changes_of(aged: Iterable[Aged]) -> tuple[Change, ...]:
    """Give the changes of several absences, one after the other."""
    return tuple(change for one in aged for change in one.changes)


def notices_of(aged: Iterable[Aged]) -> tuple[Notice, ...]:
    """Give the notices of several absences, one after the other."""
    return tuple(notice for one in aged for notice in one.notices)


def marked_at(last: datetime, versions: Versions) -> tuple[datetime, Policy] | None:
    """Give when a player who last played at `last` becomes inactive, and by which version; None for never.

    A version that comes into force when they have been absent for long enough already marks them at that moment.
    """
    for span in versions.spans:
        rule = span.policy.inactivity
        at = None if rule is None else _after(last, rule.after)
        if at is None:
            continue
        if span.since is not None:
            at = max(at, span.since)
        if span.until is None or at < span.until:
            return at, span.policy
    return None


def is_inactive(state: PlayerState, versions: Versions, when: datetime) -> bool:
    """Tell whether a player counts as inactive at a time: marked by then, noticed or not, or still requalifying.

    Of a time before their last match nothing is known but that they played again.
    """
    if state.requalify > 0:
        return True
    last = state.last_played_at
    if last is None or versions.idle_after is None or when - last < versions.idle_after:
        return False
    marked = marked_at(last, versions)
    return marked is not None and marked[0] <= when


def is_away(state: PlayerState, finished_at: datetime, idle_after: timedelta) -> bool:
    """Tell whether a match that finished then may find a player away: cheap, and never False for one who is."""
    last = state.last_played_at
    return last is not None and (state.inactive or finished_at - last >= idle_after)


def come_back(pool: str, player_id: str, state: PlayerState, versions: Versions, finished_at: datetime) -> Aged:
    """Do what a player owes up to a match of theirs, and give where they stand as it begins: back, and requalifying.

    A match that comes late, finished before the latest that is known, is no return. Neither is one that finished before
    its player was marked inactive, though a sweep has marked them since: the mark goes; points that a sweep took for
    days on which, as it now turns out, the player was not absent for so long stay taken.
    """
    last = state.last_played_at
    if last is None or finished_at <= last:
        return Aged(state, (), ())
    state, changes, notices = age(pool, player_id, state, versions, finished_at)
    marked = marked_at(last, versions)
    rule = versions.at(finished_at).inactivity
    state = state._replace(inactive=False, idle_steps=0)
    if marked is not None and marked[0] <= finished_at and rule is not None:
        boost = 0 if rule.requalify_games else rule.boost_games
        state = state._replace(requalify=rule.requalify_games, boost=boost)
    return Aged(state, changes, notices)


def count_game(state: PlayerState, policy: Policy) -> tuple[int, int]:
    """Give the games of requalification and of the multiplier that are left after one more rated game."""
    if state.requalify > 1:
        return state.requalify - 1, 0
    if state.requalify == 1:
        return 0, policy.inactivity.boost_games if policy.inactivity else 0
    return 0, max(state.boost - 1, 0)


def _steps(last: datetime, versions: Versions, until: datetime) -> Iterator[tuple[Policy, int, int]]:
    """Give each version that takes steps, the number of the first in its time, and how many fall by `until`."""
    for policy, since, end in versions.spans:
        rule = policy.inactivity
        if rule is None or rule.step is None:
            continue
        origin = _age_of(last) + rule.after  # step n falls n steps after this
        first = 1
        if since is not None:
            first = max(first, -((origin - _age_of(since)) // rule.step))  # rounded up: at `since` or later
        beyond = (_age_of(until) - origin) // rule.step + 1  # at `until` at the latest
        if end is not None:
            beyond = min(beyond, -((origin - _age_of(end)) // rule.step))  # before `end`
        yield policy, first, max(0, beyond - first)


def _take_steps(
    pool: str, player_id: str, state: PlayerState, policy: Policy, numbers: range, changes: list[Change]
) -> PlayerState:
    """Take steps of one version, appending what they cost to `changes`, and give where they leave the player."""
    rule, last = policy.inactivity, state.last_played_at
    if rule is None or rule.step is None or rule.step_points is None or rule.lowest is None or last is None:
        raise AssertionError("a version without decay has no steps")
    done = state.idle_steps + len(numbers)
    for number in numbers:
        loss = min(float(rule.step_points), state.rating - rule.lowest)
        if loss <= 0:  # and so it stays for all later steps
            break
        moved = state._replace(rating=state.rating - loss, version=state.version + 1, idle_steps=state.idle_steps + 1)
        changes.append(
            entry(
                pool,
                player_id,
                Reason.INACTIVITY,
                (state, moved),
                -loss,
                policy,
                last + rule.after + number * rule.step,
            )
        )
        state = moved
    return state._replace(idle_steps=done)


def _became_inactive(pool: str, player_id: str, last: datetime, at: datetime, policy: Policy) -> Notice:
    return Notice(
        kind=NoticeKind.PLAYER_INACTIVE,
        key=notice_key(pool, player_id, at.isoformat()),
        subject=player_subject(pool, player_id),
        occurred_at=at,
        body={"pool": pool, "player_id": player_id, "last_played_at": last, "policy": policy_body(policy)},
    )


def _after(time: datetime, length: timedelta) -> datetime | None:
    """Add, unless the sum lies beyond the end of time."""
    return time + length if length <= datetime.max.replace(tzinfo=time.tzinfo) - time else None


def _age_of(time: datetime) -> timedelta:
    """Give a time as what has passed since the beginning of time: differences of those never overflow."""
    return time - datetime.min.replace(tzinfo=time.tzinfo)
