"""Whether a recorded event is what came in: it has the digest that was taken of it then."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from worker.events import event_digest, match_digest
from worker.rating.model import (
    EntriesClosed,
    Lift,
    Sanction,
    TournamentFinished,
    TournamentOpened,
    Void,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worker.rating.model import Event
    from worker.verify.report import Check
    from worker.verify.snapshot import RecordedMatch

_EVENTS: dict[str, type[Any]] = {
    cls.__name__.lower(): cls for cls in (Void, Sanction, Lift, TournamentOpened, EntriesClosed, TournamentFinished)
}


def check_match(match: RecordedMatch, check: Check) -> None:
    """Look at a recorded match."""
    if match.lo_player is None or match.hi_player is None:
        return  # another check says so
    check.looked_at += 1
    if match_digest(match.match()) != match.digest:
        check.find("differs from the match that came in", **match.ids)


def check_event(row: Any, body: Mapping[str, Any], check: Check) -> None:
    """Look at a row of `events` and the fields in its body."""
    check.looked_at += 1
    try:
        same = event_digest(_event(row["kind"], body)) == row["digest"]
    except (LookupError, TypeError, ValueError):
        same = False
    if not same:
        check.find("differs from the event that came in", event_id=row["event_id"])


def _event(kind: str, body: Mapping[str, Any]) -> Event:
    """Make an event again of its body; raises what Python raises where that is not one."""
    fields = {
        name: datetime.fromisoformat(value) if name.endswith("_at") and value is not None else value
        for name, value in body.items()
    }
    event: Event = _EVENTS[kind](**fields)
    return event
