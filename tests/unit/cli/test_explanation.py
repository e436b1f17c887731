"""Explanations: each number with the rule that it came from, and loud words where the ledger contradicts itself."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.unit.cli.recorded import AT, BICIID, FIDE, POLICIES, YIBOARD, a_match, recorded, standing
from worker.cli.render_match import print_explanation
from worker.ledger.reads.explanation import explain, number, signed
from worker.ledger.reads.shapes import explanation_json
from worker.rating import Policy, Reason
from worker.rating.model import Void

if TYPE_CHECKING:
    from worker.ledger.reads import MatchRecord


def lines_of(record: MatchRecord, player: str = "ann") -> dict[str, tuple[str, str]]:
    """Explain a match; one player's lines by name."""
    explanation = explain(record)
    assert explanation.contradictions == []
    side = next(side for side in explanation.sides if side.player_id == player)
    return {line.name: (line.value, line.why) for line in side.lines}


def printed(record: MatchRecord) -> str:
    """Explain a match as a terminal shows it."""
    out = io.StringIO()
    print_explanation(Console(file=out, width=200, highlight=False), record, explain(record))
    return out.getvalue()


def test_a_plain_match() -> None:
    """Every number of an established player's win is there, each with its rule, and the figures of the formula."""
    lines = lines_of(recorded(a_match(), standing(1200.0), standing(1400.0), YIBOARD))
    assert lines == {
        "before": ("1200", "Sixth Grade"),
        "opponent before": ("1400", "bob, Second Grade"),
        "gap": ("200 behind", "1200 − 1400"),
        "expected": ("0.240253", "Elo's curve, 1 / (1 + 10 ^ (200 / 400))"),
        "score": ("1", "win"),
        "K": ("32", "rule “established”: 50 rated games before this one, and no earlier rule holds"),
        "weight": ("1", "counts in full: game 1 of this pair in 24 h"),
        "change": ("+24.312", "K × weight × (score − expected) = 32 × 1 × (1 − 0.240253) = +24.312"),
        "after": ("1224.312 (shown as 1224)", "1200 + 24.312"),
        "title": ("Sixth Grade", "as before"),
        "rated games": ("51", "established"),
    }


def test_a_provisional_player() -> None:
    """A provisional K names the games that it counts, and how long it holds."""
    lines = lines_of(recorded(a_match(0.0), standing(1200.0, games=1), standing(1200.0, games=9), YIBOARD))
    assert lines["K"] == ("64", "rule “provisional”: 1 rated game before this one, fewer than 10")
    assert lines["rated games"] == ("2", "provisional until 10 rated games")
    assert lines["after"] == ("1168", "1200 − 32")
    assert lines["title"] == ("Seventh Grade", "fallen from Sixth Grade")


def test_repetition_and_match_type() -> None:
    """Each factor of a weight is named with its reason."""
    record = recorded(a_match(match_type="tournament", pool="shax"), standing(1000.0), standing(1000.0), BICIID, 4)
    assert lines_of(record)["weight"] == (
        "0.3125",
        "repeat-pair 0.25: game 5 of this pair in 24 h; match-type 1.25: tournament match",
    )
    assert "32 × 0.3125 × (1 − 0.5) = +5" in lines_of(record)["change"][1]


def test_the_floor_stops_a_fall() -> None:
    """A loss that a floor cuts short says what the formula gave and what was taken."""
    lines = lines_of(recorded(a_match(0.0, pool="shax"), standing(5.0), standing(5.0), BICIID))
    assert lines["change"] == ("−5", "K × weight × (score − expected) = 32 × 1 × (0 − 0.5) = −16")
    assert lines["floor"] == ("0", "no rating falls below it, so the loss ends there")
    assert lines["after"] == ("0", "5 − 5")


def test_the_floor_starts_again() -> None:
    """A player below a floor that restarts is told both steps: the fall and the new start."""
    record = recorded(a_match(0.0, pool="chess/blitz"), standing(1405.0), standing(1405.0), FIDE)
    side = explain(record).sides[0]
    assert [(line.name, line.value) for line in side.lines][-4:] == [
        ("rated games", "51"),
        ("below the floor", "1395"),
        ("after", "1500"),
        ("title", "intermediate"),
    ]
    assert explain(record).contradictions == []


def test_the_table_and_the_cap() -> None:
    """FIDE's table is named with the gap that was looked up, and a cap with whom it holds for."""
    lines = lines_of(recorded(a_match(pool="chess/standard"), standing(1500.0), standing(2300.0), FIDE))
    assert lines["gap"] == (
        "800 behind",
        "1500 − 2300; counts as 400: a larger gap does not count in full for a player rated below 2650",
    )
    assert lines["expected"] == (
        "0.08",
        "FIDE's table 8.1.2, for a gap of 400 whole points: the weaker side, 1 minus the stronger one's",
    )


