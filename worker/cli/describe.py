"""`settings`: every setting in words."""

# Typer reads the annotations of commands while it runs, so here they are no strings.

import re
import sys
from typing import Annotated

import typer

from worker.cli.exits import command
from worker.cli.output import print_json
from worker.settings import settings_table

_CELL = re.compile(r"(?<!\\)\|")  # a bar inside a cell is escaped


@command
def describe_settings(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print every setting: its variable, default, what is allowed and what it means, as a Markdown table."""
    markdown = settings_table()
    if not as_json:
        sys.stdout.write(markdown)
        return
    header, _, *rows = ([cell.strip(" `") for cell in _CELL.split(line)[1:-1]] for line in markdown.splitlines())
    names = [name.lower() for name in header]
    print_json([dict(zip(names, row, strict=True)) for row in rows])
