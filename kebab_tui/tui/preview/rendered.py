"""A note as rendered Markdown, in lines: made on demand and away from the screen's own thread.

The passage is rendered apart from what stands before and after it, so that its lines can
be marked; where it lies inside a fence the note is left whole and nothing is marked.
Links are shown, never made: a terminal would follow them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual.strip import Strip

from kebab_tui.tui.widgets.segments import clean

LONGEST = 1_000_000
"""Characters; a longer text would take many seconds."""
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r"#{1,6} ")
_SECTION = 100
"""Lines; fewer are not worth a cut."""
_GUTTER = 2


@dataclass(frozen=True, slots=True)
class Rendered:
    strips: tuple[Strip, ...]
    cited: range
    """The rows of the passage, counted from 0; empty where it is not marked."""
    width: int

    def row_of(self, line: int, lines: int) -> int:
        """The row that shows a line, counted from 0: exact for the passage, a guess for any other."""
        return self.cited.start if self.cited else line * len(self.strips) // max(lines, 1)


@dataclass(frozen=True, slots=True)
class RenderStyles:
    """`styles` has "text", "cited", "mark", and those that Rich knows as `markdown.*`."""

    width: int
    mark: str
    dark: bool
    styles: Mapping[str, Style]


def rendered(
    lines: Sequence[str], first: int, last: int, look: RenderStyles, cancelled: Callable[[], bool]
) -> Rendered | None:
    """Lines `first..last` marked, none where `last` lies before `first`; None when cancelled midway."""
    if last < first or _inside_fence(lines, first):
        parts = [(_fenced_front_matter(lines), "text")]
    else:
        before = _fenced_front_matter(lines[: first - 1])
        parts = [(before, "text"), (lines[first - 1 : last], "cited"), (lines[last:], "text")]
    strips: list[Strip] = []
    cited = range(0)
    for part, role in parts:
        begin = len(strips)
        for section in _sections(part):
            if cancelled():
                return None
            strips += _rows(section, look, role)
        if role == "cited":
            cited = range(begin, len(strips))
    return Rendered(tuple(strips), cited, look.width)


def _sections(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """The lines in pieces that each take a moment to render, cut before headings."""
    begin = 0
    is_fenced = False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        if not is_fenced and at - begin >= _SECTION and _HEADING.match(line):
            yield lines[begin:at]
            begin = at
    yield lines[begin:]


def _inside_fence(lines: Sequence[str], first: int) -> bool:
    return sum(1 for line in lines[: first - 1] if _FENCE.match(line)) % 2 == 1


def _fenced_front_matter(lines: Sequence[str]) -> Sequence[str]:
    """Front matter as a block of code; Markdown would make a heading of it."""
    if not lines or lines[0].rstrip() != "---":
        return lines
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    return lines if end is None else ["```yaml", *lines[1:end], "```", *lines[end + 1 :]]


def _rows(lines: Sequence[str], look: RenderStyles, role: str) -> list[Strip]:
    from rich.markdown import Markdown  # costs 20 ms, only when it is asked for

    if not any(line.strip() for line in lines):
        return []
    code_theme = "ansi_dark" if look.dark else "ansi_light"
    markdown = Markdown("\n".join(lines), code_theme=code_theme, hyperlinks=False)
    base = look.styles[role]
    gutter = Segment(f"{look.mark if role == 'cited' else ' '} ", base + look.styles["mark"])
    return [
        Strip([gutter, *_painted(row, base)]).crop_extend(0, look.width, base)
        for row in _console(look).render_lines(markdown, pad=False)
    ]


def _console(look: RenderStyles) -> Console:
    theme = Theme({name: style for name, style in look.styles.items() if name.startswith("markdown.")})
    return Console(theme=theme, width=max(look.width - _GUTTER, 1), color_system="truecolor", file=StringIO())


def _painted(row: Sequence[Segment], base: Style) -> Iterator[Segment]:
    """The row on our ground, cleaned only now: Markdown makes characters of `&#x202e;`."""
    for segment in row:
        yield Segment(clean(segment.text), base + segment.style if segment.style else base)
