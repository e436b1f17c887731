"""`rate`: the rating core on JSON lines, without Kafka and without Postgres."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import orjson
import typer

from worker.cli.exits import CommandError, Exit, command
from worker.cli.lines import Decoder, Line, Seen, open_lines
from worker.cli.output import say
from worker.cli.running import policies_of
from worker.events import BadEventError, Decoded, Reject, encode_change
from worker.events.names import NAMES
from worker.policies import load_policy_file
from worker.rating.book import Book
from worker.rating.model import Match, Unrated
from worker.rating.policy_set import PolicySet
from worker.settings import Settings, load_settings

_ANY_POOL = "*"


@command
def rate(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="JSON lines of match-finished events; standard input without.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Rate every pool by this policy: a name (yiboard, biciid, fide, …) or a TOML file of one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Messages on standard error are JSON lines, too.")] = False,
) -> None:
    """Rate matches from JSON lines, without Kafka and without Postgres, by the same rules to the last bit.

    Reads match-finished events, one a line, in the order in which they are to be rated; writes rating-changed events,
    one a line. What is not rated is told on standard error with its line and reason: a match that the policy does not
    rate, one that came before, a line that is no match. The last kind is left out and makes the command end with 65.

    Without --policy, the pools file decides (RATING_POOLS_FILE, or the one that ships with the worker). Everyone starts
    without a rating. The ratings of all players, and the ids of the last million matches, are kept in memory.
    """
    settings = load_settings()
    rater = _Rater(settings, _chosen(policy, settings), as_json=as_json)
    with open_lines(file, "rating", settings.max_event_bytes) as lines:
        for line in lines:
            rater.take(line)
            if file is None:  # who writes into a pipe line by line wants to see each line's changes
                sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()
    rater.sum_up()
    if rater.counts["refused"]:
        raise typer.Exit(Exit.DATA)


class _Rater:
    """Rates line after line and says on standard error what is not rated."""

    def __init__(self, settings: Settings, policies: PolicySet, *, as_json: bool) -> None:
        self._decoder = Decoder(settings, policies)
        self._book = Book(policies)
        self._seen = Seen()
        self._as_json = as_json
        self._out = sys.stdout.buffer
        self.counts: Counter[str] = Counter()

    def take(self, line: Line) -> None:
        """Rate a line and write what changed."""
        try:
            decoded = self._decoder.decode(line)
            match = decoded.event
            if isinstance(match, Match) and self._came_before(line, decoded):
                return
        except BadEventError as bad:
            self._note(line, "refused", bad.reason, bad.detail)
            return
        if not isinstance(match, Match):
            detail = f"a {NAMES[type(match)]} event: only matches are rated here, the others are for the worker"
            self._note(line, "refused", Reject.UNKNOWN_TYPE, detail)
            return
        outcome = self._book.rate(match)
        if isinstance(outcome, Unrated):
            self._note(line, "unrated", outcome.reason, f"match {match.match_id!r} is recorded and moves no rating")
            return
        self.counts["rated"] += 1
        for change in outcome.changes:
            self.counts["changes"] += 1
            self._out.write(encode_change(change).value + b"\n")

    def sum_up(self) -> None:
        """Say how many lines became what."""
        if self._as_json:
            say(orjson.dumps({"summary": dict(self.counts)}).decode())
            return
        counts = self.counts
        said = f"{counts['rated']} rated ({counts['changes']} changes)"
        for kind in ("unrated", "duplicate", "refused"):
            if counts[kind]:
                said += f", {counts[kind]} {kind}"
        say(f"{said}.")

    def _came_before(self, line: Line, decoded: Decoded) -> bool:
        first = self._seen.before(line, decoded)
        if first is not None:
            self._note(line, "duplicate", "resent", f"match {decoded.id!r} came in line {first} already")
        return first is not None

    def _note(self, line: Line, outcome: str, reason: str, detail: str) -> None:
        self.counts[outcome] += 1
        if self._as_json:
            note = {"line": line.number, "outcome": outcome, "reason": reason, "detail": detail}
            say(orjson.dumps(note).decode())
        else:
            say(f"line {line.number}: {outcome}, {reason}: {detail}")


def _chosen(policy: str | None, settings: Settings) -> PolicySet:
    if policy is None:
        return policies_of(settings)
    if policy.endswith(".toml") or "/" in policy:
        one = load_policy_file(Path(policy))
        return PolicySet([one], {_ANY_POOL: one.name})
    known = policies_of(settings).policies
    versions = [one for one in known if one.name == policy]
    if not versions:
        names = ", ".join(sorted({one.name for one in known}))
        raise CommandError(f"No policy {policy!r}: there are {names}, or give a TOML file of one.", Exit.USAGE)
    return PolicySet(versions, {_ANY_POOL: policy})
