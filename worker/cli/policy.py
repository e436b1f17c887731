"""`policy`: the rules that there are, in words, and what a new version changed."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from worker.cli import render_policy
from worker.cli.database import postgres
from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import console, plain, print_json
from worker.cli.policy_diff import differences
from worker.cli.policy_toml import policy_toml
from worker.cli.policy_versions import KnownVersion, State, known_versions
from worker.cli.running import run
from worker.ledger import reads
from worker.settings import Settings, load_settings

Name = Annotated[str, typer.Argument(metavar="NAME", help="The policy, such as yiboard.")]
Database = Annotated[
    bool,
    typer.Option("--database", "-d", help="Ask the ledger as well, in the Postgres of RATING_DATABASE_URL."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@command
def list_policies(database: Database = False, as_json: AsJson = False) -> None:
    """List every version of every policy, since when it holds, why, and which pools it rates.

    They come from the files that ship with the worker and those of RATING_POLICY_FILES and RATING_POOLS_FILE. With
    --database also from the ledger: what it has registered, what no file has any more, and loudly each file that was
    changed under an old version number. In that case the command ends with 78, as a worker would.
    """
    versions = _known(database=database)
    if as_json:
        print_json({"policies": [render_policy.version_json(one) for one in versions]})
    else:
        render_policy.print_list(console(), versions, asked=database)
    if changed := [f"{one.name} {one.version}" for one in versions if one.changed]:
        raise CommandError(f"Changed under an old version number: {', '.join(changed)}.", Exit.CONFIG)


@command
def show_policy(
    name: Name,
    version: Annotated[int | None, typer.Argument(metavar="VERSION", help="Without: the one in force now.")] = None,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print the file, or what would be one.")] = False,
    as_json: AsJson = False,
    database: Database = False,
) -> None:
    """Show the rules of a policy in words, or as the TOML or JSON that they are written in.

    A version whose file is gone can be shown with --database, from what the ledger keeps of it.
    """
    if as_toml and as_json:
        raise typer.BadParameter("--toml and --json don't go together", param_hint="--toml")
    shown = _chosen(_versions_of(name, database=database), version, database=database)
    if as_json:
        print_json(render_policy.version_json(shown) | {"rules": shown.rules})
    elif shown.policy is None:
        raise CommandError(
            f"{name} version {shown.version} was registered by a newer release of the worker, and holds what this one "
            "does not know. --json prints it as it is.",
            Exit.DATA,
        )
    elif as_toml:
        sys.stdout.write(shown.file.text if shown.file is not None else policy_toml(shown.policy))
    else:
        render_policy.print_rules(console(), shown)


@command
def diff_policies(
    name: Name,
    before: Annotated[
        int | None, typer.Argument(metavar="A", help="The older version; without: the last but one.")
    ] = None,
    after: Annotated[int | None, typer.Argument(metavar="B", help="The newer version; without: the last.")] = None,
    database: Database = False,
    as_json: AsJson = False,
) -> None:
    """Show what a version of a policy changed: each rule before and after, and why.

    With the same version twice and --database: what was changed in its file since the ledger registered it.
    """
    versions = _versions_of(name, database=database)
    if before is None:
        if len(versions) == 1:
            raise CommandError(f"{name} has one version only, {versions[0].version}: nothing to compare.", Exit.FAILED)
        old, new = versions[-2:]
    else:
        old = _chosen(versions, before, database=database)
        new = versions[-1] if after is None else _chosen(versions, after, database=database)
    itself = old.version == new.version
    found = differences(old.registered_rules if itself and old.changed else old.rules, new.rules)
    if as_json:
        print_json(
            {
                "name": name,
                "before": render_policy.version_json(old),
                "after": render_policy.version_json(new),
                "differences": [one._asdict() for one in found],
            }
        )
    else:
        render_policy.print_differences(console(), old, new, found)


policy = typer.Typer(
    no_args_is_help=True,
    help="The rules that there are: every version of every policy, in words, and what changed between them.",
)
policy.command("list")(list_policies)
policy.command("show")(show_policy)
policy.command("diff")(diff_policies)


def _known(*, database: bool) -> list[KnownVersion]:
    settings = load_settings()
    return known_versions(settings, run(_registered(settings)) if database else [], datetime.now(UTC))


async def _registered(settings: Settings) -> list[reads.RegisteredPolicy]:
    async with postgres(settings) as connection:
        return await reads.registered_policies(connection)


def _versions_of(name: str, *, database: bool) -> list[KnownVersion]:
    known = _known(database=database)
    versions = [one for one in known if one.name == name]
    if not versions:
        names = ", ".join(sorted({one.name for one in known}))
        raise CommandError(f"No policy {plain(name)}: there are {names}. {_elsewhere(database=database)}", Exit.FAILED)
    return versions


def _chosen(versions: list[KnownVersion], wanted: int | None, *, database: bool) -> KnownVersion:
    """Give the version that is meant; without one that in force now, or the last where no file has any."""
    if wanted is None:
        return next((one for one in versions if one.state is State.IN_FORCE), versions[-1])
    for one in versions:
        if one.version == wanted:
            return one
    there = ", ".join(str(one.version) for one in versions)
    raise CommandError(
        f"{versions[0].name} has no version {wanted}: there are {there}. {_elsewhere(database=database)}", Exit.FAILED
    )


def _elsewhere(*, database: bool) -> str:
    if database:
        return "Neither files nor ledger have it."
    return "With --database the ledger is asked too: it keeps versions whose file is gone."
