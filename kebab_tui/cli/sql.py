"""`kebab sql`: prints the rows of one SELECT as a table, CSV or JSON.

Exit code 0 with rows, 1 without. Text in cells is sanitised; a BLOB is printed as hexadecimal digits.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

import click

from kebab_tui.cli.command import command, option
from kebab_tui.cli.edge import Invocation, pass_invocation, shared_options
from kebab_tui.cli.output import Style, aligned, detect, field, notify, table_lines, write, write_json
from kebab_tui.domain.errors import UsageError
from kebab_tui.domain.text import sanitize

if TYPE_CHECKING:
    from kebab_tui.storage.ports import Cell, SqlResult

_WIDEST = 80
"""Characters of a cell in an aligned table."""


@command(
    examples=(
        ("kebab sql 'select path, title from notes'", "every note"),
        ("kebab sql --csv 'select tag, count(*) from tags group by tag'", "as CSV"),
    )
)
@click.argument("statement", metavar="SELECT")
@option("--table", "form", flag_value="table", help="Aligned columns, also in a pipe.")
@option("--csv", "form", flag_value="csv", help="Comma-separated, with a header.")
@option("--json", "form", flag_value="json", help="Print a sql_result.v1 object.")
@option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    metavar="N",
    help="Number of rows (default: 1,000).",
)
@option(
    "--timeout",
    type=click.FloatRange(0.1, 3_600),
    default=5.0,
    metavar="S",
    help="Stop after S seconds (default: 5).",
)
@shared_options
@pass_invocation
def sql_command(invocation: Invocation, statement: str, form: str | None, limit: int, timeout: float) -> int:
    """Query the index with SQL, read-only.

    Tables: notes, passages, names, tags, links, properties, tasks; docs/sql.md describes them.
    In a pipe: cells between tabs.
    """
    if not statement.strip():
        raise UsageError("no statement given", "`kebab sql 'select path, title from notes'`")
    with closing(invocation.open_index()) as workspace:
        found = workspace.sql(statement, workspace.sql_limits(limit, timeout))
    match form:
        case "json":
            from kebab_tui.wire.encode import sql_result

            write_json(sql_result(found))
        case "csv":
            if sys.stdout is not None:
                rows = csv.writer(sys.stdout, lineterminator="\n")
                rows.writerow(map(sanitize, found.columns))
                rows.writerows([sanitize(_shown(cell)) for cell in row] for row in found.rows)
        case _:
            _write_table(found, always_aligned=form == "table")
    if found.cut:
        more = "raise --limit" if found.cut == "rows" else "select fewer or shorter columns"
        notify(f"only the first {len(found.rows):,} rows; {more} for the others")
    return 0 if found.rows else 1


def _write_table(found: SqlResult, *, always_aligned: bool) -> None:
    terminal = detect(sys.stdout, os.environ)
    if not always_aligned and not terminal.tty:
        lines = table_lines(found.columns, (tuple(map(_shown, row)) for row in found.rows))
    else:
        style = Style(terminal)
        first, *others = aligned([_cut(found.columns), *(_cut(map(_shown, row)) for row in found.rows)])
        lines = iter((style.dim(first), *others))
    for line in lines:
        write(line)


def _cut(cells: Iterable[str]) -> list[str]:
    shown = map(field, cells)
    return [cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…" for cell in shown]


def _shown(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.hex() if isinstance(cell, bytes) else str(cell)
