"""Reading scenarios: a Markdown file of a rule family, whole scenarios of headings, settings and tables out of it.

What the tables' cells mean is the business of `values`, `events` and `outcome`; README.md says it to people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from markdown_it.token import Token

EVENTS = "Events"
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_LABEL = re.compile(r"\*\*(.+)\*\*")
_SETTING = re.compile(r"([^:]+): +(.+)", re.DOTALL)
_PIPE = re.compile(r"(?<!\\)\|")

SETTINGS = ("Pool", "Day 0", "Starting rating", "Policy", "Without", "With")


class ScenarioError(Exception):
    """A scenario that can't be read: says in which file and line, what was found and what is allowed."""

    def __init__(self, file: Path, line: int, fault: str) -> None:
        super().__init__(f"{file.name}, line {line}: {fault}")


class Row(NamedTuple):
    """A row of a table: its cells by column, those that are empty left out."""

    line: int
    cells: dict[str, str]


class Table(NamedTuple):
    """A table, by the name in bold above it."""

    name: str
    line: int
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class Setting(NamedTuple):
    """A line of a list, such as `- Pool: shax`."""

    line: int
    text: str


@dataclass(frozen=True)
class Scenario:
    """One scenario as it is written.

    Attributes:
        family: The file's name without `.md`.
        number: Of the scenario in its file, from 1.
        settings: Its own over those at the head of the file.
    """

    file: Path
    family: str
    number: int
    line: int
    name: str
    settings: dict[str, Setting]
    tables: dict[str, Table]

    @property
    def prefix(self) -> str:
        """What the runner puts before every id, so that scenarios share a database and never meet."""
        return f"{self.family}-{self.number}"

    def error(self, line: int, fault: str) -> ScenarioError:
        """Make the error that says where in the file a fault is."""
        return ScenarioError(self.file, line, fault)

    def setting(self, name: str) -> str | None:
        """Give a setting's value, None where there is none."""
        found = self.settings.get(name)
        return None if found is None else found.text

    def __str__(self) -> str:
        return f"{self.family}: {self.name}"


def read(file: Path) -> list[Scenario]:
    """Read the scenarios of a file.

    Raises:
        ScenarioError: It has no such structure as README.md says.
    """
    text = file.read_text("utf-8")
    lines = text.splitlines()
    scenarios: list[Scenario] = []
    settings: dict[str, Setting] = {}
    common = settings
    label: tuple[str, int] | None = None
    for kind, line, content in _blocks(_MARKDOWN.parse(text)):
        if kind == "h2":
            settings = dict(common)
            scenarios.append(Scenario(file, file.stem, len(scenarios) + 1, line, content, settings, {}))
        elif kind == "li":
            name, setting = _setting(file, line, content)
            settings[name] = setting
        elif kind == "label":
            label = (content, line)
        elif kind == "table":
            if label is None or not scenarios:
                raise ScenarioError(file, line, "a table needs a name in bold above it, such as **Events**")
            name = label[0]
            if name in scenarios[-1].tables:
                raise ScenarioError(file, label[1], f"this scenario has a table **{name}** already")
            scenarios[-1].tables[name] = _table(file, name, line, content, lines)
            label = None
    for scenario in scenarios:
        if EVENTS not in scenario.tables:
            raise scenario.error(scenario.line, f"the scenario has no table **{EVENTS}**")
    return scenarios


def _blocks(tokens: list[Token]) -> Iterator[tuple[str, int, str]]:
    """Give the parts that mean something: their kind, line and text; of a table the text is its last line's number."""
    kinds = {"heading_open", "list_item_open", "table_open", "paragraph_open"}
    inside = ""
    for place, token in enumerate(tokens):
        if token.type == "list_item_close":
            inside = ""
        if token.type not in kinds or token.map is None:
            continue
        line = token.map[0] + 1
        if token.type == "table_open":
            yield "table", line, str(token.map[1])
        elif token.type == "list_item_open":
            inside = "li"
        elif inside:
            yield inside, line, _text(tokens[place + 1])
        elif token.type == "heading_open":
            yield token.tag, line, _text(tokens[place + 1])
        elif found := _LABEL.fullmatch(tokens[place + 1].content):
            yield "label", line, found[1]


def _text(inline: Token) -> str:
    """Give the text of a heading or paragraph without its marks."""
    return "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ()).strip()


def _setting(file: Path, line: int, text: str) -> tuple[str, Setting]:
    found = _SETTING.fullmatch(text)
    if found is None or found[1] not in SETTINGS:
        names = ", ".join(SETTINGS)
        raise ScenarioError(file, line, f"{text!r} is no setting; they are written 'Name: value' and are {names}")
    return found[1], Setting(line, found[2])


def _table(file: Path, name: str, line: int, end: str, lines: list[str]) -> Table:
    """Read a table whose heading is in `line` and whose last row is in line `end`."""
    columns = tuple(_cells(lines[line - 1]))
    if twice := [column for column in columns if columns.count(column) > 1]:
        raise ScenarioError(file, line, f"two columns of **{name}** are called {twice[0]!r}")
    rows = []
    for number in range(line + 2, int(end) + 1):
        cells = _cells(lines[number - 1])
        if len(cells) != len(columns):
            raise ScenarioError(file, number, f"the row has {len(cells)} cells, the heading has {len(columns)}")
        rows.append(Row(number, {column: cell for column, cell in zip(columns, cells, strict=True) if cell}))
    return Table(name, line, columns, tuple(rows))


def _cells(line: str) -> list[str]:
    """Give the cells of a line of a table as they are written; the parser would pad a short row and cut a long one."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.replace("\\|", "|").strip() for cell in _PIPE.split(inner)]


def check_columns(scenario: Scenario, table: Table, known: Iterable[str]) -> None:
    """See to it that a table has none but known columns.

    Raises:
        ScenarioError: It has another.
    """
    allowed = list(known)
    for column in table.columns:
        if column not in allowed:
            fault = f"**{table.name}** has no column {column!r}; there are {', '.join(allowed)}"
            raise scenario.error(table.line, fault)