@pytest.mark.parametrize(
    ("games", "rating", "peak", "birth_year", "why"),
    [
        (90, 2350.0, 2410.0, None, "rule “elite”: has reached 2400 (highest so far: 2410)"),
        (90, 1800.0, 1800.0, 2010, "rule “junior”: a rating below 2300; born in 2010: holds to the end of the year of"),
        (90, 1800.0, 1800.0, 1980, "rule “established”: 90 rated games before this one, and no earlier rule holds"),
        (0, 1500.0, 1500.0, None, "rule “new”: no rated games before this one, fewer than 30"),
    ],
)
def test_k_rules_of_fide(games: int, rating: float, peak: float, birth_year: int | None, why: str) -> None:
    """Each K rule is told with the fact that made it hold."""
    match = a_match(pool="chess/standard", birth_year=birth_year)
    record = recorded(match, standing(rating, games, peak), standing(1500.0), FIDE)
    assert lines_of(record)["K"][1].startswith(why)


def test_a_k_rule_for_pools() -> None:
    """A K rule of certain pools names the pool."""
    lines = lines_of(recorded(a_match(pool="chess/blitz"), standing(1500.0), standing(1500.0), FIDE))
    assert lines["K"] == ("20", "rule “rapid-and-blitz”: holds for everyone in pool chess/blitz")


def test_whole_points() -> None:
    """A policy of whole points shows the rounding as a step of its own."""
    policy = Policy.model_validate({**YIBOARD.model_dump(mode="json"), "rounding": "integer"}, strict=False)
    lines = lines_of(recorded(a_match(), standing(1200.0), standing(1400.0), policy))
    assert lines["change"] == ("+24", "K × weight × (score − expected) = 32 × 1 × (1 − 0.240253) = +24.312")
    assert lines["rounding"][0] == "+24"
    assert lines["after"] == ("1224", "1200 + 24")


def test_a_boost_after_an_absence() -> None:
    """The multiplier for activity is part of K, and said."""
    record = recorded(a_match(pool="shax"), standing(1000.0)._replace(boost=2), standing(1000.0), BICIID)
    assert lines_of(record)["K"] == (
        "40",
        (
            "rule “established”: 50 rated games before this one, and no earlier rule holds; "
            "32 × 1.25 for one of the first games after an absence"
        ),
    )
    assert lines_of(record, "bob")["K"][0] == "32"


def test_an_absence_before_the_match() -> None:
    """Points that not playing had cost, due right before the match, are told apart from what the match gave."""
    record = recorded(a_match(pool="shax"), standing(1230.0), standing(1230.0), BICIID)
    one, other = record.sides
    steps = [
        one.changes[0]._replace(reason=Reason.INACTIVITY, before=1260.0 - 15 * n, after=1245.0 - 15 * n) for n in (0, 1)
    ]
    told = lines_of(replace(record, sides=(replace(one, absence=tuple(steps)), other)))
    assert told["absence"] == ("−30", "2 steps for not playing, due before this match: 1260 before them")


def test_a_voided_match() -> None:
    """A void is told with its reason, and what it took back; what the match gave stays explained and consistent."""
    record = recorded(a_match(), standing(1200.0), standing(1400.0), YIBOARD)
    one, other = record.sides
    given = one.changes[0]
    taken = given._replace(
        reason=Reason.VOID, version=60, before=1300.0, delta=-given.delta, after=1300.0 - given.delta
    )
    void = Void("m1", "yi", ("ann", "bob"), AT, "an arranged match", "the integrity desk")
    voided = replace(record, sides=(replace(one, reversal=taken), other), void=void)
    side = explain(voided).sides[0]
    assert side.lines[-2:] == [
        ("voided", "−24.312", "the match was voided: it no longer counts, and what it gave or cost is taken back"),
        ("after", "1275.688 (shown as 1276)", "1300 − 24.312"),
    ]
    text = printed(voided)
    assert "Voided as of 2026-03-01 12:00:00 UTC by the integrity desk: an arranged match" in text
    assert "the same, to the last bit" in text
    since = replace(voided, sides=(replace(one, reversal=taken._replace(delta=0.0, after=1300.0)), other))
    assert "has started again since, so no points move" in printed(since)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("voided", "voided: this match was nullified before it arrived"),
        ("suspended", "suspended: bob was suspended when it was played"),
        ("tournament-banned", "tournament-banned: bob was banned from tournaments"),
        ("tournament-provisional", "tournament-provisional: bob was provisional"),
        ("something-new", "something-new"),
    ],
)
def test_a_match_that_somebody_may_not_play(reason: str, said: str) -> None:
    """A match that is not rated because of a player says who and why, as far as the reason is known here."""
    record = recorded(a_match(verified=False), standing(1000.0), standing(1000.0), YIBOARD)
    barred = replace(record, unrated_reason=reason, unrated_player="bob")
    assert (explain(barred).unrated or "").startswith(said)


