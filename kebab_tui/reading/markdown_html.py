"""Where raw HTML begins and ends in Markdown, by the seven conditions of CommonMark.

It knows no HTML: a block ends at its closing mark or at a blank line, whatever is inside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from kebab_tui.domain.checkpoint import SELDOM, Checkpoint
from kebab_tui.reading.markdown_extents import indent_of

HtmlKind = Literal["raw", "comment", "instruction", "cdata", "declaration", "block", "tag"]

_BLOCK_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    "|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe"
    "|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table"
    "|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_START = re.compile(
    r"<(?:(?P<raw>(?:script|pre|style|textarea)(?=[ \t>]|\Z))|(?P<comment>!--)|(?P<instruction>\?)"
    r"|(?P<cdata>!\[CDATA\[)|(?P<declaration>![A-Za-z])"
    rf"|(?P<block>/?(?:{_BLOCK_NAMES})(?=[ \t]|/?>|\Z)))",
    re.IGNORECASE,
)
_ATTRIBUTE = r"""\s++[A-Za-z_:][\w:.-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?+"""
_LONE_TAG = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?|/[A-Za-z][A-Za-z0-9-]*+\s*+)>\s*\Z"
)
_END = {
    "raw": re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    "comment": re.compile("-->"),
    "instruction": re.compile(r"\?>"),
    "cdata": re.compile(r"\]\]>"),
    "declaration": re.compile(">"),
}


def html_kind(body: str, in_paragraph: bool) -> HtmlKind | None:
    """Say what kind of HTML block `body` (a line without its indent) opens, if any."""
    if start := _START.match(body):
        return start.lastgroup  # type: ignore[return-value]  # the groups carry the kinds' names
    if not in_paragraph and _LONE_TAG.match(body):
        return "tag"
    return None


def html_end(lines: Sequence[str], first: int, kind: HtmlKind, column: int, checkpoint: Checkpoint) -> int:
    """Find the last line (0-based) of the block that line `first` opens in a list item at `column`."""
    end = _END.get(kind)
    for at in range(first, len(lines)):
        if not at & SELDOM:
            checkpoint()
        line = lines[at]
        if not line or line.isspace():
            if end is None:
                return at - 1
        elif column and at > first and indent_of(line) < column:
            return at - 1
        elif end and end.search(line):
            return at
    return len(lines) - 1
