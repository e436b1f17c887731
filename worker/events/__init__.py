"""What comes in and goes out: records to matches, changes to records. schemas/ is the contract.

No Kafka and no clock here: bytes, headers and the time come in as arguments.
"""

from worker.events.dead_letter import dead_letter_headers
from worker.events.incoming import MATCH_FINISHED, MAX_AHEAD, DecodedMatch, Headers, decode_match, match_digest
from worker.events.outgoing import (
    RATING_CHANGED,
    SOURCE,
    Encoded,
    encode_change,
    encode_match,
    event_id,
    pair_key,
)
from worker.events.reject import BadEventError, Reject
from worker.events.schema import load_schema, schema_folder, validator
from worker.rating.rounding import display as whole_points

__all__ = [
    "MATCH_FINISHED",
    "MAX_AHEAD",
    "RATING_CHANGED",
    "SOURCE",
    "BadEventError",
    "DecodedMatch",
    "Encoded",
    "Headers",
    "Reject",
    "dead_letter_headers",
    "decode_match",
    "encode_change",
    "encode_match",
    "event_id",
    "load_schema",
    "match_digest",
    "pair_key",
    "schema_folder",
    "validator",
    "whole_points",
]
