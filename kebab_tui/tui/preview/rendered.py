"""Renders a note as Markdown lines, on demand and outside the thread of the screen.

The passage is rendered apart from the text around it, so that its rows can be marked;
inside a fence the note is rendered as a whole and nothing is marked. Links are shown as
text only: a terminal would follow them.
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

from kebab_tui.tui.preview.syntax import front_matter
from kebab_tui.tui.widgets.segments import sanitize_line

LONGEST = 1_000_000
"""Characters; a longer text takes many seconds."""
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r"#{1,6} ")
_SECTION = 100
"""Lines per section, at least."""
_GUTTER = 2


@dataclass(frozen=True, slots=True)
class Rendered:
    strips: tuple[Strip, ...]
    cited: range
    """The rows of the passage, from 0; empty if it is not marked."""
    width: int

    def row_of(self, line: int, lines: int) -> int:
        """The row of a line, from 0: exact for the passage, an estimate for any other line."""
        return self.cited.start if self.cited else line * len(self.strips) // max(lines, 1)


@dataclass(frozen=True, slots=True)
class RenderStyles:
    """`styles` has "text", "cited", "mark", and Rich's `markdown.*`."""

    width: int
    mark: str
    dark: bool
    styles: Mapping[str, Style]


def rendered(
    lines: Sequence[str], first: int, last: int, style: RenderStyles, cancelled: Callable[[], bool]
) -> Rendered | None:
    """Mark the lines `first..last`, none if `last` precedes `first`; None if cancelled."""
    is_in_fence = sum(1 for line in lines[: first - 1] if _FENCE.match(line)) % 2 == 1
    if last < first or is_in_fence:
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
            strips += _rows(section, style, role)
        if role == "cited":
            cited = range(begin, len(strips))
    return Rendered(tuple(strips), cited, style.width)


def _sections(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split the lines before headings, so that each section renders quickly."""
    begin = 0
    is_fenced = False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        if not is_fenced and at - begin >= _SECTION and _HEADING.match(line):
            yield lines[begin:at]
            begin = at
    yield lines[begin:]


def _fenced_front_matter(lines: Sequence[str]) -> Sequence[str]:
    """Turn front matter into a code block; Markdown would make a heading of it."""
    end = front_matter(lines)
    return ["```yaml", *lines[1 : end - 1], "```", *lines[end:]] if end else lines


def _rows(lines: Sequence[str], style: RenderStyles, role: str) -> list[Strip]:
    from rich.markdown import Markdown  # costs 20 ms

    if not any(line.strip() for line in lines):
        return []
    code_theme = "ansi_dark" if style.dark else "ansi_light"
    markdown = Markdown("\n".join(lines), code_theme=code_theme, hyperlinks=False)
    theme = Theme({name: one for name, one in style.styles.items() if name.startswith("markdown.")})
    width = max(style.width - _GUTTER, 1)
    console = Console(theme=theme, width=width, color_system="truecolor", file=StringIO())
    base = style.styles[role]
    gutter = Segment(f"{style.mark if role == 'cited' else ' '} ", base + style.styles["mark"])
    strips = []
    for row in console.render_lines(markdown, pad=False):
        # Cleaned only here: Markdown turns `&#x202e;` into a character.
        painted = [Segment(sanitize_line(text), base + own if own else base) for text, own, _ in row]
        strips.append(Strip([gutter, *painted]).crop_extend(0, style.width, base))
    return strips
