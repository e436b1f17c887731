"""`topics`: are the worker's topics there, and making them."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

from typing import Annotated

import typer

from worker.cli.exits import CommandError, Exit, command
from worker.cli.output import cell, console, print_json, table
from worker.cli.reaching import reaching_kafka
from worker.cli.running import run
from worker.cli.topic_facts import TopicFact, topic_facts
from worker.settings import Settings, load_settings
from worker.stream.topics import create_topics, wanted


@command
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create the topics that are missing.")] = False,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of the match and rating topics, when created.")
    ] = 12,
    replicas: Annotated[int, typer.Option(min=1, help="Replicas of each topic, when created.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the topics that the worker needs, or create those that are missing.

    Ends with 78 while one is missing.
    """
    settings = load_settings()
    made, facts = run(_topics(settings, partitions if create else None, replicas))
    missing = [name for name in wanted(settings) if name not in facts]
    if as_json:
        print_json({"topics": [fact.as_json() for fact in facts.values()], "missing": missing, "created": made})
    else:
        shown = table("topic", "partitions", "replicas", "", numbers=("partitions", "replicas"))
        for name in wanted(settings):
            fact = facts.get(name)
            state = "created" if name in made else "missing" if fact is None else ""
            shown.add_row(
                cell(name),
                cell(fact.partitions if fact else "-"),
                cell(fact.replicas if fact else "-"),
                cell(state, "red" if fact is None else "green"),
            )
        console().print(shown)
    if missing:
        raise CommandError(f"Missing: {', '.join(missing)}. `rating-worker topics --create` makes them.", Exit.CONFIG)


async def _topics(settings: Settings, partitions: int | None, replicas: int) -> tuple[list[str], dict[str, TopicFact]]:
    with reaching_kafka(settings):
        made = [] if partitions is None else await create_topics(settings, partitions=partitions, replicas=replicas)
        return made, await topic_facts(settings)
