"""The matches as they are recorded: where they came from, why some are not rated, and which lack their entries."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from worker.rating.model import Reason, SanctionKind
from worker.rating.rate import DRAWN, UNVERIFIED
from worker.rating.tournaments import BANNED, INACTIVE, PROVISIONAL, REFUSED, SUSPENDED, TOURNAMENT
from worker.rating.voids import VOIDED
from worker.verify.digests import check_match
from worker.verify.report import Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from worker.rating.policy import Policy
    from worker.verify.registered import Registered
    from worker.verify.report import Checks
    from worker.verify.snapshot import RecordedMatch, Snapshot
    from worker.verify.sources import Places

_DRAW = 0.5
_BY_VERDICT = {SUSPENDED: SanctionKind.SUSPENSION, f"{TOURNAMENT}-{BANNED}": SanctionKind.TOURNAMENT_BAN}
_BY_STATE = {f"{TOURNAMENT}-{PROVISIONAL}", f"{TOURNAMENT}-{INACTIVE}"}


class Matches:
    """The matches as they are recorded.

    Attributes:
        count: How many were read.
        rated: How many of them are rated.
    """

    def __init__(self, snapshot: Snapshot, registered: Registered, checks: Checks, places: Places) -> None:
        self._snapshot = snapshot
        self._registered = registered
        self._checks = checks
        self._places = places
        self.count = 0
        self.rated = 0

    async def take(self, rows: Sequence[Any]) -> None:
        """Look at a piece of `matches`."""
        self.count += len(rows)
        sources = self._checks[Name.SOURCES]
        closer: list[str] = []
        for match_id, source_id, partition, offset, version, voided, unrated_reason in rows:
            sources.looked_at += 1
            if fault := self._places.fault(source_id, partition, offset):
                sources.find(fault, match_id=match_id)
            self.rated += version is not None
            if voided or unrated_reason is not None:
                closer.append(match_id)
        await self._look_closer(list((await self._snapshot.matches_of(closer)).values()))

    async def find_incomplete(self) -> None:
        """Name the rated matches that lack an entry; for when counting has shown that there are such."""
        check = self._checks[Name.MATCHES]
        async for rows in self._snapshot.pieces("matches", self._snapshot.pool_ids):
            matches = await self._snapshot.matches_of([row["match_id"] for row in rows if row["lo_version"]])
            sides = [
                (match, player, (rating_id, version))
                for match in matches.values()
                for player, rating_id, version in (
                    (match.lo_player, match.lo_rating_id, match.lo_version),
                    (match.hi_player, match.hi_rating_id, match.hi_version),
                )
                if version is not None
            ]
            entries = await self._snapshot.entries_of([key for _, _, key in sides])
            for match, player, key in sides:
                entry = entries.get(key)
                if entry is None or (entry["match_id"], entry["reason"]) != (match.match_id, Reason.MATCH):
                    check.find("lacks its entry", player_id=player, version=key[1], **match.ids)

    async def _look_closer(self, matches: Sequence[RecordedMatch]) -> None:
        """Look at matches that are voided or not rated."""
        voids = await self._snapshot.events_of([f"void:{match.match_id}" for match in matches])
        for match in matches:
            if match.voided and f"void:{match.match_id}" not in voids:
                self._checks[Name.VOIDS].find("marked as voided, but no such event is recorded", **match.ids)
        unrated = [match for match in matches if match.unrated_reason is not None]
        for match in unrated:  # the others are looked at with their entries
            check_match(match, self._checks[Name.DIGESTS])
        under_verdict = await self._under_verdict(unrated)
        refused = await self._refused(unrated)
        check = self._checks[Name.UNRATED]
        for match in unrated:
            check.looked_at += 1
            reason = match.unrated_reason or ""
            if reason == VOIDED:
                holds = f"void:{match.match_id}" in voids
            elif reason in _BY_VERDICT or reason == f"{TOURNAMENT}-{REFUSED}":
                holds = match.match_id in under_verdict | refused
            else:
                holds = _holds(reason, match, self._registered.of_pool(match.pool))
            if not holds:
                check.find(f"not rated for the reason {reason!r}, which does not hold", **match.ids)

    async def _under_verdict(self, matches: Iterable[RecordedMatch]) -> set[str]:
        """Give the matches whose reason is a verdict, and for which there is one. When it was lifted does not matter.

        What is recorded does not tell which came first, a match or the lift that would have let it count.
        """
        by_verdict = [match for match in matches if match.unrated_reason in _BY_VERDICT]
        players = list({match.unrated_player for match in by_verdict if match.unrated_player})
        sanctions = defaultdict(list)
        for player_id, *sanction in await self._snapshot.fetch("sanctions_of_players", players) if players else ():
            sanctions[player_id].append(sanction)
        return {
            match.match_id
            for match in by_verdict
            for kind, starts_at, ends_at, pool in sanctions.get(match.unrated_player, ())
            if kind == _BY_VERDICT[match.unrated_reason or ""]
            and pool in {None, match.pool}
            and starts_at <= match.finished_at
            and (ends_at is None or match.finished_at < ends_at)
        }

    async def _refused(self, matches: Iterable[RecordedMatch]) -> set[str]:
        """Give the matches of a player whom their tournament refused."""
        of_refused = [match for match in matches if match.unrated_reason == f"{TOURNAMENT}-{REFUSED}"]
        if not of_refused:
            return set()
        rows = await self._snapshot.fetch(
            "refused_entries", [one.tournament_id for one in of_refused], [one.unrated_player for one in of_refused]
        )
        refused = {tuple(row) for row in rows}
        return {one.match_id for one in of_refused if (one.tournament_id, one.unrated_player) in refused}


def _holds(reason: str, match: RecordedMatch, policies: Iterable[Policy]) -> bool:
    """Tell whether a reason that the match itself or its policy gives holds, by some version of the pool's policy.

    Which version held is not recorded of a match that is not rated.
    """
    if reason == UNVERIFIED:
        return not match.verified and any(policy.require_verified for policy in policies)
    if reason == DRAWN:
        return match.lo_score == _DRAW and any(policy.draws == "unrated" for policy in policies)
    if reason in _BY_STATE:
        return match.match_type == TOURNAMENT
    return reason == match.match_type and any(policy.match_types.get(reason) == 0 for policy in policies)
