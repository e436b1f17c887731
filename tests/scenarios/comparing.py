"""Comparing a scenario's tables with what came out, and saying what differs so that a person sees it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.scenarios.outcome import SECTIONS
from tests.scenarios.reading import EVENTS, check_columns
from tests.scenarios.values import check, same, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.scenarios.outcome import Got, Outcome, Section
    from tests.scenarios.reading import Row, Scenario, Table
    from tests.scenarios.values import Clock

OTHERS = "…"


class _Pair(NamedTuple):
    """A row of a table and the row that came out for it, either of which may be missing."""

    expected: Row | None
    got: Got | None
    out_of_order: bool = False


def check_tables(scenario: Scenario, clock: Clock) -> None:
    """See to it that every table can be compared.

    Raises:
        ScenarioError: It names a table, a column or a value that there is not.
    """
    for table in scenario.tables.values():
        if table.name == EVENTS:
            continue
        section = SECTIONS.get(table.name)
        if section is None:
            known = ", ".join([EVENTS, *SECTIONS])
            raise scenario.error(table.line, f"no such table as **{table.name}**; there are {known}")
        check_columns(scenario, table, section.kinds)
        for row in table.rows:
            if _is_others(row, table):
                continue
            for column, text in row.cells.items():
                try:
                    check(section.kinds[column], text, clock)
                except ValueError as error:
                    raise scenario.error(row.line, f"column {column!r}: {error}") from None


def differences(scenario: Scenario, clock: Clock, outcome: Outcome) -> str:
    """Say what came out otherwise than the tables say; empty where all is as they say."""
    reports = []
    for name, section in SECTIONS.items():
        table = scenario.tables.get(name)
        got = [*_policies(table, outcome), *outcome.rows[name]] if name == "Notices" else outcome.rows[name]
        if table is None:
            if section.always and got:
                reports.append(f"{name}: the scenario says of none, and there are\n{_all(section, got, None, clock)}")
            continue
        pairs = list(_pairs(table, section, got, clock))
        if any(_wrong(pair, section, clock) for pair in pairs):
            near = _near(table, section, got, clock)
            reports.append(_report(scenario, table, section, pairs, clock) + _all(section, near, table, clock))
    return "\n\n".join(reports)


def _policies(table: Table | None, outcome: Outcome) -> list[Got]:
    """Give the notices of changed policies that a table asks for: all of each policy that it names."""
    rows = () if table is None else table.rows
    named = {row.cells["policy"].split()[0] for row in rows if row.cells.get("notice") == "policy-changed"}
    return [notice for notice in outcome.policies if notice["policy"].split()[0] in named]


def _pairs(table: Table, section: Section, got: Sequence[Got], clock: Clock) -> Iterator[_Pair]:
    """Find for each row of a table the one that came out: the first that is left of the same match, player and so on.

    What came out and no row is about is given at the end, unless the table says that there is more.
    """
    left = dict(enumerate(got))
    last: dict[object, int] = {}
    named = [column for column in section.identity if column in table.columns]
    for row in table.rows:
        if _is_others(row, table):
            continue
        found = next(
            (place for place, one in left.items() if all(_fits(section, column, row, one, clock) for column in named)),
            None,
        )
        if found is None:
            yield _Pair(row, None)
            continue
        one = left.pop(found)
        chain = one[section.chain] if section.chain else None
        yield _Pair(row, one, bool(section.chain) and found < last.get(chain, -1))
        last[chain] = max(found, last.get(chain, -1))
    if not any(_is_others(row, table) for row in table.rows):
        for one in left.values():
            yield _Pair(None, one)


def _near(table: Table, section: Section, got: Sequence[Got], clock: Clock) -> Sequence[Got]:
    """Give what came out, without what a table that says that there is more does not speak of."""
    if not any(_is_others(row, table) for row in table.rows):
        return got
    named = next(column for column in section.identity if column in table.columns)
    return [
        one for one in got if any(_fits(section, named, row, one, clock) for row in table.rows if named in row.cells)
    ]


def _fits(section: Section, column: str, row: Row, got: Got, clock: Clock) -> bool:
    return column not in row.cells or same(section.kinds[column], row.cells[column], got[column], clock)


def _is_others(row: Row, table: Table) -> bool:
    """Tell whether a row says that there is more, which the scenario is not about."""
    return row.cells == {table.columns[0]: OTHERS}


def _wrong(pair: _Pair, section: Section, clock: Clock) -> bool:
    expected, got, out_of_order = pair
    if expected is None or got is None or out_of_order:
        return True
    return not all(_right(section, column, text, got, clock) for column, text in expected.cells.items())


def _right(section: Section, column: str, text: str, got: Got, clock: Clock) -> bool:
    if column == "says":
        return text in got[column]
    return same(section.kinds[column], text, got[column], clock)


def _report(scenario: Scenario, table: Table, section: Section, pairs: Sequence[_Pair], clock: Clock) -> str:
    """Write the table with what came out in the cells that differ."""
    lines = [["", *table.columns, ""]]
    for pair in pairs:
        expected, got, out_of_order = pair
        cells = []
        for column in table.columns:
            text = "" if expected is None else expected.cells.get(column, "")
            if got is None or (expected is not None and (not text or _right(section, column, text, got, clock))):
                cells.append(text)
            else:
                came = show(got[column], clock)
                cells.append(came if expected is None else f"{text} ≠ {came}")
        note = "" if expected is None else f"line {expected.line}"
        if expected is None:
            note = "came out, and the table does not have it"
        elif got is None:
            note += ": did not come out"
        elif out_of_order:
            note += f": came out before the rows above it of the same {section.chain}"
        lines.append(["✗" if _wrong(pair, section, clock) else " ", *cells, note])
    where = f"{scenario.file.name}, line {table.line}"
    return f"{table.name} ({where}): expected ≠ came out\n{_grid(lines)}\n"


def _all(section: Section, got: Sequence[Got], table: Table | None, clock: Clock) -> str:
    """Write all that came out, in the columns of the table or, without one, in all."""
    columns = list(section.kinds) if table is None else [column for column in table.columns if column in section.kinds]
    rows = [[show(one[column], clock) for column in columns] for one in got]
    return "all that came out:\n" + _grid([["", *columns], *(["", *row] for row in rows)])


def _grid(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
