"""Cuts Markdown into blocks by its lines alone, following CommonMark's block rules.

What is told apart: headings (ATX and setext), code (fences, also in list items; indented
code; `<pre>`, `<script>`, `<style>`), HTML comments, tables. All else (paragraphs, lists,
quotes, footnotes, other HTML) is prose; neighbouring prose is one block, with the blank
lines between its paragraphs inside. Every non-blank line belongs to exactly one block and
no block begins or ends with a blank line. Blank is what Python calls white space only.

It never raises, needs time linear in the text, and builds no tree: what stands in a quote
stays prose, and a heading inside a list item is no heading of the note. Only lines whose
first character can begin something are looked at, which is where its speed comes from.

Line numbers inside are 0-based; those of the blocks are 1-based and inclusive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from kebab_tui.domain.document import Block, BlockKind
from kebab_tui.reading.markdown_extents import (
    begins_table,
    fence_end,
    indent_of,
    indented_code_end,
    last_text,
    table_end,
)
from kebab_tui.reading.markdown_html import html_end, html_kind
from kebab_tui.reading.markdown_inline import plain_text
from kebab_tui.reading.markdown_lists import OpenLists, is_rule

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|\Z)")
_CLOSING_MARKS = re.compile(r"(?:\A|(?<=[ \t]))#++[ \t]*+\Z")
_FENCE = re.compile(r"`{3,}+(?=[^`]*\Z)|~{3,}+")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?:[ \t]++(\S?)|\Z)")
_REFERENCE = re.compile(r" {0,3}\[[^\[\]^][^\[\]]*+\]:[ \t]*+\S")


def scan_markdown(lines: Sequence[str], start: int = 0) -> tuple[Block, ...]:
    """Cut `lines[start:]` into blocks; `lines` hold no line ends, `start` is the first line of the body."""
    scan = _Scan(lines, start)
    for at in [at for at, line in enumerate(lines) if line and line[0] in _OPENERS]:
        if at >= scan.resume:
            _OPENERS[lines[at][0]](scan, at)
    return scan.finish()


class _Draft:
    """A block that is being made. It becomes a `Block` by a change of class, which takes a third
    of the time of a frozen dataclass's own `__init__`: blocks are half of what a scan costs."""

    __slots__ = ("first", "kind", "last", "level", "text")

    def __init__(self, kind: BlockKind, first: int, last: int, level: int, text: str) -> None:
        self.kind = kind
        self.first = first
        self.last = last
        self.level = level
        self.text = text


class _Scan:
    """How far a scan has come.

    `written` is the first line that no block has yet; `resume` the first line that is still
    to be looked at; `fresh` the first line behind the last thing that cannot be part of a
    paragraph; `list_from` the line where a list began that may still be open, or -1;
    `barred` the last line that is known to belong to no setext heading.
    """

    __slots__ = ("barred", "blocks", "fresh", "lines", "list_from", "lists", "resume", "written")

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self.lines = lines
        self.blocks: list[_Draft] = []
        self.written = self.resume = self.fresh = start
        self.barred = start - 1
        self.list_from = -1
        self.lists: OpenLists | None = None

    def emit(self, kind: BlockKind, first: int, last: int, level: int = 0, text: str = "") -> None:
        if self.written < first:
            self.emit_prose(first - 1)
        self.blocks.append(_Draft(kind, first + 1, last + 1, level, text))
        self.written = self.resume = self.fresh = last + 1

    def emit_prose(self, last: int) -> None:
        """Make the lines that are left a block, without the blank ones around them."""
        lines, first = self.lines, self.written
        while first <= last and (not (line := lines[first]) or line.isspace()):
            first += 1
        if first <= last:
            while not (line := lines[last]) or line.isspace():
                last -= 1
            self.blocks.append(_Draft("prose", first + 1, last + 1, 0, ""))

    def finish(self) -> tuple[Block, ...]:
        self.emit_prose(len(self.lines) - 1)
        for draft in self.blocks:
            draft.__class__ = Block  # type: ignore[assignment]
        return tuple(cast("list[Block]", self.blocks))

    def pass_over(self, last: int) -> None:
        """Leave lines up to `last` to the prose, but none of them to a paragraph."""
        self.resume = self.fresh = last + 1

    def in_paragraph(self, at: int) -> bool:
        return at > self.fresh and not (not self.lines[at - 1] or self.lines[at - 1].isspace())

    def open_lists(self) -> OpenLists:
        if self.lists is None:
            self.lists = OpenLists(self.lines, self.list_from)
        return self.lists

    def in_list(self, at: int) -> bool:
        return self.list_from >= 0 and bool(self.open_lists().at(at))

    def column(self, at: int) -> int:
        """Where the text of the list item begins that holds a block starting at `at`; 0 outside of lists."""
        return self.open_lists().holding(at) if self.list_from >= 0 else 0

    def leave_lists(self, column: int = 0) -> None:
        """Go on behind a block that was held by a list item at `column`, or by none."""
        if column:
            self.open_lists().skip(column, self.resume)
        else:
            self.list_from = -1

    def begin_list(self, at: int) -> None:
        self.list_from = at
        self.lists = None


