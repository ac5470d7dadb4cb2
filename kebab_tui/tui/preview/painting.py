"""Paints one row of a note, and the header above the note.

A row has the number of its line if it is the first one, the mark of the citation and the
text. A line that is not wrapped is measured in cells, so that wide characters keep their
columns; if it is very long, a column is a character, so that only the visible part is
measured. The header cuts the state of the passage last: it warns of wrong lines. All text
is sanitised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from kebab_tui.tui.preview.wrapping import Wrapped, expanded
from kebab_tui.tui.widgets.segments import (
    CUT_LEFT,
    CUT_RIGHT,
    DOT,
    ELLIPSIS,
    STEP,
    cut,
    cut_path,
    sanitize_line,
    take,
    take_end,
)

CHANGED = "changed since it was indexed"
READ_ONLY = "read-only"
_LEAST_TITLE = 8
_BETWEEN = f" {DOT} "


Span = tuple[int, int, str]
"""[start, end) in characters, and the name of a style; later spans override earlier ones."""

Part = tuple[str, str]
"""A text and the name of its style."""


@dataclass(frozen=True, slots=True)
class View:
    """The visible columns and the width of the gutter. `digits`: of the line numbers, 0 for none."""

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
    """The visible columns of a line that is not wrapped; `styles` come from `styles_of`."""
    base = _base(line, styles)
    width = view.columns
    if len(line.text) > LONG_LINE:
        shown = sanitize_line(line.text[view.left : view.left + width + 1].replace("\t", " "))
        spans: Iterable[Span] = [
            (start - view.left, end - view.left, name) for start, end, name in line.spans
        ]
        body, left = Strip(styled(shown, spans, base, styles)), 0
    else:
        shown, places = expanded(line.text)
        body, left = Strip(styled(shown, _moved(line.spans, places), base, styles)), view.left
    is_cut = body.cell_length > left + width
    body = body.crop_extend(left, left + width, base)
    cut_style = base + styles["cut"]
    if is_cut:
        body = Strip.join([body.crop(0, width - 1), Strip([Segment(CUT_RIGHT, cut_style)], 1)])
    if view.left and line.text:
        body = Strip.join([Strip([Segment(CUT_LEFT, cut_style)], 1), body.crop(1)])
    return Strip.join([_gutter(line, True, view, styles), body]).crop_extend(0, view.width, base)


def paint_row(line: Line, shown: Wrapped, part: int, view: View, styles: Mapping[str, Style]) -> Strip:
    """One row of a wrapped line, or of the piece of it that `shown` has."""
    base = _base(line, styles)
    begin, end = shown.span(part)
    spans = _moved(line.spans, shown.places, shown.begin)
    inside = [(first - begin, last - begin, name) for first, last, name in spans]
    body = [Segment(" " * indent, base)] if (indent := shown.indent(part)) else []
    # Without the blanks beyond the edge: cutting them off would take marks before them along.
    body += styled(shown.text[begin:end].rstrip(" "), inside, base, styles)
    row = Strip(body).crop_extend(0, view.columns, base)
    is_first = not part and not shown.begin
    return Strip.join([_gutter(line, is_first, view, styles), row]).crop_extend(0, view.width, base)


def _base(line: Line, styles: Mapping[str, Style]) -> Style:
    return styles["text"] if line.mark == " " else styles["cited"]


def _gutter(line: Line, is_first: bool, view: View, styles: Mapping[str, Style]) -> Strip:
    base = _base(line, styles)
    number = f"{line.number if is_first and view.digits else '':>{view.digits}}"
    return Strip(
        [Segment(number, base + styles["gutter"]), Segment(f"{line.mark} ", base + styles["mark"])],
        view.digits + 2,
    )


def column_of(text: str, index: int) -> int:
    """The column of a character."""
    return index if len(text) > LONG_LINE else cell_len(expanded(text[:index])[0])


def styled(shown: str, spans: Iterable[Span], base: Style, styles: Mapping[str, Style]) -> list[Segment]:
    """A sanitised text in its styles."""
    within = [(max(start, 0), min(end, len(shown)), styles[name]) for start, end, name in spans]
    within = [(start, end, style) for start, end, style in within if start < end]
    if not within:
        return [Segment(shown, base)] if shown else []
    segments = []
    cuts = sorted({0, len(shown), *(at for start, end, _ in within for at in (start, end))})
    for start, end in pairwise(cuts):
        on_top = [style for first, last, style in within if first <= start and end <= last]
        segments.append(Segment(shown[start:end], Style.combine([base, *on_top])))
    return segments


def _moved(spans: Iterable[Span], places: Sequence[int], begin: int = 0) -> Iterator[Span]:
    """The spans in an expanded text that begins at a character of the line."""
    last = len(places) - 1
    for start, end, name in spans:
        yield places[min(max(start - begin, 0), last)], places[min(max(end - begin, 0), last)], name


def state_of(hit: SearchHit, located: Located | None) -> str:
    """How the passage differs from the indexed one; empty if it does not."""
    if located is None:
        return CHANGED if hit.stale or hit.gone else ""
    match located.state:
        case "moved":
            return moved_words(located)
        case "changed":
            return CHANGED
        case "gone":
            return "passage gone"
    return ""


def moved_words(located: Located) -> str:
    """`moved +7`, by lines, or `moved +1 page`."""
    pages = "" if located.span.page is None else " page" if abs(located.shift) == 1 else " pages"
    return f"moved {located.shift:+d}{pages}"


def header(hit: SearchHit, state: str, width: int, located: Located | None = None) -> list[Part]:
    """Path, title with headings, and state of the passage, together at most `width` cells.

    The citation stands in for the path of a document with pages. The state is cut last.
    """
    if hit.version:
        state = ", ".join(filter(None, (READ_ONLY, state)))
    if cell_len(state) > width // 2:
        state = state.replace(CHANGED, "changed")
    state = take(sanitize_line(state), width)
    free = width - (cell_len(_BETWEEN) + cell_len(state) if state else 0)
    span = (located or hit.citation).span
    cited = replace(hit.citation, span=span) if hit.version else Citation(hit.path, span)
    path = sanitize_line(cited.file if span.page is None else str(cited))
    title = sanitize_line(f" {STEP} ".join([hit.title, *hit.headings]))
    room = max(free // 2, free - cell_len(path)) - cell_len(_BETWEEN)
    title = cut(title, room) if min(cell_len(title), _LEAST_TITLE) <= room else ""
    room = free - (cell_len(_BETWEEN) + cell_len(title) if title else 0)
    if cell_len(path) > room:  # the last folders tell more than the first ones
        end = take_end(path, room - 1)
        path = ELLIPSIS + end if "/" in end else cut_path(path, room)
    parts = []
    for part in ((path, "path"), (title, "title"), (state, "state")):
        if part[0]:
            parts += [(_BETWEEN, "title"), part]
    return parts[1:]


# Styles use the colours of the theme only, and no meaning depends on colour alone: cited lines
# have a mark in the gutter, matches are underlined, the current match is reversed.

_PARTS = (
    "header",
    "path",
    "title",
    "state",
    "gutter",
    "mark",
    "cited",
    "cut",
    "match",
    "current",
    "marked",
    "danger",
    *KINDS,
)
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
    & > .preview--match { color: $accent; text-style: underline; }
    & > .preview--current { color: $accent; text-style: bold reverse; }
    & > .preview--marked { color: $warning; text-style: bold; }
    & > .preview--danger { color: $error; }
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
    # In a heading or a link these have its colour.
    return styles | {
        "strong": Style(bold=True), "emphasis": Style(italic=True), "struck": Style(strike=True)
    }  # fmt: skip