@pytest.mark.parametrize(
    ("match", "policy", "said"),
    [
        (a_match(verified=False), YIBOARD, "unverified: no server validated this match"),
        (a_match(match_type="casual", pool="shax"), BICIID, "casual: the policy of pool shax gives casual matches no"),
        (
            a_match(0.5),
            Policy.model_validate({**YIBOARD.model_dump(mode="json"), "draws": "unrated"}, strict=False),
            "draw: the policy of pool yi records draws and does not rate them",
        ),
    ],
)
def test_a_match_that_is_not_rated(match: Any, policy: Policy, said: str) -> None:
    """A match that moved nothing says why: no points and no reason is what players complain about most."""
    record = recorded(match, standing(1000.0), standing(1000.0), policy)
    explanation = explain(record)
    assert (explanation.unrated or "").startswith(said)
    assert explanation.sides == []
    assert f"Not rated: {said}" in printed(record)


def test_where_and_when() -> None:
    """The match, its result, its times, its source and the policy's version and digest are printed."""
    text = printed(recorded(a_match(), standing(1200.0), standing(1400.0), YIBOARD))
    for part in (
        "Match m1 in yi: ann beat bob",
        "Finished 2026-03-01 12:00:00 UTC; ranked; verified.",
        "Recorded 2026-03-01 12:00:00 UTC, from topic match-events, partition 3, offset 17.",
        f"Rated by policy yiboard, version 1 (digest {YIBOARD.digest}).",
        "Rated again from what the ledger keeps: the same, to the last bit.",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("delta", 24.0),
        ("after", 1300.0),
        ("expected", 0.25),
        ("k", 64.0),
        ("k_rule", "provisional"),
        ("weight", 0.5),
        ("adjusted", ("floor",)),
        ("games", 7),
    ],
)
def test_a_contradiction_is_loud(field: str, value: Any) -> None:
    """A number of the ledger that the rules don't give is named, with both, and the good word is not said."""
    record = recorded(a_match(), standing(1200.0), standing(1400.0), YIBOARD)
    one, other = record.sides
    forged = replace(record, sides=(replace(one, changes=(one.changes[0]._replace(**{field: value}),)), other))
    told = explain(forged).contradictions
    assert any(text.startswith(f"ann, change 51, {field}: the ledger has {value!r}, the rules give ") for text in told)
    assert "CONTRADICTION: ann, change 51" in printed(forged)
    assert "to the last bit" not in printed(forged)


def test_a_forged_policy_is_loud() -> None:
    """A policy whose content is not what its digest says is named, as is a change that the rules don't give."""
    record = recorded(a_match(), standing(1200.0), standing(1400.0), YIBOARD)
    forged = replace(record, policy_ref=BICIID.ref)
    assert any(text.startswith("policy: the ledger calls it") for text in explain(forged).contradictions)
    one, other = record.sides
    more = replace(one, changes=(*one.changes, one.changes[0]._replace(version=52)))
    told = explain(replace(record, sides=(more, other))).contradictions
    assert told == ["ann, change 52: the ledger has it, the rules don't give it"]
    unverified = replace(record, match=a_match(verified=False))
    assert explain(unverified).contradictions == [
        "the ledger has changes, but the rules don't rate this match (unverified)"
    ]


_RATINGS = st.floats(0, 3500) | st.integers(0, 3500).map(float)
_GAMES = st.integers(0, 60)


@given(
    ratings=st.tuples(_RATINGS, _RATINGS),
    games=st.tuples(_GAMES, _GAMES),
    score=st.sampled_from([0.0, 0.5, 1.0]),
    earlier=st.integers(0, 8),
    pool=st.sampled_from(["yi", "shax", "chess/standard", "chess/blitz"]),
    match_type=st.sampled_from(["ranked", "tournament"]),
    birth_year=st.none() | st.integers(1950, 2020),
)
def test_any_match_can_be_explained(
    ratings: tuple[float, float],
    games: tuple[int, int],
    score: float,
    earlier: int,
    pool: str,
    match_type: str,
    birth_year: int | None,
) -> None:
    """Whatever the match, the numbers that are shown are the ledger's, and nothing contradicts."""
    match = a_match(score, pool=pool, match_type=match_type, birth_year=birth_year)
    states = [standing(rating, played) for rating, played in zip(ratings, games, strict=True)]
    record = recorded(match, states[0], states[1], POLICIES.at(pool, AT), earlier)
    explanation = explain(record)
    assert explanation.contradictions == []
    text = printed(record)
    for side in record.sides:
        change = side.changes[0]
        lines = lines_of(record, side.side.id)
        assert lines["K"][0] == number(change.k or 0.0)
        assert lines["weight"][0] == number(change.weight, 6)
        assert signed(change.delta) in text
    document = json.loads(orjson.dumps(explanation_json(record, explanation)))
    assert document["consistent"] is True
    assert [change["delta"] for player in document["players"] for change in player["changes"]] == [
        change.delta for side in record.sides for change in side.changes
    ]
