"""Makes rows of readable text from Markdown, for a width.

A row knows the source lines that it shows. Blank lines of the source become blank rows, one
for several. Links are text only: a terminal would follow them. Comments stay, since a search finds
them. All text is sanitised after parsing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from markdown_it.token import Token
from rich.cells import cell_len

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.glyphs import glyph
from kebab_tui.tui.preview.obsidian import (
    block_tokens,
    callout_of,
    image_label,
    inline_tokens,
    task_of,
    without_tags,
)
from kebab_tui.tui.preview.painting import Span
from kebab_tui.tui.preview.syntax import Lexers, front_matter, kind_of
from kebab_tui.tui.preview.wrapping import TAB, row_starts
from kebab_tui.tui.widgets.segments import ELLIPSIS, LINE, sanitize_line, take

_NARROWEST = 12
"""Cells that nested quotes and lists leave for their text."""
_LEAST_COLUMN = 6
_FULL_LINE, _SHORT_LINE = 60, 40
"""A paragraph was wrapped by an editor if its longest line is full; a short line in it was not."""
_LONGEST_CODE, _LONGEST_CODE_LINE = 20_000, 1000
"""Longer code has no colours."""
_LONGEST_INLINE = 20_000
"""A longer paragraph is shown as typed."""
_LONGEST_ADDRESS = 60
_BAR = f"{glyph('│', '|')} "
_BULLET = glyph("•", "*")
_CROSSING = glyph("─┼─", "-+-")
_THICK = glyph("━", "=")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:")
_ALIGNED = re.compile(r"text-align:(right|center)")
_PROPERTY = re.compile(r"([^\s:#-][^:]*):(?:[ \t]+(.*))?")
_QUOTED = str.maketrans("", "", "[]\"'")
_CALLOUT_STYLES = {
    **dict.fromkeys(("warning", "caution", "attention"), "number"),
    **dict.fromkeys(("danger", "error", "bug", "failure", "fail", "missing"), "danger"),
    **dict.fromkeys(("success", "check", "done", "tip", "hint", "important"), "string"),
    **dict.fromkeys(("quote", "cite"), "gutter"),
}
_OPEN_STYLES = {
    "em_open": "emphasis", "strong_open": "strong", "s_open": "struck",
    "mark_open": "marked", "link_open": "link",
}  # fmt: skip

Piece = tuple[str, tuple[str, ...]]
"""A text and the names of its styles."""


class RenderedRow(NamedTuple):
    text: str
    spans: tuple[Span, ...]
    first: int
    last: int
    """The source lines of its text, from 1."""


class _Level:
    """A quote, callout or list item around blocks: the text before their rows."""

    def __init__(self, first: str, rest: str, style: str) -> None:
        self.first, self.rest, self.style = first, rest, style
        self.is_begun = False


class _Inline(NamedTuple):
    """An inline text with styles; `breaks` are the places after which another source line begins."""

    text: str
    pieces: Sequence[Piece]
    breaks: Sequence[int] = ()


class MarkdownRows:
    """Collects the rows of a note, block after block."""

    def __init__(self, lines: Sequence[str], width: int) -> None:
        self.rows: list[RenderedRow] = []
        self._lines = lines
        self._width = width
        self._levels: list[_Level] = []
        self._env: dict[str, Any] = {}
        self._lexers = Lexers()

    def add_blocks(self) -> Iterator[None]:
        """Add the rows of all blocks; yields after each, at least."""
        if end := front_matter(self._lines):
            self._add_properties(self._lines[1 : end - 1])
            self._lines = [*[""] * end, *self._lines[end:]]
        # Another line break inside a line would move all lines below it.
        tokens, self._env = block_tokens("\n".join(self._lines).replace("\r", " "))
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            line = token.map[0] + 1 if token.map else 1
            if token.map:
                self._add_gap(line, token.type == "heading_open")
            inside = tokens[at + 1] if at + 1 < len(tokens) and tokens[at].type == "paragraph_open" else None
            match token.type:
                case "blockquote_open":
                    callout = callout_of(inside.content) if inside is not None else None
                    style = _CALLOUT_STYLES.get(callout.kind, "heading") if callout else "gutter"
                    self._levels.append(_Level(_BAR, _BAR, style))
                    if callout is not None and inside is not None and inside.map:
                        title = f"{callout.kind.capitalize()}: {callout.title}".removesuffix(": ")
                        self._add_inline(title, line, (style, "strong"))
                        inside.content, inside.map = callout.rest, [line, inside.map[1]]
                        at += 1
                case "list_item_open":
                    bullet = f"{token.info}{token.markup}" if token.info else _BULLET
                    if inside is not None and (task := task_of(inside.content)):
                        bullet = task[0] if bullet == _BULLET else f"{bullet} {task[0]}"
                        inside.content = task[1]
                    self._levels.append(_Level(f"{bullet} ", " " * (cell_len(bullet) + 1), "mark"))
                case "blockquote_close" | "list_item_close":
                    if self._levels[-1].first != _BAR and not self._levels[-1].is_begun:
                        self._add_row((), self.rows[-1].last if self.rows else 1)  # an empty item
                    self._levels.pop()
                case "heading_open":
                    self._add_heading(tokens[at].content, line, token.tag)
                    at += 1
                case "inline":
                    self._add_inline(token.content, line)
                case "fence" | "code_block":
                    self._add_code(token.content, token.info, line + (token.type == "fence"))
                case "plain":
                    self._add_plain(token.content, line, token.meta["name"])
                case "html_block":
                    self._add_html(token.content, line)
                case "table_open":
                    begin, at = at, next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                    yield from self._add_table(_table_of(tokens[begin:at]))
                case "hr":
                    self._add_row(((LINE * self._room, ("gutter",)),), line)
            yield

    # Rows

    @property
    def _room(self) -> int:
        """The width that is left beside quotes and bullets."""
        return self._width - sum(cell_len(level.rest) for level in self._shown_levels())

    def _shown_levels(self) -> Sequence[_Level]:
        """The levels for which there is room."""
        widths = accumulate(cell_len(level.rest) for level in self._levels)
        most = max(self._width - _NARROWEST, 0)
        return self._levels[: sum(width <= most for width in widths)]

    def _add_row(self, pieces: Sequence[Piece], first: int, last: int = 0) -> None:
        before = []
        for level in self._shown_levels():
            before.append((level.rest if level.is_begun else level.first, (level.style,)))
            level.is_begun = True
        spans: list[Span] = []
        length = 0
        for text, names in chain(before, pieces):
            spans += ((length, length + len(text), name) for name in names)
            length += len(text)
        text = "".join(text for text, _ in chain(before, pieces))
        # A table of one line has a ruler, a fence without an end no line below it.
        first = max(min(first, len(self._lines)), self.rows[-1].last if self.rows else 1)
        self.rows.append(RenderedRow(sanitize_line(text), tuple(spans), first, max(first, last)))

    def _add_gap(self, line: int, is_heading: bool) -> None:
        """One blank row where the source has blank lines, and before a heading."""
        if not self.rows or not self.rows[-1].text.strip(f" {_BAR}"):
            return
        is_blank = line > 1 and not self._lines[line - 2].strip("> \t")
        if is_blank or is_heading:
            bars = [level for level in self._shown_levels() if level.is_begun]
            text = "".join(level.rest for level in bars).rstrip()
            first = max(line - 1, self.rows[-1].last)
            self.rows.append(
                RenderedRow(text, ((0, len(text), bars[0].style),) if text else (), first, first)
            )

    def _add_inline(self, content: str, line: int, names: tuple[str, ...] = ()) -> None:
        inline = self._inline(content, names)
        if not inline.text.strip():
            return
        for start, end, pieces in _wrapped(inline, self._room):
            first = line + bisect_right(inline.breaks, start)
            self._add_row(pieces, first, line + bisect_right(inline.breaks, max(end - 1, start)))

    def _add_heading(self, content: str, line: int, tag: str) -> None:
        """A heading without its `{#id}`; on the first two levels with a line as wide as itself."""
        text, sign, rest = content.rpartition("{#")
        text = text if sign and rest.endswith("}") else content
        begin = len(self.rows)
        self._add_inline(text, line, ("heading",))
        if tag in ("h1", "h2") and (rows := self.rows[begin:]):
            width = min(max(cell_len(row.text) for row in rows) - (self._width - self._room), self._room)
            self._add_row((((_THICK if tag == "h1" else LINE) * width, ("gutter",)),), line)

    def _add_plain(self, content: str, line: int, style: str) -> None:
        for number, text in enumerate(content.rstrip("\n").split("\n"), line):
            shown = sanitize(text.expandtabs(TAB))
            for _, _, pieces in _wrapped(_Inline(shown, ((shown, _names(style)),)), self._room):
                self._add_row(pieces, number)

    def _add_html(self, content: str, line: int) -> None:
        style = "comment" if content.lstrip().startswith("<!--") else ""
        for number, text in enumerate(content.rstrip("\n").split("\n"), line):
            if shown := without_tags(text):
                self._add_plain(shown, number, style)

    def _add_code(self, content: str, info: str, line: int) -> None:
        if not content:
            return
        code = sanitize(content.removesuffix("\n").expandtabs(TAB)) + "\n"
        start = 0
        *lines, _ = _lines_of(self._coloured(code, info.split(" ")[0].lower()))
        for number, text in enumerate(lines, line):
            length = sum(len(part) for part, _ in text)
            inline = _Inline(code[start : start + length], text)
            for _, _, shown in _wrapped(inline, self._room - 2):
                self._add_row((("  ", ()), *shown), number)
            start += length + 1

    def _coloured(self, code: str, language: str) -> Iterator[Piece]:
        is_short = len(code) <= _LONGEST_CODE and max(map(len, code.split("\n"))) <= _LONGEST_CODE_LINE
        lexer = self._lexers.named(language) if language and is_short else None
        if lexer is None:
            yield code, _names(None if language else "string")
            return
        for _, token, value in lexer.get_tokens_unprocessed(code):
            kind = kind_of(token)
            yield value, _names(kind)

    def _add_properties(self, lines: Sequence[str]) -> None:
        """Front matter as a list of names and values."""
        found = [_PROPERTY.fullmatch(line) for line in lines]
        longest = max((cell_len(sanitize_line(one[1])) for one in found if one), default=0)
        width = min(longest, self._width // 3) + 2
        for number, (line, one) in enumerate(zip(lines, found, strict=True), 2):
            name = take(sanitize_line(one[1]), width - 2) if one else ""
            value = sanitize_line(
                (one[2] or "" if one else line.strip().removeprefix("- ")).translate(_QUOTED)
            )
            left = name + " " * (width - cell_len(name))
            for _, _, pieces in _wrapped(_Inline(value, ((value, ()),)), self._width - width):
                self._add_row(((left, ("gutter",)), *pieces), number)
                left = " " * width

    def _add_table(self, table: _Table) -> Iterator[None]:
        """Add the rows of a table; yields after the cells of each, for a table may be long."""
        cells = []
        natural = [0] * len(table.sides)
        free = self._room - 3 * (len(natural) - 1)
        for row in table.rows:
            cells.append([self._inline(text) for text in row.cells])
            for at, one in enumerate(cells[-1]):
                natural[at] = max(natural[at], *map(cell_len, one.text.split("\n")))
            if free < sum(min(width, _LEAST_COLUMN) for width in natural):
                yield from self._add_records(table)
                return
            yield
        widths = _shared(natural, free)
        for number, (row, inlines) in enumerate(zip(table.rows, cells, strict=True)):
            columns = [list(_wrapped(one, width)) for one, width in zip(inlines, widths, strict=True)]
            for at in range(max(map(len, columns), default=0) or 1):
                pieces: list[Piece] = []
                for column, width, side in zip(columns, widths, table.sides, strict=True):
                    shown = list(column[at][2]) if at < len(column) else []
                    if not number:
                        shown = [(text, (*names, "strong")) for text, names in shown]
                    space = width - sum(cell_len(text) for text, _ in shown)
                    before = space if side == "right" else space // 2 if side == "center" else 0
                    pieces += [(f" {_BAR}", ("gutter",))] if pieces else []
                    pieces += [(" " * before, ()), *shown, (" " * (space - before), ())]
                self._add_row(pieces, row.line)
            if not number:
                ruler = _CROSSING.join(LINE * width for width in widths)
                self._add_row(((ruler, ("gutter",)),), row.line + 1)

    def _add_records(self, table: _Table) -> Iterator[None]:
        """A table with too many columns, cell by cell with their headers; yields after each row."""
        head, *rows = table.rows
        for row in rows or [head]:
            for name, text in zip(head.cells, row.cells, strict=True):
                if text and row is not head:
                    self._add_inline(f"**{name}** {text}" if name else text, row.line)
                elif text:
                    self._add_inline(text, row.line, ("strong",))
            self._add_row(((LINE * min(self._room, 8), ("gutter",)),), row.line)
            yield

    # Inline text

    def _inline(self, content: str, names: tuple[str, ...] = ()) -> _Inline:
        if len(content) > _LONGEST_INLINE:
            text = sanitize(content).replace("\t", " ")
            return _Inline(text, ((text, names),), [at for at, sign in enumerate(text, 1) if sign == "\n"])
        ends = _line_ends(content)
        parts: list[str] = []
        styles: list[tuple[str, ...]] = []
        breaks: list[int] = []
        opened = [names]
        addresses: list[str] = []
        length = 0

        def put(text: str, *more: str) -> None:
            nonlocal length
            parts.append(text)
            styles.append((*opened[-1], *more))
            length += len(text)

        for token in inline_tokens(content, self._env):
            match token.type:
                case "text" | "text_special":
                    put(token.content)
                case "softbreak" | "hardbreak":
                    is_kept = token.type == "hardbreak" or len(breaks) >= len(ends) or ends[len(breaks)]
                    put("\n" if is_kept else " ")
                    breaks.append(length)
                case "span":
                    put(token.content, *_names(token.meta["name"]))
                case "code_inline":
                    put(token.content, "string")
                case "image":
                    source = str(token.attrs.get("src", ""))
                    put(image_label(token.content or source.rpartition("/")[2]), "link")
                case "html_inline":
                    if token.content.lower().startswith("<br"):
                        put("\n")
                    elif token.content.startswith("<!--"):
                        put(token.content, "comment")
                case kind if kind in _OPEN_STYLES:
                    opened.append((*opened[-1], _OPEN_STYLES[kind]))
                    if kind == "link_open":
                        addresses.append(
                            "" if token.markup == "autolink" else str(token.attrs.get("href", ""))
                        )
                case kind if kind.endswith("_close"):
                    opened.pop()
                    if kind == "link_close" and _ADDRESS.match(address := addresses.pop()):
                        if len(address) > _LONGEST_ADDRESS:
                            address = address[: _LONGEST_ADDRESS - 1] + ELLIPSIS
                        put(f" ({address})", "gutter")
        # Cleaned as one text: Markdown turns `&#x202e;` into a character.
        text = sanitize("".join(parts)).replace("\t", " ")
        starts = accumulate(map(len, parts), initial=0)
        pieces = [
            (text[start : start + len(part)], style)
            for start, part, style in zip(starts, parts, styles, strict=False)
        ]
        return _Inline(text, pieces, breaks)


# Wrapping


def _wrapped(inline: _Inline, width: int) -> Iterator[tuple[int, int, Sequence[Piece]]]:
    """Rows of at most `width` cells: their place in the text, and their pieces."""
    rest = iter(inline.pieces)
    text, names, at = "", tuple[str, ...](), 0
    for start, end in _row_places(inline.text, max(width, 1)):
        pieces: list[Piece] = []
        while at + len(text) <= start and (following := next(rest, None)) is not None:
            at += len(text)
            text, names = following
        place = start
        while place < end:
            upto = min(end, at + len(text))
            if place < upto:
                pieces.append((text[place - at : upto - at], names))
                place = upto
            if place < end:
                at += len(text)
                text, names = next(rest)
        yield start, end, pieces


def _row_places(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where the rows of a text begin and end, without the blanks at their ends."""
    begin = 0
    for line in text.split("\n"):
        for start, end in pairwise([*row_starts(line, width, width), len(line)]):
            yield begin + start, begin + start + len(line[start:end].rstrip())
        begin += len(line) + 1


