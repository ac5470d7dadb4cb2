"""Which list items are open at a line of Markdown.

Only asked where it matters: at an indented fence, heading, comment or code line after a
list has begun. It follows markers, indents and lazy continuation lines; it keeps no items.
Columns are 0-based; a tab reaches to the next multiple of four.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kebab_tui.reading.markdown_extents import indent_of
from kebab_tui.reading.markdown_html import html_kind

_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|\Z)")
_INTERRUPTS = re.compile(r"#{1,6}(?:[ \t]|\Z)|`{3,}+[^`]*\Z|~~~|>|(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z)")


def is_rule(body: str) -> bool:
    """A thematic break: three or more of one of `-*_` and nothing else but spaces."""
    mark = body[:1]
    return mark in ("-", "*", "_") and not body.strip(mark + " \t") and body.count(mark) >= 3


class OpenLists:
    """The content columns of the open list items, outermost first, moved down line by line."""

    __slots__ = ("_empty", "_lines", "_next", "_paragraph", "_stack")

    def __init__(self, lines: Sequence[str], first: int) -> None:
        self._lines = lines
        self._next = first
        self._stack: list[int] = []
        self._paragraph = False
        self._empty = False

    def at(self, line: int) -> list[int]:
        """The items that are open before `line` says anything."""
        for at in range(self._next, line):
            self._take(self._lines[at])
        self._next = max(self._next, line)
        return self._stack

    def holding(self, line: int) -> int:
        """The content column of the item that holds a block which begins at `line`, or 0."""
        indent = indent_of(self._lines[line])
        return next((column for column in reversed(self.at(line)) if column <= indent), 0)

    def after_markers(self, line: int) -> tuple[int, str]:
        """For a line that opens items: the innermost content column, and the text behind the markers."""
        self.at(line)
        self._next = line + 1
        body = self._take(self._lines[line])
        return (self._stack[-1] if self._stack else 0), body

    def skip(self, column: int, line: int) -> None:
        """A block held at `column` ended before `line`; deeper items are closed."""
        while self._stack and self._stack[-1] > column:
            self._stack.pop()
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
        outer = [column for column in self._stack if column <= indent]
        left = len(outer) < len(self._stack)
        within = indent - (outer[-1] if outer else 0)
        if self._paragraph and left and (within > 3 or not _interrupts(body)):
            return body
        self._stack = outer
        if within > 3:
            return body
        return self._open_items(body, indent, self._paragraph and not left)

    def _open_items(self, body: str, indent: int, in_paragraph: bool) -> str:
        while (marker := _MARKER.match(body)) and not is_rule(body):
            rest = body[marker.end() :]
            text = rest.lstrip(" ")
            if in_paragraph and (not text or marker[1] not in (None, "1")):
                break
            gap = len(rest) - len(text) if text else 1
            width = marker.end() + (gap if gap <= 4 else 1)
            indent += width
            self._stack.append(indent)
            body, in_paragraph = text, False
            if gap > 4:
                break
        self._empty = not body
        self._paragraph = bool(body) and not (is_rule(body) or body.startswith(("# ", "## ", "### ", "<!--")))
        return body


def _interrupts(body: str) -> bool:
    return (
        bool(_INTERRUPTS.match(body))
        or is_rule(body)
        or (body[0] == "<" and html_kind(body, True) is not None)
    )
