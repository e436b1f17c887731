"""Why a match moved two ratings as it did: each number of the ledger, with the rule that it came from, in words.

The numbers are the ledger's. Beside them the match is rated again by the pure core, from the states and the policy that
the ledger keeps; a number that comes out differently, in its last bit, is named as a contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from worker.events import whole_points
from worker.rating.expected import Logistic
from worker.rating.floor import FLOOR
from worker.rating.model import Change, Rated, Reason
from worker.rating.rate import ACTIVITY_BOOST, DRAWN, GAP_CAP, ROUNDING, UNVERIFIED, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from worker.ledger.reads.matches import MatchRecord, SideRecord
    from worker.rating.k_factor import KRule
    from worker.rating.policy import Policy

RESULTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}


class Line(NamedTuple):
    """One number with its name and the rule that it came from."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class SideExplained:
    """What the match gave one player, line by line."""

    player_id: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A match in words.

    Attributes:
        unrated: Why it moved no rating; None if it did.
        sides: One for each player; empty if it is not rated.
        contradictions: Where the ledger's numbers are not what the rules give. There should be none, ever.
    """

    unrated: str | None
    sides: list[SideExplained] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)


def explain(record: MatchRecord) -> Explanation:
    """Explain a recorded match."""
    policy = record.policy
    if record.unrated_reason is not None or policy is None:
        return Explanation(_why_unrated(record))
    one, other = record.sides
    return Explanation(
        None,
        [
            SideExplained(side.side.id, list(_side(side, opponent, policy, record)))
            for side, opponent in ((one, other), (other, one))
        ],
        list(contradictions(record)),
    )


def contradictions(record: MatchRecord) -> Iterator[str]:
    """Rate a rated match again, from what stood before it, and name what comes out differently from the ledger."""
    policy, (one, other) = record.policy, record.sides
    if policy is None or one.before is None or other.before is None:
        return
    if policy.ref != record.policy_ref:
        yield f"policy: the ledger calls it {record.policy_ref}, its content is that of {policy.ref}"
    again = rate(record.match, one.before, other.before, record.earlier_pair_games, policy)
    if not isinstance(again, Rated):
        yield f"the ledger has changes, but the rules don't rate this match ({again.reason})"
        return
    stored = {(change.player_id, change.version): change for change in (*one.changes, *other.changes)}
    given = {(change.player_id, change.version): change for change in again.changes}
    for key in sorted(stored.keys() | given.keys()):
        player, version = key
        if key not in stored or key not in given:
            yield f"{player}, change {version}: " + (
                "the rules give it, the ledger lacks it"
                if key in given
                else "the ledger has it, the rules don't give it"
            )
            continue
        for name, old, new in zip(Change._fields, stored[key], given[key], strict=True):
            if old != new and name != "policy":
                yield f"{player}, change {version}, {name}: the ledger has {old!r}, the rules give {new!r}"


def number(value: float, places: int = 3) -> str:
    """Give a number with so many decimals at most, and no zeros at its end."""
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float) -> str:
    """Give a change with its sign."""
    return f"{'+' if value >= 0 else '−'}{number(abs(value))}"


def rating(value: float) -> str:
    """Give a rating as it is kept, and as people see it where that differs."""
    kept, shown = number(value), str(whole_points(value))
    return kept if kept == shown else f"{kept} (shown as {shown})"


def _side(side: SideRecord, opponent: SideRecord, policy: Policy, record: MatchRecord) -> Iterator[Line]:
    if side.absence:
        first, last = side.absence[0], side.absence[-1]
        steps = (
            f"{len(side.absence)} step{'' if len(side.absence) == 1 else 's'} for not playing, due before this match"
        )
        yield Line("absence", signed(last.after - first.before), f"{steps}: {rating(first.before)} before them")
    for change in side.changes:
        if change.reason is Reason.FLOOR:
            yield from _restart(change, policy)
        else:
            yield from _game(change, side, opponent.changes[0].before, policy, record)
    if side.reversal is not None:
        yield from _reversal(side.reversal)


def _game(
    change: Change, side: SideRecord, opponent_before: float, policy: Policy, record: MatchRecord
) -> Iterator[Line]:
    expected, score, k = change.expected or 0.0, change.score or 0.0, change.k or 0.0
    yield Line("before", rating(change.before), change.title_before)
    yield Line("opponent before", rating(opponent_before), f"{change.opponent_id}, {policy.title(opponent_before)}")
    yield _gap(change, opponent_before, policy)
    yield Line("expected", number(expected, 6), _method(change, opponent_before, policy))
    yield Line("score", number(score), RESULTS[score])
    yield Line("K", number(k), _k_rule(change, side, policy, record))
    yield Line("weight", number(change.weight, 6), _weight(change, policy, record))
    formula = k * change.weight * (score - expected)
    figures = (
        f"{number(k)} × {number(change.weight, 6)} × ({number(score)} − {number(expected, 6)}) = {signed(formula)}"
    )
    yield Line("change", signed(change.delta), f"K × weight × (score − expected) = {figures}")
    if ROUNDING in change.adjusted:
        yield Line(
            "rounding", signed(whole_points(formula)), "this policy rounds changes to whole points, half away from zero"
        )
    if FLOOR in change.adjusted and policy.floor is not None:
        yield Line("floor", number(policy.floor.at), "no rating falls below it, so the loss ends there")
    yield _after(change)
    yield _title(change)
    yield _games(change, policy)


def _restart(change: Change, policy: Policy) -> Iterator[Line]:
    floor = policy.floor.at if policy.floor else 0
    why = f"a rating below {floor} becomes unrated: the player starts again"
    yield Line("below the floor", rating(change.before), why)
    yield Line("after", rating(change.after), f"the start of policy {policy.name}, with no games")
    yield _title(change)


def _reversal(change: Change) -> Iterator[Line]:
    why = "the match was voided: it no longer counts, and what it gave or cost is taken back"
    if change.delta == 0:
        why = "the match was voided: it no longer counts; the player has started again since, so no points move"
    yield Line("voided", signed(change.delta), why)
    yield _after(change)


def _after(change: Change) -> Line:
    sign = "−" if change.delta < 0 else "+"
    return Line("after", rating(change.after), f"{number(change.before)} {sign} {number(abs(change.delta))}")


def _gap(change: Change, opponent_before: float, policy: Policy) -> Line:
    gap = change.before - opponent_before
    said = "even" if gap == 0 else f"{number(abs(gap))} {'ahead' if gap > 0 else 'behind'}"
    why = f"{number(change.before)} − {number(opponent_before)}"
    cap = policy.expected.gap_cap
    if GAP_CAP in change.adjusted and cap is not None:
        below = policy.expected.gap_cap_below
        whom = "" if below is None else f" for a player rated below {number(below)}"
        why += f"; counts as {number(cap)}: a larger gap does not count in full{whom}"
    return Line("gap", said, why)


def _method(change: Change, opponent_before: float, policy: Policy) -> str:
    method = policy.expected
    ahead = change.before - opponent_before
    gap = abs(ahead)
    if GAP_CAP in change.adjusted and method.gap_cap is not None:
        gap = method.gap_cap
    if isinstance(method, Logistic):
        power = "0" if gap == 0 else f"{'−' if ahead > 0 else ''}{number(gap)} / {number(method.scale)}"
        return f"Elo's curve, 1 / (1 + 10 ^ ({power}))"
    side = "the stronger side" if ahead >= 0 else "the weaker side, 1 minus the stronger one's"
    return f"FIDE's table 8.1.2, for a gap of {whole_points(gap)} whole points: {side}"


def _k_rule(change: Change, side: SideRecord, policy: Policy, record: MatchRecord) -> str:
    rule = next((rule for rule in policy.k_factor if rule.name == change.k_rule), None)
    if rule is None:
        return f"rule “{change.k_rule}”"
    conditions = list(_conditions(rule, change, side, record))
    if not conditions:
        conditions = [f"{_count(change.games - 1)} before this one, and no earlier rule holds"]
    if ACTIVITY_BOOST in change.adjusted and policy.inactivity is not None:
        conditions.append(
            f"{number(rule.k)} × {number(policy.inactivity.boost)} for one of the first games after an absence"
        )
    return f"rule “{rule.name}”: {'; '.join(conditions)}"


def _conditions(rule: KRule, change: Change, side: SideRecord, record: MatchRecord) -> Iterator[str]:
    if rule.games_below is not None:
        yield f"{_count(change.games - 1)} before this one, fewer than {rule.games_below}"
    if rule.rating_from is not None:
        yield f"a rating of {number(rule.rating_from)} or more"
    if rule.rating_below is not None:
        yield f"a rating below {number(rule.rating_below)}"
    if rule.peak_from is not None:
        peak = max(change.before, side.before.peak if side.before else change.before)
        yield f"has reached {number(rule.peak_from)} (highest so far: {number(peak)})"
    if rule.age_until is not None:
        yield f"born in {side.side.birth_year}: holds to the end of the year of birthday {rule.age_until}"
    if rule.pools is not None:
        yield f"holds for everyone in pool {record.match.pool}"


def _weight(change: Change, policy: Policy, record: MatchRecord) -> str:
    if change.factors:
        return "; ".join(f"{factor.name} {number(factor.value, 6)}: {factor.why}" for factor in change.factors)
    why = "counts in full"
    if policy.repeat_pair is not None:
        hours = number(policy.repeat_pair.window_hours)
        why += f": game {record.earlier_pair_games + 1} of this pair in {hours} h"
    return why


def _title(change: Change) -> Line:
    if change.title_before == change.title_after:
        return Line("title", change.title_after, "as before")
    up = change.after > change.before
    return Line("title", change.title_after, f"{'risen' if up else 'fallen'} from {change.title_before}")


def _games(change: Change, policy: Policy) -> Line:
    why = f"provisional until {_count(policy.provisional_games)}" if change.provisional else "established"
    return Line("rated games", str(change.games), why)


def _why_unrated(record: MatchRecord) -> str:
    reason, match, who = record.unrated_reason or "", record.match, record.unrated_player or "a player"
    whose = f"the policy of pool {match.pool}"
    reasons = {
        UNVERIFIED: "no server validated this match (it came with verified: false), and "
        f"{whose} counts only validated ones",
        "voided": "this match was nullified before it arrived",
        "suspended": f"{who} was suspended when it was played",
        DRAWN: f"{whose} records draws and does not rate them",
        "tournament-banned": f"{who} was banned from tournaments when it was played",
        "tournament-refused": f"{who} was refused entry to tournament {match.tournament_id}",
        "tournament-provisional": f"{who} was provisional, and {whose} lets only established players into tournaments",
        "tournament-inactive": f"{who} was inactive, and had to requalify before playing tournaments",
        match.match_type: f"{whose} gives {match.match_type} matches no weight; they are recorded, not rated",
    }
    return f"{reason}: {reasons[reason]}" if reason in reasons else reason


def _count(games: int) -> str:
    return f"{games or 'no'} rated game{'' if games == 1 else 's'}"
