"""From a document that fits its schema to the event that it means; what a schema can't say is checked here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from worker.events.reject import BadEventError, Reject, shown
from worker.events.rfc3339 import parse_time
from worker.events.wording import TIME, in_words
from worker.rating.model import (
    EntriesClosed,
    Lift,
    Match,
    Sanction,
    SanctionKind,
    Side,
    TournamentFinished,
    TournamentOpened,
    Void,
)
from worker.rating.named import new

if TYPE_CHECKING:
    from datetime import timedelta

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)

_SCORES = {0: 0.0, 0.5: 0.5, 1: 1.0}  # also maps 0 and -0.0 to one double


class Clock(NamedTuple):
    """The worker's time, and how far after it something may have happened."""

    now: datetime
    max_ahead: timedelta


def build_match(document: dict[str, Any], root: str, clock: Clock) -> Match:
    """Return the match of a `match-finished`, its sides by player id.

    The ledger keeps them so; what comes of a match must not depend on whether it is read from the stream or from there.
    """
    one, two = document["players"]
    if one["id"] == two["id"]:
        raise BadEventError(
            Reject.SELF_PLAY,
            f"{root}.players[0].id and {root}.players[1].id are both {shown(one['id'])}; they must differ",
        )
    if one["score"] + two["score"] != 1:
        raise BadEventError(
            Reject.BAD_SCORES,
            f"{root}.players[0].score and {root}.players[1].score are {one['score']} and {two['score']}; "
            "they must add up to 1",
        )
    return new(
        Match,
        (
            document["match_id"],
            document["pool"],
            _happened(document, "finished_at", root, clock),
            (_side(one), _side(two)) if one["id"] < two["id"] else (_side(two), _side(one)),
            document.get("match_type", "ranked"),
            document.get("tournament_id"),
            document.get("verified", True),
        ),
    )


def build_void(document: dict[str, Any], root: str, clock: Clock) -> Void:
    """Return the void of a `match-voided`."""
    one, two = document["players"]
    return Void(
        document["match_id"],
        document["pool"],
        (one, two),
        _happened(document, "voided_at", root, clock),
        document["why"],
        document["by"],
    )


def build_sanction(document: dict[str, Any], root: str, clock: Clock) -> Sanction:
    """Return the sanction of a `player-sanctioned`; all but a reset may be set for a time to come."""
    kind = SanctionKind(document["kind"])
    if kind is SanctionKind.RESET:
        starts_at = _happened(document, "starts_at", root, clock)
    else:
        # Some platforms write "since ever" and "for ever" as the first and last moment of their clock, which asyncpg
        # takes for infinity, and gives back as no aware time.
        starts_at = max(EARLIEST, _time(document, "starts_at", root))
    ends_at = None if document.get("ends_at") is None else _time(document, "ends_at", root)
    if ends_at is not None and ends_at >= FOR_EVER:
        ends_at = None
    if ends_at is not None and ends_at <= starts_at:
        raise BadEventError(
            Reject.BAD_TIME,
            f"{root}.ends_at is {shown(document['ends_at'])} and {root}.starts_at {shown(document['starts_at'])}; "
            "a sanction must end after it starts",
        )
    return Sanction(
        document["sanction_id"],
        document["player_id"],
        kind,
        starts_at,
        ends_at,
        document.get("pool"),
        document["why"],
        document["by"],
    )


def build_lift(document: dict[str, Any], root: str, clock: Clock) -> Lift:
    """Return the lift of a `sanction-lifted`."""
    return Lift(
        document["sanction_id"],
        document["player_id"],
        _happened(document, "lifted_at", root, clock),
        document["why"],
        document["by"],
    )


def build_opened(document: dict[str, Any], root: str, clock: Clock) -> TournamentOpened:
    """Return the event of a `tournament-opened`."""
    opened_at = _happened(document, "opened_at", root, clock)
    return TournamentOpened(document["tournament_id"], document["pool"], opened_at, document["by"])


def build_closed(document: dict[str, Any], root: str, clock: Clock) -> EntriesClosed:
    """Return the event of an `entries-closed`."""
    closed_at = _happened(document, "closed_at", root, clock)
    return EntriesClosed(document["tournament_id"], document["pool"], closed_at, tuple(document["entrants"]))


def build_finished(document: dict[str, Any], root: str, clock: Clock) -> TournamentFinished:
    """Return the event of a `tournament-finished`."""
    finished_at = _happened(document, "finished_at", root, clock)
    return TournamentFinished(document["tournament_id"], document["pool"], finished_at, tuple(document["standings"]))


def _time(document: dict[str, Any], field: str, root: str) -> datetime:
    text = document[field]
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadEventError(Reject.BAD_TIME, f"{root}.{field} is {shown(text)}: {error}; it must be {TIME}") from None


def _happened(document: dict[str, Any], field: str, root: str, clock: Clock) -> datetime:
    """Return a time that can't lie ahead of the worker's by more than clocks differ, nor before there were any."""
    time = _time(document, field, root)
    if time < EARLIEST:
        raise BadEventError(
            Reject.BAD_TIME,
            f"{root}.{field} is {shown(document[field])}; nothing before {EARLIEST:%Y-%m-%d} is taken: check the clock",
        )
    if time - clock.now > clock.max_ahead:
        raise BadEventError(
            Reject.FUTURE,
            f"{root}.{field} is {shown(document[field])}, {in_words(time - clock.now)} ahead of the worker's clock; "
            f"at most {in_words(clock.max_ahead)} is allowed",
        )
    return time


def _side(player: dict[str, Any]) -> Side:
    birth_year = None
    if attributes := player.get("attributes"):
        birth_year = attributes.get("birth_year")
        if birth_year is not None:
            birth_year = int(birth_year)  # JSON has one kind of number: 1990.0 is whole
    return new(Side, (player["id"], _SCORES[player["score"]], birth_year))
