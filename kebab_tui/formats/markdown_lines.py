"""Recognises single elements of Markdown: fences, tables, HTML blocks and inline markup.

The `*_end` functions find the last line of a block whose first line is known; they read
each line of the block once. Raw HTML follows the seven conditions of CommonMark: a block
ends at its closing mark or at a blank line, whatever it contains. Line numbers are 0-based.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Literal

from kebab_tui.domain.checkpoint import SELDOM, Checkpoint

_DELIMITER = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+\s*+")
_ENDS_TABLE = re.compile(
    r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|`{3}|~~~|>|[-+*][ \t]|\d{1,9}[.)][ \t]|<(?:[A-Za-z/!?]))|    |\t| {0,3}\t"
)

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

LONGEST = 400
"""Longer headings are cut: a heading names a place, it is not the text."""

_MARKUP = re.compile(r"[\\`*_~\[\]<&{]")
_ANCHOR = re.compile(r"[ \t]*\{#[^{}]*\}[ \t]*\Z")
_LITERAL = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`++)([^`]++)\2(?!`)")
_WIKI = re.compile(r"!?\[\[([^\[\]|]*+)(?:\|([^\[\]]*+))?\]\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]++\]")
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\((?:[^()]|\([^()]*+\))*+\)|\[[^\[\]]*+\])")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[^\s<>@]++@[^\s<>]++)>")
_TAG = re.compile(
    r"<!--[^<>]*+-->|</?(?:a|abbr|b|big|br|center|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|samp|small"
    r"|span|strong|sub|sup|tt|u|var|wbr)(?=[\s/>])[^<>]*+>",
    re.IGNORECASE,
)
_STARS = re.compile(r"(?<!\*)(\*{1,3}+)(?![\s*])([^*]*+)(?<!\s)\1(?!\*)")
_UNDERSCORES = re.compile(r"(?<![\w])(_{1,3}+)(?![\s_])((?:[^_]|(?<=[^\W_])_(?=[^\W_]))*+)(?<!\s)\1(?!\w)")
_STRUCK = re.compile(r"~~(?![\s~])([^~]++)~~")

_SPECIAL = "\\`*_~[]<>&{}!|#"
_HIDE = {ord(mark): 0xFDD0 + place for place, mark in enumerate(_SPECIAL)}
_SHOW = {stand_in: mark for mark, stand_in in _HIDE.items()}
"""Literal punctuation is replaced by Unicode noncharacters while marks are removed, then restored."""


def indent_of(line: str) -> int:
    """Return the column of the first text character; a tab advances to a multiple of four."""
    space = line[: len(line) - len(line.lstrip(" \t"))]
    return len(space.expandtabs(4)) if "\t" in space else len(space)


def fence_end(lines: Sequence[str], first: int, mark: str, column: int, checkpoint: Checkpoint) -> int:
    """Find the end of a fenced block: its closing fence, the end of its list item or of the note."""
    for at in range(first + 1, len(lines)):
        if not at & SELDOM:
            checkpoint()
        line = lines[at]
        if mark in line:
            run = line.strip(" \t")
            if len(run) == run.count(mark[0]) and 0 <= indent_of(line) - column <= 3:
                return at
        if column and line and not line.isspace() and indent_of(line) < column:
            return last_text(lines, first, at - 1)
    return last_text(lines, first, len(lines) - 1)


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
    """Return whether two lines are the header of a table and its delimiter row."""
    return (
        "|" in head
        and _DELIMITER.fullmatch(delimiter.lstrip(" ")) is not None
        and _columns(head) == _columns(delimiter)
        and not _ENDS_TABLE.match(head)
    )


def table_end(lines: Sequence[str], delimiter: int, checkpoint: Checkpoint) -> int:
    for at in range(delimiter + 1, len(lines)):
        if not at & SELDOM:
            checkpoint()
        line = lines[at]
        if line[:1] != "|" and (not line or line.isspace() or _ENDS_TABLE.match(line)):
            return at - 1
    return len(lines) - 1


def _columns(row: str) -> int:
    row = row.strip()
    bars = row.count("|") - row.count("\\|")
    return bars + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))


def html_kind(body: str, in_paragraph: bool) -> HtmlKind | None:
    """Return the kind of HTML block that `body` (a line without its indent) opens, if any."""
    if start := _START.match(body):
        return start.lastgroup  # type: ignore[return-value]  # the groups carry the kinds' names
    if not in_paragraph and _LONE_TAG.match(body):
        return "tag"
    return None


def html_end(lines: Sequence[str], first: int, kind: HtmlKind, column: int, checkpoint: Checkpoint) -> int:
    """Find the end of the HTML block that line `first` opens, in a list item at `column` (0: none)."""
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


def plain_text(raw: str) -> str:
    """Remove the inline markup of a heading: `**Use** [x](y)` becomes `Use x`.

    Not a full inline parser: unknown markup stays. Takes linear time.
    """
    text = " ".join(raw[:LONGEST].split())
    if not _MARKUP.search(text):
        return text
    text = _ANCHOR.sub("", text)
    text = _LITERAL.sub(lambda match: (match[1] or match[3].strip()).translate(_HIDE), text)
    text = _WIKI.sub(lambda match: match[2] or match[1], text)
    text = _FOOTNOTE.sub("", text)
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # twice: a link may contain an image
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _STARS.sub(r"\2", _STARS.sub(r"\2", text))  # twice: `**a *b* c**`
    text = _UNDERSCORES.sub(r"\2", text)
    text = _STRUCK.sub(r"\1", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.translate(_SHOW).split())