def _heading(scan: _Scan, at: int) -> None:
    if heading := _atx(scan.lines[at]):
        scan.emit("heading", at, at, heading[0], heading[1])
        scan.list_from = -1


def _heading_text(scan: _Scan, at: int, body: str) -> None:
    if heading := _atx(body):
        scan.emit("heading", at, at, heading[0], heading[1])
        scan.list_from = -1


@lru_cache(maxsize=4096)
def _atx(body: str) -> tuple[int, str] | None:
    """Level and plain text of an ATX heading; remembered, since notes repeat one another's headings."""
    mark = _HEADING.match(body)
    if mark is None:
        return None
    text = body[mark.end() :].rstrip()
    if text.endswith("#"):
        text = _CLOSING_MARKS.sub("", text)
    return mark.end(1), plain_text(text)


def _fence(scan: _Scan, at: int) -> None:
    if mark := _fence_mark(scan.lines[at]):
        scan.emit("code", at, fence_end(scan.lines, at, mark, 0))
        scan.list_from = -1


@lru_cache(maxsize=256)
def _fence_mark(body: str) -> str:
    fence = _FENCE.match(body)
    return fence[0] if fence else ""


def _html(scan: _Scan, at: int) -> None:
    _html_block(scan, at, scan.lines[at], 0)


def _html_block(scan: _Scan, at: int, body: str, column: int) -> None:
    kind = html_kind(body, scan.in_paragraph(at))
    if kind is None:
        return
    last = html_end(scan.lines, at, kind, column)
    if kind == "comment":
        scan.emit("comment", at, last_text(scan.lines, at, last))
    elif kind == "raw":
        scan.emit("code", at, last_text(scan.lines, at, last))
    else:
        scan.pass_over(last)
    scan.leave_lists(column)


def _dash(scan: _Scan, at: int) -> None:
    line = scan.lines[at]
    if line[-1] not in "- \t|:" and line[1:2] == " ":  # an item with text: by far the most
        scan.list_from, scan.lists = at, None
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)
    elif line[-1] not in "- \t|:" or not (_table(scan, at) or _underline(scan, at)):
        _marker(scan, at)


def _marker(scan: _Scan, at: int) -> None:
    """A line that begins like a list item or a rule at the left margin."""
    line = scan.lines[at]
    if line[-1] in "-*_ \t" and is_rule(line):
        scan.pass_over(at)
        scan.leave_lists()
    elif item := _ITEM.match(line):
        if not scan.in_paragraph(at) or (item[2] and item[1] in (None, "1")):
            scan.begin_list(at)
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)


def _item_fence(scan: _Scan, at: int) -> None:
    if scan.list_from < 0:
        return
    column, body = scan.open_lists().after_markers(at)
    if fence := _FENCE.match(body):
        scan.emit("code", at, fence_end(scan.lines, at, fence[0], column))
        scan.leave_lists(column)


