"""What comes in and goes out: records to events, changes and notices to records. schemas/ is the contract.

No Kafka and no clock here: bytes, headers and the time come in as arguments.
"""

from worker.events.building import Clock
from worker.events.dead_letter import dead_letter_headers
from worker.events.dead_letter_reading import (
    Failure,
    Place,
    ReplayMark,
    mark_headers,
    original_headers,
    read_failure,
    read_mark,
    replay_headers,
)
from worker.events.digests import event_digest, incoming_id, match_digest
from worker.events.incoming import MAX_AHEAD, Decoded, DecodedMatch, decode, decode_by, decode_match
from worker.events.names import (
    ENTRIES_CLOSED,
    INCOMING,
    INTEGRITY_FLAGGED,
    MATCH_FINISHED,
    MATCH_VOIDED,
    OUTGOING,
    PLAYER_INACTIVE,
    PLAYER_SANCTIONED,
    POLICY_CHANGED,
    RATING_CHANGED,
    SANCTION_LIFTED,
    SOURCE,
    TOURNAMENT_FINISHED,
    TOURNAMENT_OPENED,
    TOURNAMENT_SEEDED,
    name_of,
)
from worker.events.outgoing import Encoded, encode_change, encode_notice, event_id, notice_id
from worker.events.reading import Headers
from worker.events.reject import BadEventError, Reject
from worker.events.schema import complaints, load_schema, schema_folder, validator
from worker.events.writing import encode_event, encode_match, event_key, pair_key
from worker.rating.rounding import display as whole_points

__all__ = [
    "ENTRIES_CLOSED",
    "INCOMING",
    "INTEGRITY_FLAGGED",
    "MATCH_FINISHED",
    "MATCH_VOIDED",
    "MAX_AHEAD",
    "OUTGOING",
    "PLAYER_INACTIVE",
    "PLAYER_SANCTIONED",
    "POLICY_CHANGED",
    "RATING_CHANGED",
    "SANCTION_LIFTED",
    "SOURCE",
    "TOURNAMENT_FINISHED",
    "TOURNAMENT_OPENED",
    "TOURNAMENT_SEEDED",
    "BadEventError",
    "Clock",
    "Decoded",
    "DecodedMatch",
    "Encoded",
    "Failure",
    "Headers",
    "Place",
    "Reject",
    "ReplayMark",
    "complaints",
    "dead_letter_headers",
    "decode",
    "decode_by",
    "decode_match",
    "encode_change",
    "encode_event",
    "encode_match",
    "encode_notice",
    "event_digest",
    "event_id",
    "event_key",
    "incoming_id",
    "load_schema",
    "mark_headers",
    "match_digest",
    "name_of",
    "notice_id",
    "original_headers",
    "pair_key",
    "read_failure",
    "read_mark",
    "replay_headers",
    "schema_folder",
    "validator",
    "whole_points",
]
