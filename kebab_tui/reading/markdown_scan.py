"""How far a scan of Markdown has come: the blocks it has made, and what is still open.

It decides nothing about syntax; `markdown_blocks` does and writes down here. Lines are
0-based; those of the blocks are 1-based and inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import Block, BlockKind
from kebab_tui.reading.markdown_lists import OpenLists


class Draft:
    """A block that is being made; it becomes a `Block` by a change of class.

    That takes a third of the time of a frozen dataclass's own `__init__`, which was a fifth
    of what a scan costs. The slots must be those of `Block`.
    """

    __slots__ = ("first", "kind", "last", "level", "text")

    def __init__(self, kind: BlockKind, first: int, last: int, level: int, text: str) -> None:
        self.kind = kind
        self.first = first
        self.last = last
        self.level = level
        self.text = text


class Scan:
    """How far a scan has come.

    `written` is the first line that no block has yet; `resume` the first line that is still
    to be looked at; `fresh` the first line behind the last thing that cannot be part of a
    paragraph; `list_from` the line where a list began that may still be open, or -1;
    `barred` the last line that is known to belong to no setext heading.
    """

    __slots__ = (
        "barred",
        "blocks",
        "checkpoint",
        "fresh",
        "lines",
        "list_from",
        "lists",
        "resume",
        "written",
    )

    def __init__(self, lines: Sequence[str], start: int, checkpoint: Checkpoint) -> None:
        self.lines = lines
        self.checkpoint = checkpoint
        self.blocks: list[Draft] = []
        self.written = self.resume = self.fresh = start
        self.barred = start - 1
        self.list_from = -1
        self.lists: OpenLists | None = None

    def emit(
        self, kind: BlockKind, first: int, last: int, level: int = 0, text: str = "", column: int = 0
    ) -> None:
        """Make lines a block; a list item at `column` holds it, or none."""
        if self.written < first:
            self.emit_prose(first - 1)
        self.blocks.append(Draft(kind, first + 1, last + 1, level, text))
        self.written = last + 1
        self.pass_over(last, column)

    def emit_prose(self, last: int) -> None:
        """Make the lines that are left a block, without the blank ones around them."""
        lines, first = self.lines, self.written
        while first <= last and (not (line := lines[first]) or line.isspace()):
            first += 1
        if first <= last:
            while not (line := lines[last]) or line.isspace():
                last -= 1
            self.blocks.append(Draft("prose", first + 1, last + 1, 0, ""))

    def pass_over(self, last: int, column: int = 0) -> None:
        """Look at no more lines up to `last`, and take none of them into a paragraph."""
        self.resume = self.fresh = last + 1
        if column:
            self.open_lists().skip(column, last + 1)
        else:
            self.list_from = -1

    def finish(self) -> tuple[Block, ...]:
        self.emit_prose(len(self.lines) - 1)
        for draft in self.blocks:
            draft.__class__ = Block  # type: ignore[assignment]  # see `Draft`
        return tuple(cast("list[Block]", self.blocks))

    def in_paragraph(self, at: int) -> bool:
        before = self.lines[at - 1]
        return at > self.fresh and before != "" and not before.isspace()

    def open_lists(self) -> OpenLists:
        if self.lists is None:
            self.lists = OpenLists(self.lines, self.list_from, self.checkpoint)
        return self.lists

    def in_list(self, at: int) -> bool:
        return self.list_from >= 0 and bool(self.open_lists().at(at))

    def column(self, at: int) -> int:
        """Where the text of the list item begins that holds a block starting at `at`; 0 outside of lists."""
        return self.open_lists().holding(at) if self.list_from >= 0 else 0

    def begin_list(self, at: int) -> None:
        self.list_from = at
        self.lists = None
