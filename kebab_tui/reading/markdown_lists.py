"""Which list items are open at a line of Markdown.

Only asked where it matters: at an indented fence, heading, comment or code line after a
list has begun. It follows markers, indents and lazy continuation lines; it keeps no items.
Columns are 0-based; a tab reaches to the next multiple of four.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from kebab_tui.domain.checkpoint import OFTEN, Checkpoint
from kebab_tui.reading.markdown_extents import indent_of
from kebab_tui.reading.markdown_html import html_kind

_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?: ++|\Z)")
_INTERRUPTS = re.compile(r"#{1,6}(?:[ \t]|\Z)|`{3,}+[^`]*\Z|~~~|>|(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z)")


def is_rule(body: str) -> bool:
    """A thematic break: three or more of one of `-*_` and nothing else but spaces."""
    mark = body[:1]
    return mark in ("-", "*", "_") and not body.strip(mark + " \t") and body.count(mark) >= 3


class OpenLists:
    """The content columns of the open list items, outermost first, moved down line by line.

    However many items are open, a line costs time by its own length only: an item's column is
    found by bisection, and each marker of a row of them is looked at once.
    """

    __slots__ = ("_checkpoint", "_empty", "_lines", "_next", "_paragraph", "_stack")

    def __init__(self, lines: Sequence[str], first: int, checkpoint: Checkpoint) -> None:
        self._lines = lines
        self._checkpoint = checkpoint
        self._next = first
        self._stack: list[int] = []
        self._paragraph = False
        self._empty = False

    def at(self, line: int) -> list[int]:
        """The items that are open before `line` says anything."""
        for at in range(self._next, line):
            if not at & OFTEN:
                self._checkpoint()
            self._take(self._lines[at])
        self._next = max(self._next, line)
        return self._stack

    def holding(self, line: int) -> int:
        """The content column of the item that holds a block which begins at `line`, or 0."""
        stack = self.at(line)
        inside = bisect_right(stack, indent_of(self._lines[line]))
        return stack[inside - 1] if inside else 0

    def after_markers(self, line: int) -> tuple[int, str]:
        """For a line that opens items: the innermost content column, and the text behind the markers."""
        self.at(line)
        self._next = line + 1
        body = self._take(self._lines[line])
        return (self._stack[-1] if self._stack else 0), body

    def skip(self, column: int, line: int) -> None:
        """A block held at `column` ended before `line`; deeper items are closed."""
        del self._stack[bisect_right(self._stack, column) :]
        self._next = line
        self._paragraph = False

    def _take(self, line: str) -> str:
        if "\t" in line:
            line = line.expandtabs(4)
        body = line.lstrip(" ")
        if not body or body.isspace():
            self._paragraph = False
            if self._empty:
                self._stack.pop()
                self._empty = False
            return body
        self._empty = False
        indent = len(line) - len(body)
        stack = self._stack
        inside = bisect_right(stack, indent)
        left = inside < len(stack)
        within = indent - (stack[inside - 1] if inside else 0)
        if self._paragraph and left and (within > 3 or not _interrupts(body)):
            return body
        del stack[inside:]
        if within > 3:
            return body
        return self._open_items(body, indent, self._paragraph and not left)

    def _open_items(self, body: str, indent: int, in_paragraph: bool) -> str:
        at, end = 0, len(body)
        rule_from = _rule_from(body)
        while (marker := _MARKER.match(body, at)) and at < rule_from:
            text = marker.end()
            mark_end = (marker.end(1) if marker[1] else at) + 1
            if in_paragraph and (text == end or marker[1] not in (None, "1")):
                break
            gap = text - mark_end if text < end else 1
            indent += mark_end - at + (gap if gap <= 4 else 1)
            self._stack.append(indent)
            at, in_paragraph = text, False
            if gap > 4:
                break
        body = body[at:]
        self._empty = not body
        self._paragraph = bool(body) and not (is_rule(body) or body.startswith(("# ", "## ", "### ", "<!--")))
        return body


def _rule_from(body: str) -> int:
    """The first place from which on a line is a rule, whatever markers stand before it."""
    bare = body.rstrip(" \t")
    mark = bare[-1]
    if mark not in "-*_":
        return len(body)
    first = len(bare.rstrip(mark + " \t"))
    return first if bare.count(mark, first) >= 3 else len(body)


def _interrupts(body: str) -> bool:
    return (
        bool(_INTERRUPTS.match(body))
        or is_rule(body)
        or (body[0] == "<" and html_kind(body, True) is not None)
    )