def _underline(scan: _Scan, at: int) -> bool:
    """Make the paragraph above a setext heading, if line `at` underlines one."""
    body = scan.lines[at].strip()
    if body[0] not in "=-" or body.strip(body[0]) or not scan.in_paragraph(at) or scan.in_list(at):
        return False
    first = _paragraph_start(scan, at)
    if first == at:
        scan.barred = at
        return False
    text = " ".join(line.strip() for line in scan.lines[first:at])
    scan.emit("heading", first, at, 1 if body[0] == "=" else 2, plain_text(text))
    scan.leave_lists()
    return True


def _paragraph_start(scan: _Scan, end: int) -> int:
    """The first line of the paragraph that line `end` would close; `end` itself if there is none."""
    lines = scan.lines
    first, top = end, max(scan.fresh, scan.list_from + 1)
    while first > top and lines[first - 1] and not lines[first - 1].isspace():
        first -= 1
        if first == scan.barred or lines[first].lstrip(" ").startswith(">"):
            return end
    while first < end and _REFERENCE.match(lines[first]):
        first += 1
    return first


def _table(scan: _Scan, at: int) -> bool:
    """Take the table whose delimiter row is line `at`, with the header above it."""
    lines = scan.lines
    if at <= scan.fresh or not begins_table(lines[at - 1], lines[at]) or scan.in_list(at):
        return False
    scan.emit("table", at - 1, table_end(lines, at))
    scan.leave_lists()
    return True


def _delimiter(scan: _Scan, at: int) -> None:
    _table(scan, at)


def _underlined(scan: _Scan, at: int) -> None:
    _underline(scan, at)


def _indented(scan: _Scan, at: int) -> None:
    line = scan.lines[at]
    body = line.lstrip(" \t")
    mark = body[:1]
    before = scan.lines[at - 1]
    inside = at > scan.fresh and before != "" and not before.isspace()
    if inside and (mark not in _OPENERS or (scan.list_from >= 0 and _is_plain_item(body))):
        return
    if not body or body.isspace():
        return
    if mark in _OPENERS:
        _indented_opener(scan, at, body)
    if at >= scan.resume and not inside and indent_of(line) >= 4 and scan.column(at) == 0:
        scan.emit("code", at, indented_code_end(scan.lines, at))
        scan.leave_lists()


def _is_plain_item(body: str) -> bool:
    """A list item that can be nothing else and opens nothing inside."""
    return body[:2] in ("- ", "* ", "+ ") and body[-1] not in "-=*_ \t|:" and not ("```" in body or "~~~" in body)


def _indented_opener(scan: _Scan, at: int, body: str) -> None:
    """What an indented line can begin, in a list item or at most three columns off the margin."""
    indent = indent_of(scan.lines[at])
    if fence := _FENCE.match(body):
        column = scan.column(at)
        if indent - column <= 3:
            scan.emit("code", at, fence_end(scan.lines, at, fence[0], column))
            scan.leave_lists(column)
    elif body[0] == "<":
        column = scan.column(at)
        if indent - column <= 3:
            _html_block(scan, at, body, column)
    elif body[0] == "#":
        if indent <= 3 and scan.column(at) == 0:
            _heading_text(scan, at, body)
    elif indent > 3 or not (_table(scan, at) or _underline(scan, at)):
        _indented_item(scan, at, body, indent)


def _indented_item(scan: _Scan, at: int, body: str, indent: int) -> None:
    if indent <= 3 and is_rule(body):
        if scan.column(at) == 0:
            scan.pass_over(at)
            scan.leave_lists()
        return
    if scan.list_from < 0 and indent <= 3 and (item := _ITEM.match(body)):
        if not scan.in_paragraph(at) or (item[2] and item[1] in (None, "1")):
            scan.begin_list(at)
    if "```" in body or "~~~" in body:
        _item_fence(scan, at)


_OPENERS: dict[str, Callable[[_Scan, int], None]] = {
    "#": _heading,
    "`": _fence,
    "~": _fence,
    "<": _html,
    "-": _dash,
    "=": _underlined,
    "|": _delimiter,
    ":": _delimiter,
    " ": _indented,
    "\t": _indented,
    **dict.fromkeys("*+_0123456789", _marker),
}
