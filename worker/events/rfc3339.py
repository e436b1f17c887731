"""RFC 3339 times in and out, as aware datetimes in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import orjson

_SECOND = timedelta(seconds=1)


def parse_time(text: str) -> datetime:
    """Return the instant that a `date-time` of RFC 3339 names, in UTC, to the microsecond.

    The caller has matched `text` with the schemas' `time` pattern: `datetime.fromisoformat` alone takes much more than
    RFC 3339 (week dates, missing offsets). Digits beyond the microsecond are cut off. A leap second, `23:59:60` UTC on
    the last day of a month, is the start of the next second, as in PostgreSQL: a datetime has no 61st second.

    Raises:
        ValueError: There is no such day, no such leap second, or the year in UTC isn't within 1 to 9999.
    """
    text = text.upper()  # RFC 3339 allows t and z
    leap = text[17:19] == "60"
    if leap:
        text = f"{text[:17]}59{text[-1] if text[-1] == 'Z' else text[-6:]}"
    time = datetime.fromisoformat(text)
    try:
        if time.tzinfo is not UTC:
            time = time.astimezone(UTC)
        if leap:
            time += _SECOND
    except OverflowError:
        raise ValueError("the year in UTC is out of range") from None
    if leap and (time.day, time.hour, time.minute, time.second) != (1, 0, 0, 0):
        raise ValueError("there was no leap second then: they end a month in UTC")
    return time


@lru_cache(maxsize=64)  # the two changes of a match share theirs
def format_time(time: datetime) -> str:
    """Return an aware datetime as RFC 3339 in UTC with a `Z`, with six decimals or, on a whole second, none."""
    if time.tzinfo is not UTC:
        time = time.astimezone(UTC)
    return orjson.dumps(time, option=orjson.OPT_UTC_Z)[1:-1].decode()  # a quarter of what isoformat takes
