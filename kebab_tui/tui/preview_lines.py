"""One line of a note, painted: its number, the mark of the citation, and the columns in view.

Pure. A short line is measured in cells, so Korean and emoji keep their columns; in a very
long one a column is a character, so that only what is in view is ever measured. A sign at
the edge says that a line goes on. Everything passes `clean`; markup is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kebab_tui.tui.preview_marks import LONG_LINE
from kebab_tui.tui.text import clean

TAB = 4


@dataclass(frozen=True, slots=True)
class Signs:
    cited: str
    near: str
    """Stands where a passage was, or at the nearest thing to it."""
    before: str
    after: str
    """The line goes on beyond this edge."""


UNICODE = Signs("▌", "┆", "‹", "›")
ASCII = Signs("|", ":", "<", ">")

Span = tuple[int, int, str]
"""[start, end) in characters, and the name of a style; later ones lie on top of earlier ones."""


@dataclass(frozen=True, slots=True)
class View:
    """Which columns are in view, and how wide the gutter before them is."""

    left: int
    width: int
    digits: int
    signs: Signs = UNICODE

    @property
    def gutter(self) -> int:
        return self.digits + 2

    @property
    def columns(self) -> int:
        return max(1, self.width - self.gutter)


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    spans: tuple[Span, ...] = ()
    mark: str = " "
    """What the gutter shows; a space where the line is not cited."""


def paint(line: Line, view: View, styles: Mapping[str, Style]) -> Strip:
    """The line as wide as the view; `styles` are those of `preview_look`."""
    base = styles["text"] if line.mark == " " else styles["cited"]
    number = Segment(f"{line.number:>{view.digits}}", base + styles["gutter"])
    gutter = Strip([number, Segment(f"{line.mark} ", base + styles["mark"])], view.gutter)
    return Strip.join([gutter, _body(line, view, base, styles)]).crop_extend(0, view.width, base)


def column_of(text: str, index: int) -> int:
    """The column that a character stands in."""
    return index if _is_long(text) else cell_len(_expanded(text[:index], ())[0])


def _body(line: Line, view: View, base: Style, styles: Mapping[str, Style]) -> Strip:
    width = view.columns
    if _is_long(line.text):
        shown = line.text[view.left : view.left + width + 1].replace("\t", " ")
        spans: Iterable[Span] = [
            (start - view.left, end - view.left, name) for start, end, name in line.spans
        ]
        strip, left = Strip(_segments(shown, spans, base, styles)), 0
    else:
        shown, spans = _expanded(line.text, line.spans)
        strip, left = Strip(_segments(shown, spans, base, styles)), view.left
    goes_on = strip.cell_length > left + width
    strip = strip.crop_extend(left, left + width, base)
    if goes_on:
        strip = Strip.join(
            [strip.crop(0, width - 1), Strip([Segment(view.signs.after, base + styles["cut"])], 1)]
        )
    if view.left and line.text:
        strip = Strip.join([Strip([Segment(view.signs.before, base + styles["cut"])], 1), strip.crop(1)])
    return strip


def _is_long(text: str) -> bool:
    return len(text) > LONG_LINE


def _segments(
    text: str, spans: Iterable[Span], base: Style, styles: Mapping[str, Style]
) -> Iterator[Segment]:
    shown = clean(text)
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
    """The text with its tabs as spaces up to the next stop, the spans moved along."""
    if "\t" not in text:
        return text, spans
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
