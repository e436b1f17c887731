"""`check`: is everything there that a worker needs, and if not, what is wrong and how to mend it."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from worker.cli.check_kafka import check_kafka
from worker.cli.check_postgres import check_postgres
from worker.cli.exits import Exit, command
from worker.cli.finding import Finding, State
from worker.cli.output import console, plain, print_json, sentence
from worker.cli.running import policies_of, run
from worker.rating.errors import PolicyError
from worker.rating.policy_set import PolicySet
from worker.settings import Settings, SettingsError, load_settings, unknown_variables

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.WRONG: "bold red", State.UNKNOWN: "yellow"}


@command
def check(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check everything that a worker needs: settings, policies, Postgres, Kafka. Changes nothing.

    Says of each whether it is as it must be and, if not, what is wrong and how to mend it; all of them, not only the
    first. Ends with 78 unless everything is; what is only suspicious, such as an unknown variable, is a warning.
    """
    findings: list[Finding] = []
    try:
        settings = load_settings()
    except SettingsError as error:
        first, *faults = str(error).splitlines()
        detail = "; ".join(fault.removeprefix("  - ") for fault in faults) or first
        findings.append(Finding.wrong("settings", detail, "`rating-worker settings` says what is allowed"))
        findings.append(Finding.unknown("everything else", "it needs settings that can be used"))
    else:
        findings.append(Finding.ok("settings", "can be used"))
        findings += _unknown_variables()
        findings += _look_at(settings)
    good = all(finding.state in {State.OK, State.WARNING} for finding in findings)
    if as_json:
        print_json({"ok": good, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    if not good:
        raise typer.Exit(Exit.CONFIG)


def _unknown_variables() -> Iterator[Finding]:
    for name, nearest in unknown_variables().items():
        mend = "take it away, or mend its name; `rating-worker settings` lists them all"
        mend += f", the nearest is {nearest}" if nearest else ""
        yield Finding.warning(f"variable {name}", "is no setting of this version and changes nothing", mend)


def _look_at(settings: Settings) -> list[Finding]:
    policies: PolicySet | None = None
    findings: list[Finding] = []
    try:
        policies = policies_of(settings)
    except PolicyError as error:
        mend = "mend the files that RATING_POLICY_FILES and RATING_POOLS_FILE name"
        findings += [Finding.wrong("policies", fault, mend) for fault in error.faults]
    else:
        findings.append(Finding.ok("policies", ", ".join(f"{one.name} {one.version}" for one in policies.policies)))
        pools = ", ".join(f"{pattern} by {name}" for pattern, name in policies.pools.items())
        findings.append(Finding.ok("pools", pools or "none: every match goes to the dead letters"))
    return [*findings, *run(_servers(settings, policies))]


async def _servers(settings: Settings, policies: PolicySet | None) -> list[Finding]:
    return [*await check_postgres(settings, policies), *await check_kafka(settings)]


def _print(findings: list[Finding]) -> None:
    out = console()
    for finding in findings:
        state = Text(f"{finding.state:<7} ", style=_STYLES[finding.state])
        out.print(state + Text(f"{finding.name}: {plain(finding.detail)}", style=""), soft_wrap=True)
        if finding.mend:
            sentence(out, f"        to mend: {finding.mend}")
