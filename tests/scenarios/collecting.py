"""Collecting what came out, by an independent Kafka client and by SQL, and sorting it by scenario.

Whatever is published has to fit its schema; that is checked here, for each record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.scenarios.events import ROW_HEADER
from tests.scenarios.outcome import Names, Outcome, change_row, notice_row, seeding_rows
from tests.scenarios.policies import MOVED_START
from tests.support.kafka import Raw, read_all
from worker.events import name_of, validator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncpg import Record

    from tests.scenarios.policies import Policies
    from tests.scenarios.reading import Scenario
    from worker.ledger.ledger import Ledger
    from worker.settings import Settings

_STANDINGS = """
    select p.name as pool, r.player_id as player, r.title, r.rating, r.games, r.wins, r.draws, r.losses, r.provisional,
           r.inactive
    from ratings r join pools p using (pool_id)
    where r.version > 0
    order by p.name, r.player_id
"""
_LEADERBOARD = """
    select pool, player_id as player, title, display_rating as rating, games, wins, draws, losses,
           last_played_at as "last played"
    from leaderboard
    order by pool, rating desc, rating_id
"""
_VERDICTS = """
    select sanction_id as id, player_id as player, kind, pool, why, decided_by as by, starts_at as "from",
           ends_at as until, lifted_at as lifted, lifted_why as "lifted why", lifted_by as "lifted by"
    from sanctions
    order by sanction_id
"""
_UNRATED = """
    select m.match_id as match, lo.player_id as player, m.unrated_reason as reason, m.unrated_player as "because of"
    from matches m join ratings lo on lo.rating_id = m.lo_rating_id
    where m.unrated_reason is not null
    order by m.finished_at, m.match_id
"""


@dataclass
class Played:
    """What came of scenarios that ran together.

    Attributes:
        outcomes: By scenario prefix.
        stray: What belongs to no scenario.
    """

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    stray: list[Any] = field(default_factory=list)


async def collect(settings: Settings, ledger: Ledger, scenarios: Sequence[Scenario], policies: Policies) -> Played:
    """Read the output topics, the record and the public views, once all is done."""
    played = Played({scenario.prefix: Outcome() for scenario in scenarios})
    names = Names(policies.made)
    for record in await read_all(settings, settings.rating_topic):
        event = _valid(record)
        prefix = _prefix(event["player_id"])
        outcome = played.outcomes.get(prefix)
        if outcome is None:
            played.stray.append(event)
            continue
        outcome.events.append(event)
        outcome.rows["Changes"].append(change_row(event, names, prefix))
    for record in await read_all(settings, settings.notice_topic):
        _sort_notice(record, played, names)
    for topic in settings.dead_letter_topics.values():
        for record in await read_all(settings, topic):
            _sort_dead_letter(record, played)
    async with ledger.connection() as connection:
        _sort_rows("Standings", await connection.fetch(_STANDINGS), played, names)
        _sort_rows("Leaderboard", await connection.fetch(_LEADERBOARD), played, names)
        _sort_rows("Verdicts", await connection.fetch(_VERDICTS), played, names)
        _sort_rows("Recorded without change", await connection.fetch(_UNRATED), played, names)
    return played


def _valid(record: Raw) -> Any:
    """Give a published event that fits its schema and has the headers of its kind."""
    event = record.json()
    validator(name_of(record.header("ce_type") or "")).validate(event)
    assert record.header("ce_id") == event["event_id"], record
    assert record.header("ce_time") == event["occurred_at"], record
    assert (record.header("ce_subject") or "").encode() == record.key, record
    return event


def _sort_notice(record: Raw, played: Played, names: Names) -> None:
    event = _valid(record)
    if event.get("reason") == MOVED_START:
        return
    kind = name_of(record.header("ce_type") or "")
    policy = event["policy"]["name"]
    if kind == "policy-changed":  # of a scenario's own policy, or of one that ships: whoever asks may see that
        own = [one for one in played.outcomes if policy.endswith(f"-{one}")]
        for one in own or played.outcomes:
            played.outcomes[one].policies.append(notice_row(kind, event, names, one))
        return
    prefix = _prefix(event.get("player_id") or event.get("tournament_id") or "")
    if prefix not in played.outcomes:
        played.stray.append(event)
        return
    rows = played.outcomes[prefix].rows
    rows["Notices"].append(notice_row(kind, event, names, prefix))
    if kind == "tournament-seeded":
        seeds, refused = seeding_rows(event, names)
        rows["Seeds"] += seeds
        rows["Refused"] += refused


def _sort_dead_letter(record: Raw, played: Played) -> None:
    headers = {name: value.decode() for name, value in record.headers}
    validator("dead-letter-headers").validate(headers)
    prefix, _, name = headers[ROW_HEADER].partition(":")
    row = {"id": name or None, "reason": headers["dlq.reason"], "says": headers["dlq.detail"]}
    played.outcomes[prefix].rows["Dead letters"].append(row)


def _sort_rows(section: str, rows: Sequence[Record], played: Played, names: Names) -> None:
    for row in rows:
        prefix = _prefix(row["player"])
        got: dict[str, Any] = dict(row)
        for column in ("player", "match", "because of", "id"):
            if column in got:
                got[column] = names.plain(got[column])
        if got.get("pool") is not None:
            got["pool"] = names.pool(got["pool"], prefix)
        if section == "Recorded without change":
            del got["player"]
        played.outcomes[prefix].rows[section].append(got)


def _prefix(name: str) -> str:
    return name.split(".", 1)[0]
