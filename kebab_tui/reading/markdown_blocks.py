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

from kebab_tui.domain.checkpoint import OFTEN, UNLIMITED, Checkpoint
from kebab_tui.domain.document import Block
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
from kebab_tui.reading.markdown_lists import is_rule
from kebab_tui.reading.markdown_scan import Scan

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|\Z)")
_CLOSING_MARKS = re.compile(r"(?:\A|(?<=[ \t]))#++[ \t]*+\Z")
_FENCE = re.compile(r"`{3,}+(?=[^`]*\Z)|~{3,}+")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?:[ \t]++(\S?)|\Z)")
_REFERENCE = re.compile(r" {0,3}\[[^\[\]^][^\[\]]*+\]:[ \t]*+\S")

_LONGEST_HEADING_LINE = 2000
"""What is behind is not read: a heading's plain text is shorter, and the cache holds these lines."""


def scan_markdown(
    lines: Sequence[str], start: int = 0, checkpoint: Checkpoint = UNLIMITED
) -> tuple[Block, ...]:
    """Cut `lines[start:]` into blocks; `lines` hold no line ends, `start` is the first line of the body."""
    scan = Scan(lines, start, checkpoint)
    openers = [at for at, line in enumerate(lines) if line and line[0] in _OPENERS]
    for some in range(0, len(openers), OFTEN + 1):
        checkpoint()
        for at in openers[some : some + OFTEN + 1]:
            if at >= scan.resume:
                line = lines[at]
                _OPENERS[line[0]](scan, at, line)
    return scan.finish()


def _heading(scan: Scan, at: int, body: str) -> None:
    if heading := _atx(body[:_LONGEST_HEADING_LINE]):
        scan.emit("heading", at, at, heading[0], heading[1])


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
    elif line[1] in " \t":  # an item with text, which nothing stops from beginning a list
        scan.begin_list(at)
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)


def _marker(scan: Scan, at: int, line: str) -> None:
    """A line that begins like a list item or a rule at the left margin."""
    if line[-1] in "-*_ \t" and is_rule(line):
        scan.pass_over(at)
    elif item := _ITEM.match(line):
        if _may_begin(scan, at, item):
            scan.begin_list(at)
        if "```" in line or "~~~" in line:
            _item_fence(scan, at)


def _may_begin(scan: Scan, at: int, item: re.Match[str]) -> bool:
    """Inside a paragraph only an item with text that counts from one begins a list."""
    return not scan.in_paragraph(at) or (bool(item[2]) and item[1] in (None, "1"))


def _item_fence(scan: Scan, at: int) -> None:
    if scan.list_from < 0:
        return
    column, body = scan.open_lists().after_markers(at)
    _fence(scan, at, body, column)


def _underline(scan: Scan, at: int, line: str) -> bool:
    """Make the paragraph above a setext heading, if line `at` underlines one."""
    body = line.strip()
    if body[0] not in "=-" or body.strip(body[0]) or not scan.in_paragraph(at) or scan.in_list(at):
        return False
    first = _paragraph_start(scan, at)
    if first == at:
        scan.barred = at
        return False
    text = " ".join(line.strip() for line in scan.lines[first:at])
    scan.emit("heading", first, at, 1 if body[0] == "=" else 2, plain_text(text))
    return True


def _paragraph_start(scan: Scan, end: int) -> int:
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


def _table(scan: Scan, at: int, line: str) -> bool:
    """Take the table whose delimiter row is line `at`, with the header above it."""
    lines = scan.lines
    if at <= scan.fresh or not begins_table(lines[at - 1], line) or scan.in_list(at):
        return False
    scan.emit("table", at - 1, table_end(lines, at, scan.checkpoint))
    return True


def _indented(scan: Scan, at: int, line: str) -> None:
    body = line.lstrip(" \t")
    mark = body[:1]
    before = scan.lines[at - 1]
    inside = at > scan.fresh and before != "" and not before.isspace()
    if inside and (mark not in _OPENERS or (scan.list_from >= 0 and _is_plain_item(body))):
        return
    if not body or body.isspace():
        return
    indent = indent_of(line)
    if mark in _OPENERS:
        _indented_opener(scan, at, body, indent)
    if at >= scan.resume and not inside and indent >= 4 and scan.column(at) == 0:
        scan.emit("code", at, indented_code_end(scan.lines, at, scan.checkpoint))


def _is_plain_item(body: str) -> bool:
    """A list item that can be nothing else and opens nothing inside."""
    return (
        body[:2] in ("- ", "* ", "+ ")
        and body[-1] not in "-=*_ \t|:"
        and not ("```" in body or "~~~" in body)
    )


def _indented_opener(scan: Scan, at: int, body: str, indent: int) -> None:
    """What an indented line can begin, in a list item or at most three columns off the margin."""
    mark = body[0]
    if mark in "`~<":
        column = scan.column(at)
        if indent - column <= 3:
            (_html if mark == "<" else _fence)(scan, at, body, column)
    elif mark == "#":
        if indent <= 3 and scan.column(at) == 0:
            _heading(scan, at, body)
    elif indent > 3 or not (_table(scan, at, body) or _underline(scan, at, body)):
        _indented_item(scan, at, body, indent)


def _indented_item(scan: Scan, at: int, body: str, indent: int) -> None:
    if indent <= 3 and is_rule(body):
        if scan.column(at) == 0:
            scan.pass_over(at)
        return
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
