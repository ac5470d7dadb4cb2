"""Splits Markdown into blocks line by line, following the block rules of CommonMark.

Recognises headings (ATX and setext), code (fences, also in list items; indented code;
`<pre>`, `<script>`, `<style>`), HTML comments and tables. Everything else (paragraphs,
lists, quotes, footnotes, other HTML) is prose; adjacent prose is one block, including the
blank lines between its paragraphs. Each non-blank line belongs to exactly one block, and no
block begins or ends with a blank line.

Never raises, takes linear time, and builds no tree: the content of a quote stays prose, and
a heading inside a list item is not a heading of the note. For speed, only lines whose first
character can start an element are examined. Line numbers are 0-based inside this module;
those of the blocks are 1-based and inclusive. A tab advances to a multiple of four columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from kebab_tui.domain.checkpoint import OFTEN, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block, BlockKind, ParsedNote
from kebab_tui.formats.markdown_lines import (
    begins_table,
    fence_end,
    html_end,
    html_kind,
    indent_of,
    indented_code_end,
    last_text,
    plain_text,
    table_end,
)
from kebab_tui.formats.note import read_note

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|\Z)")
_CLOSING_MARKS = re.compile(r"(?:\A|(?<=[ \t]))#++[ \t]*+\Z")
_FENCE = re.compile(r"`{3,}+(?=[^`]*\Z)|~{3,}+")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?:[ \t]++(\S?)|\Z)")
_REFERENCE = re.compile(r" {0,3}\[[^\[\]^][^\[\]]*+\]:[ \t]*+\S")
_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?: ++|\Z)")
_INTERRUPTS = re.compile(r"#{1,6}(?:[ \t]|\Z)|" + _FENCE.pattern + r"|>|(?:[-+*]|\d{1,9}[.)])(?:[ \t]|\Z)")
_LONGEST_HEADING_LINE = 2000
"""The rest of the line is ignored: the plain text of a heading is shorter, and the cache keeps the line."""


def parse(data: bytes, path: str, checkpoint: Checkpoint = UNLIMITED) -> ParsedNote:
    return read_note(data, path, "markdown", scan_markdown, checkpoint)


def scan_markdown(
    lines: Sequence[str], start: int = 0, checkpoint: Checkpoint = UNLIMITED
) -> tuple[Block, ...]:
    """Split `lines[start:]` into blocks; `start` is the first line of the body."""
    scan = Scan(lines, start, checkpoint)
    openers = [at for at, line in enumerate(lines) if line and line[0] in _OPENERS]
    for some in range(0, len(openers), OFTEN + 1):
        checkpoint()
        for at in openers[some : some + OFTEN + 1]:
            if at >= scan.resume:
                line = lines[at]
                _OPENERS[line[0]](scan, at, line)
    scan.emit_prose(len(lines) - 1)
    for draft in scan.blocks:
        draft.__class__ = Block  # type: ignore[assignment]  # see BlockDraft
    return tuple(cast("list[Block]", scan.blocks))


def _heading(scan: Scan, at: int, body: str) -> None:
    if heading := _atx(body[:_LONGEST_HEADING_LINE]):
        scan.emit("heading", at, at, heading[0], heading[1])


@lru_cache(maxsize=4096)
def _atx(body: str) -> tuple[int, str] | None:
    """Return level and plain text of an ATX heading; cached, since notes share headings."""
    mark = _HEADING.match(body)
    if mark is None:
        return None
    text = body[mark.end() :].rstrip()
    if text.endswith("#"):
        text = _CLOSING_MARKS.sub("", text)
    return mark.end(1), plain_text(text)


def _fence(scan: Scan, at: int, body: str, column: int = 0) -> None:
    if fence := _FENCE.match(body):
        scan.emit("code", at, fence_end(scan.lines, at, fence[0], column, scan.checkpoint), column=column)


def _html(scan: Scan, at: int, body: str, column: int = 0) -> None:
    kind = html_kind(body, scan.in_paragraph(at))
    if kind is None:
        return
    last = html_end(scan.lines, at, kind, column, scan.checkpoint)
    if kind == "comment":
        scan.emit("comment", at, last_text(scan.lines, at, last), column=column)
    elif kind == "raw":
        scan.emit("code", at, last_text(scan.lines, at, last), column=column)
    else:
        scan.pass_over(last, column)


def _dash(scan: Scan, at: int, line: str) -> None:
    if line[-1] in "- \t|:":
        if not (_table(scan, at, line) or _underline(scan, at, line)):
            _marker(scan, at, line)
    elif line[1] in " \t":  # an item with text can always begin a list
        scan.begin_list(at)
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)


def _marker(scan: Scan, at: int, line: str) -> None:
    """Handle a line that begins like a list item or a rule at the left margin."""
    if line[-1] in "-*_ \t" and is_rule(line):
        scan.pass_over(at)
    elif item := _ITEM.match(line):
        if _may_begin(scan, at, item):
            scan.begin_list(at)
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)


def _may_begin(scan: Scan, at: int, item: re.Match[str]) -> bool:
    """Inside a paragraph, only an item with text and without a number other than 1 begins a list."""
    return not scan.in_paragraph(at) or (bool(item[2]) and item[1] in (None, "1"))


def _item_fence(scan: Scan, at: int) -> None:
    if scan.list_from < 0:
        return
    column, body = scan.open_lists().after_markers(at)
    _fence(scan, at, body, column)


def _underline(scan: Scan, at: int, line: str) -> bool:
    """Make the paragraph above a heading if line `at` underlines it."""
    body = line.strip()
    if body[0] not in "=-" or body.strip(body[0]) or not scan.in_paragraph(at) or scan.in_list(at):
        return False
    lines = scan.lines
    first, top = at, max(scan.fresh, scan.list_from + 1)
    while first > top and lines[first - 1] and not lines[first - 1].isspace():
        first -= 1
        if first == scan.barred or lines[first].lstrip(" ").startswith(">"):
            first = at  # not a paragraph
            break
    while first < at and _REFERENCE.match(lines[first]):
        first += 1
    if first == at:
        scan.barred = at
        return False
    text = " ".join(line.strip() for line in lines[first:at])
    scan.emit("heading", first, at, 1 if body[0] == "=" else 2, plain_text(text))
    return True


def _table(scan: Scan, at: int, line: str) -> bool:
    """Add the table whose delimiter row is line `at`, with the header above it."""
    lines = scan.lines
    if at <= scan.fresh or not begins_table(lines[at - 1], line) or scan.in_list(at):
        return False
    scan.emit("table", at - 1, table_end(lines, at, scan.checkpoint))
    return True


def _indented(scan: Scan, at: int, line: str) -> None:
    body = line.lstrip(" \t")
    mark = body[:1]
    inside = scan.in_paragraph(at)
    plain_item = body[:2] in ("- ", "* ", "+ ") and body[-1] not in "-=*_ \t|:"
    if inside and mark not in _OPENERS:
        return
    if inside and scan.list_from >= 0 and plain_item and "```" not in body and "~~~" not in body:
        return
    if not body or body.isspace():
        return
    indent = indent_of(line)
    if mark in _OPENERS:
        _indented_opener(scan, at, body, indent)
    if at >= scan.resume and not inside and indent >= 4 and scan.column(at) == 0:
        scan.emit("code", at, indented_code_end(scan.lines, at, scan.checkpoint))


def _indented_opener(scan: Scan, at: int, body: str, indent: int) -> None:
    """Handle an indented line that may open an element, in a list item or up to three columns in."""
    mark = body[0]
    if mark in "`~<":
        column = scan.column(at)
        if indent - column <= 3:
            (_html if mark == "<" else _fence)(scan, at, body, column)
    elif mark == "#":
        if indent <= 3 and scan.column(at) == 0:
            _heading(scan, at, body)
    elif indent <= 3 and (_table(scan, at, body) or _underline(scan, at, body)):
        return
    elif indent <= 3 and is_rule(body):
        if scan.column(at) == 0:
            scan.pass_over(at)
    else:
        item = _ITEM.match(body) if scan.list_from < 0 and indent <= 3 else None
        if item and _may_begin(scan, at, item):
            scan.begin_list(at)
        if "```" in body or "~~~" in body:
            _item_fence(scan, at)


_OPENERS: dict[str, Callable[[Scan, int, str], object]] = {
    "#": _heading,
    "`": _fence,
    "~": _fence,
    "<": _html,
    "-": _dash,
    "=": _underline,
    "|": _table,
    ":": _table,
    " ": _indented,
    "\t": _indented,
    **dict.fromkeys("*+_0123456789", _marker),
}


class Scan:
    """The state of a scan: the finished blocks and the open elements. Knows no syntax.

    `written` is the first line without a block; `resume` the first line still to be examined;
    `fresh` the first line after the last element that cannot be part of a paragraph;
    `list_from` the line where a possibly open list began, or -1; `barred` the last line known
    to belong to no setext heading.
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
        self.blocks: list[BlockDraft] = []
        self.written = self.resume = self.fresh = start
        self.barred = start - 1
        self.list_from = -1
        self.lists: OpenLists | None = None

    def emit(
        self, kind: BlockKind, first: int, last: int, level: int = 0, text: str = "", column: int = 0
    ) -> None:
        """Add a block, in a list item at `column` (0: none), after the prose before it."""
        if self.written < first:
            self.emit_prose(first - 1)
        self.blocks.append(BlockDraft(kind, first + 1, last + 1, level, text))
        self.written = last + 1
        self.pass_over(last, column)

    def emit_prose(self, last: int) -> None:
        """Add the lines up to `last` without a block as prose, without blank lines around them."""
        lines, first = self.lines, self.written
        while first <= last and (not (line := lines[first]) or line.isspace()):
            first += 1
        if first <= last:
            while not (line := lines[last]) or line.isspace():
                last -= 1
            self.blocks.append(BlockDraft("prose", first + 1, last + 1, 0, ""))

    def pass_over(self, last: int, column: int = 0) -> None:
        """Skip the lines up to `last`; none of them is part of a paragraph."""
        self.resume = self.fresh = last + 1
        if column:
            self.open_lists().skip(column, last + 1)
        else:
            self.list_from = -1

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
        """Return the content column of the list item that contains a block starting at `at`, or 0."""
        return self.open_lists().holding(at) if self.list_from >= 0 else 0

    def begin_list(self, at: int) -> None:
        self.list_from = at
        self.lists = None