def _names(style: str | None) -> tuple[str, ...]:
    return (style,) if style else ()


def _lines_of(pieces: Iterable[Piece]) -> Iterator[Sequence[Piece]]:
    """Split pieces at line breaks, which are dropped."""
    line: list[Piece] = []
    for text, names in pieces:
        first, *others = text.split("\n")
        line.append((first, names))
        for other in others:
            yield line
            line = [(other, names)]
    yield line


def _line_ends(content: str) -> Sequence[bool]:
    """For each line break of a paragraph, whether the author meant it."""
    lines = content.split("\n")
    if len(lines) == 1:
        return ()
    widths = [cell_len(line.strip()) for line in lines]
    is_wrapped = max(widths) >= _FULL_LINE
    return [not is_wrapped or width < _SHORT_LINE for width in widths[:-1]]


# Tables


class _TableRow(NamedTuple):
    cells: list[str]
    line: int


class _Table(NamedTuple):
    rows: list[_TableRow]
    sides: list[str]


def _table_of(tokens: Sequence[Token]) -> _Table:
    table = _Table([], [])
    for token in tokens:
        if token.type == "tr_open" and token.map:
            table.rows.append(_TableRow([], token.map[0] + 1))
        elif token.type == "inline":
            table.rows[-1].cells.append(token.content)
        elif token.type == "th_open":
            side = _ALIGNED.search(str(token.attrs.get("style", "")))
            table.sides.append(side[1] if side else "left")
    return table


def _shared(natural: Sequence[int], free: int) -> list[int]:
    """Widths that fit together: narrow columns keep theirs, the others share the rest."""
    widths = list(natural)
    left = free
    for rank, column in enumerate(sorted(range(len(natural)), key=lambda place: natural[place])):
        widths[column] = max(min(natural[column], left // (len(natural) - rank)), 1)
        left -= widths[column]
    return widths
