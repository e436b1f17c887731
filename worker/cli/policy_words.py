"""The rules of a policy version in words, for people who write rules and read no TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from worker.ledger.reads.explanation import number
from worker.rating.expected import FideTable, Logistic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.rating.inactivity import Inactivity
    from worker.rating.k_factor import KRule
    from worker.rating.policy import Policy
    from worker.rating.signals import Signals
    from worker.rating.tournaments import Entry


class Clause(NamedTuple):
    """One rule: what it is about, and what it says."""

    about: str
    words: str


def in_words(policy: Policy) -> Iterator[Clause]:
    """Say every rule of a version, those that it does without included."""
    yield Clause("start", f"everyone starts at {policy.start}")
    yield Clause("provisional", f"until {_games(policy.provisional_games)}" if policy.provisional_games else "nobody")
    counts = "only those that the server validated" if policy.require_verified else "validated by a server or not"
    yield Clause("matches that count", counts)
    halves = policy.draws == "half"
    yield Clause("draws", "half a point for both" if halves else "recorded, not rated")
    yield Clause("expected score", _expected(policy))
    if isinstance(policy.expected, FideTable):
        yield Clause("  largest gap of each", _table(policy.expected))
    if policy.expected.gap_cap is not None:
        yield Clause("  large gaps", _cap(policy.expected.gap_cap, policy.expected.gap_cap_below))
    yield Clause("K", "how much a match moves a player; the first of these rules that holds counts")
    yield from (Clause(f"  {rule.name}", f"{number(rule.k)}: {_whom(rule)}") for rule in policy.k_factor)
    yield Clause("match types", _match_types(policy))
    yield Clause("repeated pairings", _repeat_pair(policy))
    yield Clause("floor", _floor(policy))
    whole = "each change is rounded to whole points, half away from zero"
    kept = "none: changes are kept exact, and shown in whole points"
    yield Clause("rounding", whole if policy.rounding == "integer" else kept)
    yield Clause("inactivity", "none" if policy.inactivity is None else "; ".join(_inactivity(policy.inactivity)))
    yield Clause("tournaments", "; ".join(_tournaments(policy.tournaments)))
    signals = list(_signals(policy.signals))
    yield Clause("signals", "flagged for people to look at, never punished" if signals else "none")
    yield from signals
    yield Clause("titles", _titles(policy))
    yield from (Clause("note", note) for note in policy.notes)


def _expected(policy: Policy) -> str:
    method = policy.expected
    if isinstance(method, Logistic):
        return f"Elo's curve: {number(method.scale)} points ahead are odds of ten to one"
    return "FIDE's table 8.1.2: two decimals, by the gap rounded to whole points; the weaker side expects the rest to 1"


def _table(method: FideTable) -> str:
    rows = [f"{(50 + row) / 100:.2f}".lstrip("0") + f" {gap}" for row, gap in enumerate(method.table)]
    return f"{', '.join(rows)}; beyond that 1.00"


def _cap(cap: float, below: float | None) -> str:
    whom = "for everyone" if below is None else f"for a player rated below {number(below)}"
    return f"above {number(cap)} counts as {number(cap)} {whom}"


def _whom(rule: KRule) -> str:
    """Say for whom a K rule holds."""
    conditions = [
        None if rule.games_below is None else f"fewer than {_games(rule.games_below)} before the match",
        None if rule.rating_from is None else f"rated {number(rule.rating_from)} or more",
        None if rule.rating_below is None else f"rated below {number(rule.rating_below)}",
        None if rule.peak_from is None else f"has ever reached {number(rule.peak_from)}",
        None if rule.age_until is None else f"to the end of the year of birthday {rule.age_until}, where that is known",
        None if rule.pools is None else f"in pools {', '.join(rule.pools)}",
    ]
    return " and ".join(filter(None, conditions)) or "everyone else"


def _match_types(policy: Policy) -> str:
    if not policy.match_types:
        return "each weighs 1"
    weights = [
        f"{name} {f'× {number(weight)}' if weight else 'recorded, not rated'}"
        for name, weight in policy.match_types.items()
    ]
    return f"{', '.join(weights)}; any other × 1"


def _repeat_pair(policy: Policy) -> str:
    rule = policy.repeat_pair
    if rule is None:
        return "count in full, however many"
    full = rule.full_weight_games
    return (
        f"of a pair's games within {number(rule.window_hours)} h the first {full} weigh 1, each later one "
        f"{number(rule.factor)} of the one before, never less than {number(rule.minimum)}"
    )


def _floor(policy: Policy) -> str:
    floor = policy.floor
    if floor is None:
        return "none"
    if floor.action == "clamp":
        return f"no rating falls below {floor.at}"
    return f"who falls below {floor.at} is unrated and starts again at {policy.start}, with no games"


def _inactivity(rule: Inactivity) -> Iterator[str]:
    yield f"after {_days(rule.after_days)} without a rated game marked inactive, and off the leaderboard"
    if rule.step_days is not None and rule.step_points is not None and rule.lowest is not None:
        yield (
            f"every further full {_days(rule.step_days)} cost {rule.step_points} points, never below {rule.lowest} "
            "and never raising anyone"
        )
    else:
        yield "the rating stays"
    if rule.requalify_games:
        yield f"on return {_games(rule.requalify_games)} before leaderboard and tournaments open again"
    if rule.boost_games:
        yield f"the next {_games(rule.boost_games)} count with K × {number(rule.boost)}"


def _tournaments(rule: Entry | None) -> Iterator[str]:
    refused = ["suspended", "banned"]
    if rule is not None and rule.refuse_provisional:
        refused.append("provisional")
    if rule is not None and rule.refuse_inactive:
        refused += ["inactive", "yet to requalify"]
    yield f"nobody enters who is {', '.join(refused[:-1])} or {refused[-1]}"
    if rule is not None and rule.protection_days is not None and rule.protection_points is not None:
        yield (
            "seeded by the current rating when entries close, or by the best of the "
            f"{_days(rule.protection_days)} before less {number(rule.protection_points)}, whichever is higher"
        )
    else:
        yield "seeded by the current rating when entries close"


def _signals(rules: Signals | None) -> Iterator[Clause]:
    if rules is None:
        return
    if (farming := rules.farming) is not None:
        yield Clause(
            "  farming",
            f"one opponent supplies more than {farming.share:.0%} of the gain over {_games(farming.games)} or more, "
            f"of the latest {farming.window_games}",
        )
    if (trading := rules.win_trading) is not None:
        yield Clause(
            "  win-trading",
            f"a pair plays {trading.games} or more in {number(trading.hours)} h, each side winning at least "
            f"{trading.each_wins:.0%}",
        )
    if (boosting := rules.boosting) is not None:
        yield Clause(
            "  boosting", f"a provisional account loses {boosting.losses} or more in a row to the same opponent"
        )
    if (sandbagging := rules.sandbagging) is not None:
        yield Clause(
            "  sandbagging",
            f"{number(sandbagging.points)} points or more lost in {_days(sandbagging.days)} to opponents rated "
            f"{number(sandbagging.below)} or more below",
        )


def _titles(policy: Policy) -> str:
    lowest, *others = policy.ladder
    return ", ".join(
        [
            f"{lowest.title} (lowest)",
            *(f"{rung.title} {number(rung.lower)}" for rung in others if rung.lower is not None),
        ]
    )


def _games(count: int) -> str:
    return f"{count} rated game{'' if count == 1 else 's'}"


def _days(days: float) -> str:
    return f"{number(days)} day{'' if days == 1 else 's'}"