class BlockDraft:
    """A block under construction; it becomes a `Block` by assigning its class.

    That takes a third of the time of the `__init__` of the frozen dataclass, which was a fifth
    of the cost of a scan. The slots must be those of `Block`.
    """

    __slots__ = ("first", "kind", "last", "level", "text")

    def __init__(self, kind: BlockKind, first: int, last: int, level: int, text: str) -> None:
        self.kind = kind
        self.first = first
        self.last = last
        self.level = level
        self.text = text


class OpenLists:
    """Tracks the content columns of the open list items, outermost first, line by line.

    Follows markers, indents and lazy continuation lines. Consulted only at an indented fence,
    heading, comment or code line after a list has begun. The time for a line depends only on its
    length: columns are found by bisection, and each marker is read once.
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
        """Return the items that are open before `line`."""
        for at in range(self._next, line):
            if not at & OFTEN:
                self._checkpoint()
            self._take(self._lines[at])
        self._next = max(self._next, line)
        return self._stack

    def holding(self, line: int) -> int:
        """Return the content column of the item that contains a block starting at `line`, or 0."""
        stack = self.at(line)
        inside = bisect_right(stack, indent_of(self._lines[line]))
        return stack[inside - 1] if inside else 0

    def after_markers(self, line: int) -> tuple[int, str]:
        """Open the items of `line`; return the innermost content column and the text after the markers."""
        self.at(line)
        self._next = line + 1
        body = self._take(self._lines[line])
        return (self._stack[-1] if self._stack else 0), body

    def skip(self, column: int, line: int) -> None:
        """Close items deeper than `column` after a block in it that ended before `line`."""
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
        if self._paragraph and left:
            interrupts = (
                _INTERRUPTS.match(body)
                or is_rule(body)
                or (body[0] == "<" and html_kind(body, True) is not None)
            )
            if within > 3 or not interrupts:
                return body
        del stack[inside:]
        if within > 3:
            return body
        in_paragraph = self._paragraph and not left
        at, end = 0, len(body)
        rule_from = _rule_from(body)
        while (marker := _MARKER.match(body, at)) and at < rule_from:
            text = marker.end()
            mark_end = (marker.end(1) if marker[1] else at) + 1
            if in_paragraph and (text == end or marker[1] not in (None, "1")):
                break
            gap = text - mark_end if text < end else 1
            indent += mark_end - at + (gap if gap <= 4 else 1)
            stack.append(indent)
            at, in_paragraph = text, False
            if gap > 4:
                break
        body = body[at:]
        self._empty = not body
        self._paragraph = bool(body) and not (is_rule(body) or body.startswith(("# ", "## ", "### ", "<!--")))
        return body


def _rule_from(body: str) -> int:
    """Return the first position from which the rest of a line is a rule, whatever precedes it."""
    bare = body.rstrip(" \t")
    mark = bare[-1]
    if mark not in "-*_":
        return len(body)
    first = len(bare.rstrip(mark + " \t"))
    return first if bare.count(mark, first) >= 3 else len(body)


def is_rule(body: str) -> bool:
    """Return whether the line is a thematic break: at least three of one of `-*_`, else only spaces."""
    mark = body[:1]
    return mark in ("-", "*", "_") and not body.strip(mark + " \t") and body.count(mark) >= 3
