"""`verify`: what the tables say of each other, and whether the rules give what they say."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, counted, duration, plain, print_json, progress, sentence, status, table
from worker.cli.running import run
from worker.settings import Settings, load_settings
from worker.verify import Check, Finding, NoSuchPoolError, Progress, Report, verify

_MOST_EXAMPLES = 1_000


@command
def verify_database(
    pool: Annotated[
        list[str] | None, typer.Option("--pool", metavar="POOL", help="Only this pool; may be given again.")
    ] = None,
    no_rebuild: Annotated[
        bool, typer.Option("--no-rebuild", help="Count and add only: rate nothing again, and take half the time.")
    ] = False,
    examples: Annotated[
        int, typer.Option(min=0, max=_MOST_EXAMPLES, help="How many findings of each check to show.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with what each check means.")] = False,
) -> None:
    """Check that the database agrees with itself and with the rules. Changes nothing.

    Chains without gap or fork, sums, counts, voids and sanctions; then everything that is recorded is rated again, in
    recorded order, and must come out as it is stored, to the last bit. All of it as of one moment, so that workers may
    go on meanwhile. A standby will do, and a role that may only read.

    Ends with 65 if anything is wrong. `rating-worker player` and `rating-worker explain` show more of what is found.
    """
    settings = load_settings()
    report = run(_verify(settings, pool or [], examples, rebuild=not no_rebuild))
    if as_json:
        print_json(_json(report))
    else:
        _print(console(), report)
    if report.findings:
        wrong = [check.name.value for check in report.checks if check.findings]
        raise CommandError(
            f"{counted(report.findings, 'finding')} in {', '.join(wrong)}: the ledger contradicts its own rules. Keep "
            "the database as it is until it is clear how that came about.",
            Exit.DATA,
        )


async def _verify(settings: Settings, pools: list[str], examples: int, *, rebuild: bool) -> Report:
    async with postgres(settings) as connection:
        with _telling() as tell:
            try:
                return await verify(connection, pools=pools, rebuild=rebuild, examples=examples, progress=tell)
            except NoSuchPoolError as error:
                known = ", ".join(map(plain, error.known))
                raise CommandError(
                    f"Nobody has played in pool {plain(error.pool)}; "
                    + (f"there are {known}." if known else "nor in any other: the ledger is empty."),
                    Exit.FAILED,
                ) from None


@contextmanager
def _telling() -> Iterator[Progress]:
    """Give what shows how far verifying is: a bar for each step on a terminal, a line now and then elsewhere."""
    if not sys.stderr.isatty():
        with status() as show:
            yield lambda step, done, total: show(f"{step}: {done:,} of about {max(done, total):,}")
        return
    with progress() as bars:
        tasks: dict[str, Any] = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=max(done, total))

        yield tell


def _print(out: Console, report: Report) -> None:
    shown = table("check", "looked at", "", numbers=("looked at",), whole=("check", "looked at", ""))
    for check in report.checks:
        state = Text(counted(check.findings, "finding"), "bold red") if check.findings else Text("ok", "green")
        shown.add_row(check.name.value, f"{check.looked_at:,}", state)
    out.print(shown)
    for check in report.checks:
        if check.findings:
            _print_findings(out, check)
    out.print()
    sentence(out, _summary(report))


def _print_findings(out: Console, check: Check) -> None:
    out.print()
    sentence(out, f"{check.name}: {check.meaning}", style="bold")
    for finding in check.examples:
        sentence(out, f"  {_where(finding)}{finding.what}")
    if (more := check.findings - len(check.examples)) > 0:
        sentence(out, f"  and {more:,} more: --examples shows up to {_MOST_EXAMPLES:,}")


def _where(finding: Finding) -> str:
    """Say what a finding is about, in the words that other commands take."""
    named = (
        ("match", finding.match_id),
        ("event", finding.event_id),
        ("player", finding.player_id),
        ("pool", finding.pool),
        ("version", finding.version),
    )
    said = ", ".join(f"{name} {value}" for name, value in named if value is not None)
    return f"{said}: " if said else ""


def _summary(report: Report) -> str:
    read = (
        f"{counted(report.entries, 'ledger entry', 'ledger entries')}, {counted(report.matches, 'match', 'matches')}, "
        f"{counted(report.events, 'other event')} and {counted(report.players, 'rating')} in {duration(report.seconds)}"
    )
    speed = f" ({report.entries / report.seconds:,.0f} entries a second)" if report.entries else ""
    how = "Verified and rated again" if report.not_rebuilt is None else "Verified"
    why = "" if report.not_rebuilt is None else f" Nothing was rated again: {plain(report.not_rebuilt)}."
    result = "Nothing is wrong" if not report.findings else counted(report.findings, "finding")
    return f"{how}: {read}{speed}.{why} {result}."


def _json(report: Report) -> dict[str, Any]:
    return {
        "ok": report.findings == 0,
        "entries": report.entries,
        "matches": report.matches,
        "events": report.events,
        "players": report.players,
        "seconds": report.seconds,
        "rebuilt": report.not_rebuilt is None,
        "not_rebuilt": report.not_rebuilt,
        "checks": [
            {
                "name": check.name,
                "meaning": check.meaning,
                "looked_at": check.looked_at,
                "findings": check.findings,
                "examples": [asdict(finding) for finding in check.examples],
            }
            for check in report.checks
        ],
    }
