"""What tells one incoming event from another, and a repeat of it from one that only claims to be it."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b

from worker.rating.model import (
    EntriesClosed,
    Event,
    Lift,
    Match,
    Sanction,
    TournamentFinished,
    TournamentOpened,
    Void,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCORES = {score: str(score) for score in (0.0, 0.5, 1.0)}  # looked up: writing a float takes as long as all the rest


_PREFIXES: dict[type, str] = {
    Void: "void",
    Sanction: "sanction",
    Lift: "lift",
    TournamentOpened: "tournament-opened",
    EntriesClosed: "entries-closed",
    TournamentFinished: "tournament-finished",
}


def incoming_id(event: Event) -> str:
    """Return what makes an incoming event unique: a match's id, or a prefix and the id of what else it is about.

    So a match has one void and a sanction one lift. A match may be called `void:m-1`: its ids are a space of their own.
    """
    return event.match_id if isinstance(event, Match) else f"{_PREFIXES[type(event)]}:{event[0]}"


def event_digest(event: Event) -> bytes:
    """Return 16 bytes that two records share if, and in practice only if, they mean the same event.

    As `match_digest`: over the name of the event and all known fields, joined by NUL, with the times in UTC to the
    microsecond. The order of a void's players and of entrants means nothing, the order of standings does.
    """
    match event:
        case Match():
            return match_digest(event)
        case Void():
            fields = ["match-voided", event.match_id, event.pool, _instant(event.voided_at), *sorted(event.players)]
            fields += [event.by, event.why]
        case Sanction():
            ends_at = "" if event.ends_at is None else _instant(event.ends_at)
            fields = ["player-sanctioned", event.sanction_id, event.player_id, event.kind, _instant(event.starts_at)]
            fields += [ends_at, event.pool or "", event.by, event.why]
        case Lift():
            fields = ["sanction-lifted", event.sanction_id, event.player_id, _instant(event.lifted_at)]
            fields += [event.by, event.why]
        case TournamentOpened():
            fields = ["tournament-opened", event.tournament_id, event.pool, _instant(event.opened_at), event.by]
        case EntriesClosed():
            fields = ["entries-closed", event.tournament_id, event.pool, _instant(event.closed_at)]
            fields += sorted(event.entrants)
        case TournamentFinished():
            fields = ["tournament-finished", event.tournament_id, event.pool, _instant(event.finished_at)]
            fields += event.standings
    return blake2b("\0".join(fields).encode(), digest_size=16).digest()


def match_digest(match: Match) -> bytes:
    """Return 16 bytes that two records share if, and in practice only if, they mean the same match.

    BLAKE2b-128 over the known fields after defaults, joined by NUL, which no field may contain: the time in UTC to the
    microsecond, the players in order of id. White space, the order of keys and players, unknown fields and the offset
    of the time make no difference. Digests are stored: a field that is added later must change nothing when absent.
    """
    match_id, pool, finished_at, (one, two), match_type, tournament_id, verified = match
    if two.id < one.id:
        one, two = two, one
    text = (
        f"match-finished\0{match_id}\0{pool}\0{_instant(finished_at)}"
        f"\0{one.id}\0{_SCORES.get(one.score, one.score)}\0{one.birth_year or ''}"
        f"\0{two.id}\0{_SCORES.get(two.score, two.score)}\0{two.birth_year or ''}"
        f"\0{match_type}\0{tournament_id or ''}\0{verified}"
    )
    return blake2b(text.encode(), digest_size=16).digest()


def _instant(time: datetime) -> str:
    since = time - _EPOCH
    return f"{since.days}.{since.seconds}.{since.microseconds}"
