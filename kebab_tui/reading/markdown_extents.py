"""How far a block of Markdown reaches, once its first line is known.

Fences, indented code and tables; lines are 0-based. Each function looks at every line of
the block once and at no line behind the one that ends it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kebab_tui.domain.checkpoint import SELDOM, Checkpoint

_DELIMITER = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+\s*+")
_ENDS_TABLE = re.compile(
    r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|`{3}|~~~|>|[-+*][ \t]|\d{1,9}[.)][ \t]|<(?:[A-Za-z/!?]))|    |\t| {0,3}\t"
)


def indent_of(line: str) -> int:
    """The column at which a line's text begins; a tab reaches to the next multiple of four."""
    space = line[: len(line) - len(line.lstrip(" \t"))]
    return len(space.expandtabs(4)) if "\t" in space else len(space)


def fence_end(lines: Sequence[str], first: int, mark: str, column: int, checkpoint: Checkpoint) -> int:
    """The last line of a fence: its closing mark, the end of its list item, or the end of the note."""
    for at in range(first + 1, len(lines)):
        if not at & SELDOM:
            checkpoint()
        line = lines[at]
        if mark in line and ((line == mark and not column) or _closes(line, mark, column)):
            return at
        if column and line and not line.isspace() and indent_of(line) < column:
            return last_text(lines, first, at - 1)
    return last_text(lines, first, len(lines) - 1)


def _closes(line: str, mark: str, column: int) -> bool:
    run = line.strip(" \t")
    return len(run) == run.count(mark[0]) and 0 <= indent_of(line) - column <= 3


def last_text(lines: Sequence[str], first: int, last: int) -> int:
    while last > first and (not lines[last] or lines[last].isspace()):
        last -= 1
    return last


def indented_code_end(lines: Sequence[str], first: int, checkpoint: Checkpoint) -> int:
    last = first
    for at in range(first + 1, len(lines)):
        if not at & SELDOM:
            checkpoint()
        line = lines[at]
        if not line or line.isspace():
            continue
        if indent_of(line) < 4:
            break
        last = at
    return last


def begins_table(head: str, delimiter: str) -> bool:
    """Whether two lines are a table's header and the row of dashes below it."""
    return (
        "|" in head
        and _DELIMITER.fullmatch(delimiter.lstrip(" ")) is not None
        and _columns(head) == _columns(delimiter)
        and not _ENDS_TABLE.match(head)
    )


def table_end(lines: Sequence[str], delimiter: int, checkpoint: Checkpoint) -> int:
    last = delimiter
    while last + 1 < len(lines) and _is_row(lines[last + 1]):
        last += 1
        if not last & SELDOM:
            checkpoint()
    return last


def _columns(row: str) -> int:
    row = row.strip()
    bars = row.count("|") - row.count("\\|")
    return bars + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))


def _is_row(line: str) -> bool:
    return line[:1] == "|" or (line != "" and not line.isspace() and not _ENDS_TABLE.match(line))
