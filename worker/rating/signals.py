"""Signals of manipulation: what in a player's or a pair's recent rated games looks like it.

rules.md, "Signals of manipulation". A signal is no verdict: the worker never punishes on one. Thresholds are policy
data. Voided matches do not belong to the games. A function looks at the games that it is given and at nothing else, so
its cost is that of the recent past, not of a player's history.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field, model_validator

from worker.rating.model import Notice, NoticeKind
from worker.rating.notices import notice_key, player_subject, policy_body
from worker.rating.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from worker.rating.policy import Policy

MOST_GAMES = 1000
LONGEST_DAYS = 366

Games = Annotated[int, Field(ge=1, le=MOST_GAMES)]
Share = Annotated[float, Field(gt=0, le=1)]


class Farming(Rule):
    """One opponent supplies more than `share` of a player's rating gain over `games` rated games or more.

    Attributes:
        games: With fewer games there is no signal.
        share: Of the gain.
        window_games: So many of the latest games are looked at.
    """

    games: Games
    share: Share
    window_games: Games

    @model_validator(mode="after")
    def _looks_at_enough(self) -> Farming:
        if self.window_games < self.games:
            raise ValueError(f"window_games = {self.window_games} must not be below games, {self.games}")
        return self


class WinTrading(Rule):
    """A pair plays `games` or more in `hours` with each side winning at least the share `each_wins`."""

    games: Games
    hours: Annotated[float, Field(gt=0, le=24 * LONGEST_DAYS)]
    each_wins: Annotated[float, Field(gt=0, le=0.5)]


class Boosting(Rule):
    """A provisional or newly reset account takes `losses` or more losses in a row to the same opponent."""

    losses: Games


class Sandbagging(Rule):
    """A player loses `points` or more in `days` to opponents rated `below` or more below."""

    points: Annotated[float, Field(gt=0)]
    days: Annotated[float, Field(gt=0, le=LONGEST_DAYS)]
    below: float


class Signals(Rule):
    """The signals that a policy asks for; None for one that it does not."""

    farming: Farming | None = None
    win_trading: WinTrading | None = None
    boosting: Boosting | None = None
    sandbagging: Sandbagging | None = None


class Signal(StrEnum):
    """What it looks like."""

    FARMING = "farming"
    WIN_TRADING = "win-trading"
    BOOSTING = "boosting"
    SANDBAGGING = "sandbagging"


class PlayedGame(NamedTuple):
    """One rated game of a player: a `Change` of reason `match` by the fields that signals look at.

    Attributes:
        before: The player's rating before the game; `opponent_before` the opponent's.
        games: The player's rated games since the start or the last restart, this one included.
    """

    opponent_id: str
    score: float
    delta: float
    before: float
    opponent_before: float
    finished_at: datetime
    games: int


class Evidence(NamedTuple):
    """What was found.

    Attributes:
        opponent_id: The other one, None where there is no single one.
        figures: What crossed the thresholds.
        why: The same as a sentence.
        last_at: When the last game of the evidence finished.
    """

    signal: Signal
    opponent_id: str | None
    figures: dict[str, float]
    why: str
    last_at: datetime


def signals_in(games: Sequence[PlayedGame], policy: Policy) -> Iterator[Evidence]:
    """Look for each signal that a policy asks for in a player's latest rated games in a pool, in order of time.

    Win trading is found from the side of either player: whoever tells of it tells of one case once.
    """
    rules = policy.signals
    if rules is None:
        return
    found: list[Evidence | None] = []
    if rules.farming is not None:
        found.append(farming(games, rules.farming))
    if rules.boosting is not None:
        found.append(boosting(games, rules.boosting, policy))
    if rules.sandbagging is not None:
        found.append(sandbagging(games, rules.sandbagging))
    if rules.win_trading is not None:
        by_opponent: defaultdict[str, list[PlayedGame]] = defaultdict(list)
        for game in games:
            by_opponent[game.opponent_id].append(game)
        found += [win_trading(pair, rules.win_trading) for pair in by_opponent.values()]
    yield from (evidence for evidence in found if evidence is not None)


def farming(games: Sequence[PlayedGame], rule: Farming) -> Evidence | None:
    """Tell whether one opponent supplies more than the share of what a player's rating rose by.

    The gain is that over all the games looked at, the latest `window_games`, losses deducted; what an opponent supplies
    is what the player's rating rose by in the games against them.

    Args:
        games: A player's latest rated games in a pool, in order of time.
        rule: The thresholds.
    """
    recent = games[-rule.window_games :]
    gain = sum(game.delta for game in recent)
    if len(recent) < rule.games or gain <= 0:
        return None
    supplied: dict[str, float] = defaultdict(float)
    for game in recent:
        supplied[game.opponent_id] += game.delta
    opponent, most = max(supplied.items(), key=lambda item: (item[1], item[0]))
    if most <= rule.share * gain:
        return None
    return Evidence(
        Signal.FARMING,
        opponent,
        {"games": len(recent), "gain": gain, "from_opponent": most, "share": most / gain},
        f"{most:.0f} of the {gain:.0f} points gained in {len(recent)} rated games came from {opponent}",
        max(game.finished_at for game in recent if game.opponent_id == opponent),
    )


def win_trading(games: Sequence[PlayedGame], rule: WinTrading) -> Evidence | None:
    """Tell whether a pair played often enough within the hours with each side winning often enough.

    Any run of the pair's games counts whose last finished less than `hours` after its first; of several the latest is
    given, and of those that end with the same game the longest.

    Args:
        games: The latest rated games of one player of the pair against the other in a pool, in order of time.
        rule: The thresholds.
    """
    window = timedelta(hours=rule.hours)
    for end in range(len(games), rule.games - 1, -1):
        last = games[end - 1]
        first = next(place for place, game in enumerate(games) if last.finished_at - game.finished_at < window)
        for start in range(first, end - rule.games + 1):
            run = games[start:end]
            wins, losses = sum(game.score == 1 for game in run), sum(game.score == 0 for game in run)
            if min(wins, losses) >= rule.each_wins * len(run):
                return Evidence(
                    Signal.WIN_TRADING,
                    last.opponent_id,
                    {"games": len(run), "hours": rule.hours, "wins": wins, "losses": losses},
                    f"{len(run)} rated games with {last.opponent_id} in {rule.hours:g} h: {wins} won, {losses} lost",
                    last.finished_at,
                )
    return None


def boosting(games: Sequence[PlayedGame], rule: Boosting, policy: Policy) -> Evidence | None:
    """Tell whether an account that is provisional, as a newly reset one is, lost often enough in a row to one opponent.

    In a row is meant of the games against that opponent: games against others in between hide nothing. Each game must
    have found the account provisional. Of several runs the latest is given.

    Args:
        games: A player's latest rated games in a pool, in order of time.
        rule: The thresholds.
        policy: Says who is provisional.
    """
    rows: dict[str, int] = defaultdict(int)
    found: Evidence | None = None
    for game in games:
        if game.score > 0 or not policy.provisional(game.games - 1):
            rows[game.opponent_id] = 0
            continue
        rows[game.opponent_id] += 1
        losses = rows[game.opponent_id]
        if losses >= rule.losses:
            found = Evidence(
                Signal.BOOSTING,
                game.opponent_id,
                {"losses": losses, "games": game.games},
                f"a provisional account of {game.games} rated games lost {losses} in a row to {game.opponent_id}",
                game.finished_at,
            )
    return found


def sandbagging(games: Sequence[PlayedGame], rule: Sandbagging) -> Evidence | None:
    """Tell whether a player lost enough points within the days to opponents rated far enough below.

    Counted are the points that games against such opponents cost, draws included; what others of them brought is not
    set against it. The days end with any of those games; of several such times the latest is given.

    Args:
        games: A player's latest rated games in a pool, in order of time.
        rule: The thresholds.
    """
    window = timedelta(days=rule.days)
    lost = [game for game in games if game.delta < 0 and game.before - game.opponent_before >= rule.below]
    for end in range(len(lost), 0, -1):
        last = lost[end - 1]
        run = [game for game in lost[:end] if last.finished_at - game.finished_at < window]
        points = -sum(game.delta for game in run)
        if points >= rule.points:
            below = min(game.before - game.opponent_before for game in run)
            return Evidence(
                Signal.SANDBAGGING,
                None,
                {"points": points, "days": rule.days, "games": len(run), "below": below},
                f"{points:.0f} points lost in {rule.days:g} days, in {len(run)} games against opponents rated "
                f"{below:.0f} or more below",
                last.finished_at,
            )
    return None


def flagged(pool: str, player_id: str, evidence: Evidence, policy: Policy) -> Notice:
    """Make the notice of a signal: one for each case and day, the day being that of the last game of the evidence.

    A case is a signal, a pool, a player and, where there is one, an opponent. Win trading is both players' case alike:
    look at the pair from the side of the lower id only, or it is flagged twice.

    Args:
        pool: The pool.
        player_id: Whose games they are.
        evidence: What was found.
        policy: The version whose thresholds they are.
    """
    signal, opponent, figures, why, last_at = evidence
    day = last_at.date().isoformat()
    return Notice(
        kind=NoticeKind.INTEGRITY_FLAGGED,
        key=notice_key(signal, pool, player_id, opponent or "", day),
        subject=player_subject(pool, player_id),
        occurred_at=last_at,
        body={
            "signal": signal,
            "pool": pool,
            "player_id": player_id,
            "opponent_id": opponent,
            "day": day,
            "evidence": figures,
            "why": why,
            "policy": policy_body(policy),
        },
    )
