"""What stands behind a signal of manipulation: the figures against the policy's thresholds, and the games.

Whether there is a signal is for the core to say, now as when housekeeping flagged it. This only finds the games again
that the core's figures speak of, and checks that they add up to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from worker.ledger.reads.explanation import number
from worker.rating.signals import Signal, flagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from worker.ledger.reads import Flag, RatedGame
    from worker.rating.policy import Policy
    from worker.rating.signals import Evidence, PlayedGame, Signals


class Measure(NamedTuple):
    """A figure, and what the policy flags: at least so much, or more than it where it says so."""

    name: str
    value: str
    threshold: str


@dataclass(frozen=True, slots=True)
class Case:
    """A signal with what stands behind it.

    Attributes:
        player_id: Whose games they are.
        opponent_id: The other one; None where there is no single one.
        figures: As the core gives them.
        why: The same in a sentence.
        last_at: When the last game of the evidence finished.
        policy: The name and version whose thresholds they are.
        measures: The figures against those thresholds; empty where the version can't be read.
        games: In order of time.
        adds_up: Whether the games give the figures.
        published_at: When it was published as a notice, None if it was not.
    """

    signal: Signal
    pool: str
    player_id: str
    opponent_id: str | None
    figures: Mapping[str, float]
    why: str
    last_at: datetime
    policy: tuple[str, int]
    measures: tuple[Measure, ...]
    games: tuple[RatedGame, ...]
    adds_up: bool
    published_at: datetime | None = None


def key_of(pool: str, player_id: str, evidence: Evidence, policy: Policy) -> str:
    """Give the key that housekeeping publishes a signal under: win trading is flagged for the lower id of the pair."""
    opponent = evidence.opponent_id
    if evidence.signal is Signal.WIN_TRADING and opponent is not None and opponent < player_id:
        player_id, evidence = opponent, evidence._replace(opponent_id=player_id)
    return flagged(pool, player_id, evidence, policy).key


def case_of(pool: str, player_id: str, found: Evidence, policy: Policy, games: Sequence[RatedGame]) -> Case:
    """Put together what stands behind a signal that the core gives now."""
    signal, opponent_id, figures, why, last_at = found
    its = behind(signal, opponent_id, figures, last_at, games)
    return Case(
        signal,
        pool,
        player_id,
        opponent_id,
        figures,
        why,
        last_at,
        (policy.name, policy.version),
        () if policy.signals is None else tuple(measures(signal, figures, policy.signals)),
        its,
        adds_up(signal, figures, its),
    )


def case_of_flag(flag: Flag, policy: Policy | None, games: Sequence[RatedGame]) -> Case:
    """Put together what stood behind a signal that was published.

    Args:
        flag: The signal.
        policy: The version that it names; None where it can't be read.
        games: The latest of the player when it was published.
    """
    body = flag.body
    signal, opponent_id, figures = Signal(body["signal"]), body["opponent_id"], body["evidence"]
    rules = None if policy is None else policy.signals
    its = behind(signal, opponent_id, figures, flag.last_at, games)
    return Case(
        signal,
        body["pool"],
        body["player_id"],
        opponent_id,
        figures,
        body["why"],
        flag.last_at,
        (body["policy"]["name"], body["policy"]["version"]),
        () if rules is None else tuple(measures(signal, figures, rules)),
        its,
        adds_up(signal, figures, its),
        flag.published_at,
    )


def published(case: Case, at: datetime | None) -> Case:
    """Say of a case when it was published."""
    return replace(case, published_at=at)


def behind(
    signal: Signal, opponent_id: str | None, figures: Mapping[str, float], last_at: datetime, games: Sequence[RatedGame]
) -> tuple[RatedGame, ...]:
    """Find the games that the figures of a signal speak of.

    Args:
        signal: What it looks like.
        opponent_id: The other one.
        figures: As the core gave them.
        last_at: When the last of the games finished.
        games: Those that the core looked at, in order of time.
    """
    if signal is Signal.FARMING:
        recent = games[-int(figures["games"]) :]
        return tuple(one for one in recent if one.game.opponent_id == opponent_id)
    until = [one for one in games if one.game.finished_at <= last_at]
    if signal is Signal.SANDBAGGING:
        days = timedelta(days=figures["days"])
        return tuple(one for one in until if _lost_below(one.game, figures["below"], last_at - days))
    pair = [one for one in until if one.game.opponent_id == opponent_id]
    count = int(figures["losses" if signal is Signal.BOOSTING else "games"])
    # A run of the pair's games. Which of several that finished at the last moment is its last, the figures tell.
    ends = [end for end in range(len(pair), 0, -1) if pair[end - 1].game.finished_at == last_at]
    runs = [tuple(pair[max(0, end - count) : end]) for end in ends]
    return next((run for run in runs if adds_up(signal, figures, run)), runs[0] if runs else ())


def adds_up(signal: Signal, figures: Mapping[str, float], games: Sequence[RatedGame]) -> bool:
    """Tell whether games give the figures of a signal."""
    points = sum(one.game.delta for one in games)
    match signal:
        case Signal.FARMING:
            return math.isclose(points, figures["from_opponent"])
        case Signal.SANDBAGGING:
            return len(games) == figures["games"] and math.isclose(-points, figures["points"])
        case Signal.BOOSTING:
            return len(games) == figures["losses"] and not any(one.game.score for one in games)
        case Signal.WIN_TRADING:
            wins, losses = (sum(one.game.score == score for one in games) for score in (1.0, 0.0))
            return len(games) == figures["games"] and (wins, losses) == (figures["wins"], figures["losses"])


def measures(signal: Signal, figures: Mapping[str, float], rules: Signals) -> Iterator[Measure]:
    """Set the figures of a signal beside the thresholds that they crossed; none for one that the rules don't know."""
    if signal is Signal.FARMING and (farmed := rules.farming) is not None:
        share = f"{figures['share']:.0%} of {number(figures['gain'], 1)} points"
        yield Measure("share of the gain from this opponent", share, f"more than {farmed.share:.0%}")
        yield Measure("rated games", number(figures["games"]), f"{farmed.games} or more")
    elif signal is Signal.WIN_TRADING and (traded := rules.win_trading) is not None:
        least = min(figures["wins"], figures["losses"]) / figures["games"]
        yield Measure(f"games in {number(traded.hours)} h", number(figures["games"]), f"{traded.games} or more")
        yield Measure("share that each side won, at least", f"{least:.0%}", f"{traded.each_wins:.0%} or more")
    elif signal is Signal.BOOSTING and (boosted := rules.boosting) is not None:
        yield Measure("losses in a row to this opponent", number(figures["losses"]), f"{boosted.losses} or more")
    elif signal is Signal.SANDBAGGING and (bagged := rules.sandbagging) is not None:
        yield Measure(
            f"points lost in {number(bagged.days)} days",
            number(figures["points"], 1),
            f"{number(bagged.points)} or more",
        )
        yield Measure(
            "opponents rated below by, at least", number(figures["below"], 1), f"{number(bagged.below)} or more"
        )


def _lost_below(game: PlayedGame, below: float, after: datetime) -> bool:
    return game.delta < 0 and game.before - game.opponent_before >= below and game.finished_at > after
