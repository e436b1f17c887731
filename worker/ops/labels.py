"""The fixed label values of the metrics."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """A part of a batch's way that is timed by itself."""

    FETCH = "fetch"
    DECODE = "decode"
    TRANSACTION = "transaction"  # from begin to the end of the database commit; contains the ones down to it
    LOCK = "lock"
    RATE = "rate"
    WRITE = "write"  # beside encode and flush, not before them
    ENCODE = "encode"
    FLUSH = "flush"
    COMMIT_DATABASE = "commit_database"
    COMMIT_KAFKA = "commit_kafka"


class RecordOutcome(StrEnum):
    """What became of a record; one of a batch that was given up is counted when it comes again."""

    RATED = "rated"
    UNRATED = "unrated"
    RECORDED = "recorded"  # an event that is no match
    DUPLICATE = "duplicate"
    DEAD_LETTERED = "dead-lettered"
    DROPPED = "dropped"


class Duplicate(StrEnum):
    """Why a match is there already: the record came again after a crash, or the producer sent the match twice."""

    REDELIVERED = "redelivered"
    RESENT = "resent"


class Dropped(StrEnum):
    """Why a fetched record was not looked at; it is fetched again, or was handled before."""

    STALE_EPOCH = "stale-epoch"
    BELOW_POSITION = "below-position"


class Retry(StrEnum):
    """What a batch was tried again for."""

    SERIALIZATION = "serialization"
    DEADLOCK = "deadlock"
    RACE = "race"  # another worker recorded a match or a player of the batch first
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    DATABASE = "database"  # anything else that Postgres says, a full disk for one
    KAFKA = "kafka"


class Invariant(StrEnum):
    """What always holds in the ledger."""

    CHAIN = "chain"  # an entry starts at the rating where the one before it ended, and there is one before it
    SUM = "sum"  # the rating before plus the change is the rating after, to the last bit
    STANDING = "standing"  # a player stands where the last entry of their chain ended
