"""Paints one line of a note, and the header row above the note.

A line has its number, the mark of the citation and the visible columns. A short line is
measured in cells, so that wide characters keep their columns; in a very long line a column
is a character, so that only the visible part is measured. The header cuts the state of the
passage last: it warns of wrong lines. All text passes `clean`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from kebab_tui.domain.citation import Citation, Located
from kebab_tui.domain.hit import SearchHit
from kebab_tui.tui.preview.matches import LONG_LINE
from kebab_tui.tui.preview.syntax import KINDS
from kebab_tui.tui.widgets.segments import CUT_LEFT, CUT_RIGHT, STEP, cut, cut_path, sanitize_line, take

TAB = 4
CHANGED = "changed since it was indexed"
_LEAST_TITLE = 8
_GAP = "  "


Span = tuple[int, int, str]
"""[start, end) in characters, and the name of a style; later spans override earlier ones."""

Part = tuple[str, str]
"""A text and the name of its style."""


@dataclass(frozen=True, slots=True)
class View:
    """The visible columns and the width of the gutter."""

    left: int
    width: int
    digits: int

    @property
    def columns(self) -> int:
        return max(1, self.width - self.digits - 2)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    spans: tuple[Span, ...] = ()
    mark: str = " "
    """The glyph in the gutter; a space unless the line is cited."""


def paint(line: Line, view: View, styles: Mapping[str, Style]) -> Strip:
    """The line as wide as the view; `styles` come from `styles_of`."""
    base = styles["text"] if line.mark == " " else styles["cited"]
    number = Segment(f"{line.number:>{view.digits}}", base + styles["gutter"])
    gutter = Strip([number, Segment(f"{line.mark} ", base + styles["mark"])], view.digits + 2)
    width = view.columns
    if len(line.text) > LONG_LINE:
        shown = line.text[view.left : view.left + width + 1].replace("\t", " ")
        spans: Iterable[Span] = [
            (start - view.left, end - view.left, name) for start, end, name in line.spans
        ]
        body, left = Strip(_segments(shown, spans, base, styles)), 0
    else:
        shown, spans = _expanded(line.text, line.spans) if "\t" in line.text else (line.text, line.spans)
        body, left = Strip(_segments(shown, spans, base, styles)), view.left
    is_cut = body.cell_length > left + width
    body = body.crop_extend(left, left + width, base)
    cut_style = base + styles["cut"]
    if is_cut:
        body = Strip.join([body.crop(0, width - 1), Strip([Segment(CUT_RIGHT, cut_style)], 1)])
    if view.left and line.text:
        body = Strip.join([Strip([Segment(CUT_LEFT, cut_style)], 1), body.crop(1)])
    return Strip.join([gutter, body]).crop_extend(0, view.width, base)


def column_of(text: str, index: int) -> int:
    """The column of a character."""
    return index if len(text) > LONG_LINE else cell_len(_expanded(text[:index], ())[0])


def _segments(
    text: str, spans: Iterable[Span], base: Style, styles: Mapping[str, Style]
) -> Iterator[Segment]:
    shown = sanitize_line(text)
    within = [(max(start, 0), min(end, len(shown)), styles[name]) for start, end, name in spans]
    within = [(start, end, style) for start, end, style in within if start < end]
    if not within:
        if shown:
            yield Segment(shown, base)
        return
    cuts = sorted({0, len(shown), *(at for start, end, _ in within for at in (start, end))})
    for start, end in pairwise(cuts):
        on_top = [style for first, last, style in within if first <= start and end <= last]
        yield Segment(shown[start:end], Style.combine([base, *on_top]))


def _expanded(text: str, spans: Sequence[Span]) -> tuple[str, Sequence[Span]]:
    """The text with its tabs expanded, and the spans moved accordingly."""
    parts: list[str] = []
    places: list[int] = []
    length = cells = 0
    for character in text:
        part = " " * (TAB - cells % TAB) if character == "\t" else character
        places.append(length)
        parts.append(part)
        length += len(part)
        cells += cell_len(part)
    places.append(length)
    last = len(text)
    moved = [(places[min(start, last)], places[min(end, last)], name) for start, end, name in spans]
    return "".join(parts), moved


def state_of(hit: SearchHit, located: Located | None) -> str:
    """How the passage differs from the indexed one; empty if it does not."""
    if located is None:
        return CHANGED if hit.stale or hit.gone else ""
    match located.state:
        case "moved":
            return f"moved {located.shift:+d}"
        case "changed":
            return CHANGED
        case "gone":
            return "passage gone"
    return ""


def header(hit: SearchHit, located: Located | None, state: str, width: int) -> list[Part]:
    """The parts of the header row, together `width` cells."""
    if cell_len(state) > width // 2:
        state = state.replace(CHANGED, "changed")
    shown_state = take(sanitize_line(state), width)
    free = width - cell_len(shown_state) - (len(_GAP) if shown_state else 0)
    citation = str(Citation(hit.path, located.span) if located else hit.citation)
    headings = [part for part in hit.heading_path.split(" > ") if part and part != hit.title]
    path = cut_path(sanitize_line(citation), max(free, 0))
    left = free - cell_len(path) - len(_GAP)
    title = cut(sanitize_line(f" {STEP} ".join([hit.title, *headings])), left) if left >= _LEAST_TITLE else ""
    before = [(path, "path"), (f"{_GAP}{title}" if title else "", "title")]
    padding = width - cell_len(path) - cell_len(before[1][0]) - cell_len(shown_state)
    return [*before, (" " * padding, "title"), (shown_state, "state")]


# Styles use the colours of the theme only, and no meaning depends on colour alone: cited lines
# have a mark in the gutter, matches are bold and underlined, the current match is reversed.

_PARTS = ("header", "path", "title", "state", "gutter", "mark", "cited", "cut", "match", "current", *KINDS)
COMPONENT_CLASSES = {f"preview--{part}" for part in _PARTS}

CSS = """
Preview {
    overflow-x: hidden;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    & > .preview--header { background: $surface; }
    &:focus > .preview--header { background: $primary 14%; text-style: underline; }
    & > .preview--path { text-style: bold; }
    & > .preview--title { color: $text-muted; }
    & > .preview--state { color: $warning; text-style: bold; }
    & > .preview--gutter { color: $text-muted; }
    & > .preview--mark { color: $accent; text-style: bold; }
    & > .preview--cited { background: $primary 14%; }
    & > .preview--cut { color: $accent; text-style: bold; }
    & > .preview--match { color: $accent; text-style: bold underline; }
    & > .preview--current { color: $accent; text-style: bold reverse; }
    & > .preview--heading { color: $primary; text-style: bold; }
    & > .preview--strong { text-style: bold; }
    & > .preview--emphasis { text-style: italic; }
    & > .preview--comment { color: $text-muted; text-style: italic; }
    & > .preview--keyword { color: $primary; }
    & > .preview--string { color: $success; }
    & > .preview--number { color: $warning; }
    & > .preview--name { color: $secondary; }
    & > .preview--link { color: $secondary; text-style: underline; }
    &:ansi > .preview--header, &:ansi > .preview--cited { background: $background; }
    &:ansi:focus > .preview--header { background: $background; text-style: underline; }
}
"""

_MARKDOWN = {
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "code": "string", "code_block": "string", "block_quote": "emphasis", "list": "gutter",
    "item.bullet": "mark", "item.number": "mark", "hr": "gutter", "link": "link", "link_url": "link",
    "table.border": "gutter", "table.header": "strong", "kbd": "strong",
}  # fmt: skip


def styles_of(preview: Widget) -> dict[str, Style]:
    """The styles by name; all but "text", "cited" and "header" are combined with one of these."""
    styles = {}
    for part in _PARTS:
        # Without the background: a muted colour depends on the one below it.
        full = preview.get_component_rich_style(f"preview--{part}")
        styles[part] = Style(
            color=full.color,
            bold=full.bold,
            dim=full.dim,
            italic=full.italic,
            underline=full.underline,
            reverse=full.reverse,
        )
    styles["text"] = preview.rich_style
    for ground in ("cited", "header"):
        styles[ground] = preview.get_component_rich_style(f"preview--{ground}")
    return styles | {f"markdown.{element}": styles[part] for element, part in _MARKDOWN.items()}
