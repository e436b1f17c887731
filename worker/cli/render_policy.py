"""Policies, as tables and as JSON."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from worker.cli.output import cell, sentence, table
from worker.cli.policy_words import in_words
from worker.cli.render import when
from worker.ledger.reads.explanation import number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console

    from worker.cli.policy_diff import Difference
    from worker.cli.policy_versions import KnownVersion

_SHORT = 8
_NOT_SET = "not set"


def version_json(version: KnownVersion) -> dict[str, Any]:
    """Give what is known of a version, but for its rules."""
    registered = version.registered
    return {
        "name": version.name,
        "version": version.version,
        "valid_from": version.valid_from,
        "until": version.until,
        "state": version.state,
        "reason": version.reason,
        "digest": version.digest,
        "pools": version.pools,
        "file": None if version.file is None else version.file.place,
        "registered_at": None if registered is None else registered.registered_at,
        "registered_digest": None if registered is None else registered.ref.digest,
        "changed": version.changed,
    }


def print_list(out: Console, versions: Sequence[KnownVersion], *, asked: bool) -> None:
    """Print every version, a table a policy; `asked` tells whether the ledger was."""
    for name, group in groupby(versions, attrgetter("name")):
        its = list(group)
        shown = table(
            *("version", "valid from", "state", "digest", "file"),
            *(("registered",) if asked else ()),
            numbers=("version",),
            title=f"{name}: {_rates(its[0])}",
        )
        for one in its:
            registered = "never" if one.registered is None else date(one.registered.registered_at)
            shown.add_row(
                str(one.version),
                cell(date(one.valid_from)),
                cell(one.state, "green" if one.state == "in force" else ""),
                one.digest[:_SHORT],
                cell("none" if one.file is None else one.file.place),
                *([cell("CHANGED" if one.changed else registered, "bold red" if one.changed else "")] if asked else []),
            )
        out.print(shown)
        for one in its:
            if one.reason:
                sentence(out, f" Version {one.version}: {one.reason}")
    for one in versions:
        if one.changed:
            _print_changed(out, one)


def _print_changed(out: Console, version: KnownVersion) -> None:
    """Say loudly that a file was changed under an old version number, and what to do."""
    name, old = version.name, version.version
    there = "" if version.registered is None else version.registered.ref.digest
    told = (
        f"CHANGED: {name} version {old} has other content in its file (digest {version.digest[:_SHORT]}) than the "
        f"ledger registered ({there[:_SHORT]}). A worker refuses to start with it."
    )
    mend = (
        f"Put the old content back, or give the new one version {old + 1} with a date and a reason. "
        f"`rating-worker policy diff {name} {old} {old} --database` says what was changed."
    )
    for line in (told, mend):
        sentence(out, line, style="bold red")


def print_rules(out: Console, version: KnownVersion) -> None:
    """Print a version with its rules in words."""
    sentence(out, f"{version.name}, version {version.version} (digest {version.digest})", style="bold")
    since = "ever since" if version.valid_from is None else f"from {date(version.valid_from)}"
    until = "" if version.until is None else f" until {date(version.until)}"
    sentence(out, f"Valid {since}{until}: {version.state}; {_rates(version)}.")
    if version.reason:
        sentence(out, f"Why: {version.reason}")
    sentence(out, f"File: {'none; this is what the ledger keeps' if version.file is None else version.file.place}.")
    if version.registered is not None:
        sentence(out, f"Registered in the ledger {when(version.registered.registered_at)}.")
    if version.changed:
        _print_changed(out, version)
    if version.policy is not None:
        shown = table("rule", "in words")
        for clause in in_words(version.policy):
            shown.add_row(cell(clause.about), cell(clause.words))
        out.print(shown)


def print_differences(out: Console, before: KnownVersion, after: KnownVersion, found: Sequence[Difference]) -> None:
    """Print what two versions have differently."""
    if before.version == after.version:
        sentence(out, f"{after.name} version {after.version}: the ledger's content → the file's", style="bold")
    else:
        sentence(out, f"{after.name}: version {before.version} → version {after.version}", style="bold")
        sentence(out, f"Valid {date(before.valid_from)} → {date(after.valid_from)}.")
        if after.reason:
            sentence(out, f"Why: {after.reason}")
    if not found:
        sentence(out, "No rule differs.")
        return
    shown = table("rule", "before", "after")
    for one in found:
        shown.add_row(cell(one.key), cell(_said(one.before)), cell(_said(one.after), "bold"))
    out.print(shown)


def date(time: datetime | str | None) -> str:
    """Give the day of a time in UTC, with the time of day where it is not midnight."""
    if time is None:
        return "ever since"
    if isinstance(time, str):
        return time
    return f"{time:%Y-%m-%d}" if (time.hour, time.minute, time.second) == (0, 0, 0) else when(time)


def _rates(version: KnownVersion) -> str:
    return f"rates {', '.join(version.pools)}" if version.pools else "rates no pool"


def _said(value: Any) -> str:
    match value:
        case None:
            return _NOT_SET
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number(value, 6)
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
