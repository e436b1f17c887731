"""What to do about a dead letter, by the reason why its record was refused."""

from __future__ import annotations

from typing import NamedTuple

from worker.events import Reject

_CORRECT = (
    "Correct it: `show PLACE --value` prints the value for a file, `rating-worker produce FILE` checks it and sends it."
)


class Advice(NamedTuple):
    """What to do.

    Attributes:
        sentence: In words.
        mendable: Whether something beside the record can be at fault, so that the same record may be taken later.
    """

    sentence: str
    mendable: bool = False


_ADVICE = {
    Reject.TOMBSTONE: Advice(
        "There is nothing to rate: no match is ever deleted. To take one back, send a match-voided event."
    ),
    Reject.EMPTY: Advice("There is nothing to rate: have its producer send the event again, with its content."),
    Reject.TOO_LARGE: Advice(
        "Raise RATING_MAX_EVENT_BYTES, restart the workers and replay it, if it is an event at all.", mendable=True
    ),
    Reject.TOO_DEEP: Advice(f"Have its producer mended, which nests what no event needs. {_CORRECT}"),
    Reject.NOT_UTF8: Advice(f"Have its producer mended, which must write UTF-8. {_CORRECT}"),
    Reject.NOT_JSON: Advice(f"Have its producer mended, which must write JSON. {_CORRECT}"),
    Reject.DUPLICATE_KEY: Advice(
        f"Have its producer mended, and find out which of the two values was meant. {_CORRECT}"
    ),
    Reject.UNKNOWN_TYPE: Advice(
        "If a newer release of the worker knows the type, update the workers and replay it; if not, have the header "
        f"ce_type or the field type mended. {_CORRECT}",
        mendable=True,
    ),
    Reject.SCHEMA: Advice(f"Have its producer mended to keep to the schema. {_CORRECT}"),
    Reject.BAD_ID: Advice(f"Have its producer mended to keep to what ids may be. {_CORRECT}"),
    Reject.BAD_SCORES: Advice(f"Have its producer mended: the two scores must add up to 1. {_CORRECT}"),
    Reject.BAD_TIME: Advice(f"Have its producer's times mended. {_CORRECT}"),
    Reject.FUTURE: Advice(
        "Mend the clock of its producer, or of the workers, and replay it once its time has come; or raise "
        "RATING_MAX_FUTURE_S.",
        mendable=True,
    ),
    Reject.SELF_PLAY: Advice(f"Find out who the other player was. {_CORRECT}"),
    Reject.UNKNOWN_POOL: Advice(
        "Give the pool a policy by RATING_POOLS_FILE, restart the workers and replay it; or have the name of the pool "
        "mended, if it is a slip.",
        mendable=True,
    ),
    Reject.CONFLICT: Advice(
        "The content that came first stands. If this one is right, void the match and send this content under a new "
        "match_id; sent again as it is, it is refused again."
    ),
    Reject.REFUSED_BY_DATABASE: Advice(
        "Mend what the detail says of the database and replay it; if nothing is wrong there, the worker has a bug.",
        mendable=True,
    ),
}
_UNKNOWN = Advice(
    "This version of the worker does not know the reason: use the command of the one that wrote it.", mendable=True
)


def advice(reason: str) -> Advice:
    """Say what to do about a reason, of this version of the worker or another."""
    return _ADVICE[Reject(reason)] if reason in set(Reject) else _UNKNOWN
