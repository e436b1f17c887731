"""What events are called: by their name, such as `match-voided`, and by their CloudEvents type, which has a version."""

from __future__ import annotations

from worker.rating.model import (
    EntriesClosed,
    Lift,
    Match,
    Sanction,
    TournamentFinished,
    TournamentOpened,
    Void,
)

SOURCE = "/rating-worker"

# What comes in.
MATCH_FINISHED = "org.rating-worker.match-finished.v1"
MATCH_VOIDED = "org.rating-worker.match-voided.v1"
PLAYER_SANCTIONED = "org.rating-worker.player-sanctioned.v1"
SANCTION_LIFTED = "org.rating-worker.sanction-lifted.v1"
TOURNAMENT_OPENED = "org.rating-worker.tournament-opened.v1"
ENTRIES_CLOSED = "org.rating-worker.entries-closed.v1"
TOURNAMENT_FINISHED = "org.rating-worker.tournament-finished.v1"

# What goes out.
RATING_CHANGED = "org.rating-worker.rating-changed.v1"
INTEGRITY_FLAGGED = "org.rating-worker.integrity-flagged.v1"
TOURNAMENT_SEEDED = "org.rating-worker.tournament-seeded.v1"
PLAYER_INACTIVE = "org.rating-worker.player-inactive.v1"
POLICY_CHANGED = "org.rating-worker.policy-changed.v1"

INCOMING = (
    MATCH_FINISHED,
    MATCH_VOIDED,
    PLAYER_SANCTIONED,
    SANCTION_LIFTED,
    TOURNAMENT_OPENED,
    ENTRIES_CLOSED,
    TOURNAMENT_FINISHED,
)
OUTGOING = (RATING_CHANGED, INTEGRITY_FLAGGED, TOURNAMENT_SEEDED, PLAYER_INACTIVE, POLICY_CHANGED)


def name_of(ce_type: str) -> str:
    """Return the name of an event of a type that is listed here; also the name of its schema."""
    return ce_type.split(".")[2]


NOTICES = {name_of(ce_type): ce_type for ce_type in OUTGOING if ce_type != RATING_CHANGED}
NAMES: dict[type, str] = {
    Match: name_of(MATCH_FINISHED),
    Void: name_of(MATCH_VOIDED),
    Sanction: name_of(PLAYER_SANCTIONED),
    Lift: name_of(SANCTION_LIFTED),
    TournamentOpened: name_of(TOURNAMENT_OPENED),
    EntriesClosed: name_of(ENTRIES_CLOSED),
    TournamentFinished: name_of(TOURNAMENT_FINISHED),
}
