"""Rules for the text of the query box: limits, words, colours, filter chips.

The text is one line without control characters, of at most 5,000 characters: more than the
engine reads, so that the engine reports what it ignored. Colours use the engine's tokens; the
query is not parsed again here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.widgets.segments import CROSS, TIMES, cut, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.search.lexer import QueryToken
    from kebab_tui.search.query_language import Chip, ParsedQuery


LONGEST = 5_000
ROLES = ("phrase", "prefix", "operator", "negation", "filter_key", "filter_value", "unknown_key", "raw")
"""The token roles that look different from an ordinary word."""
_MOST_READ = 4 * LONGEST
"""Characters read of a pasted text: enough to fill the box if most of it is white space."""
_LINE_BREAKERS = str.maketrans("\t\n", "  ")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\S+\s*\Z")
_CHIP_GAP = 1
_LONGEST_CHIP = 32


def one_plain_line(text: str) -> str:
    """Replace control characters with spaces; the text keeps its length, up to the limit."""
    text = text[:LONGEST].translate(_LINE_BREAKERS)
    shown = sanitize(text)
    if shown == text:
        return text
    return "".join(char if char == safe else " " for char, safe in zip(text, shown, strict=True))


def flattened(text: str, limit: int) -> str:
    """A pasted text as one line of at most `limit` characters."""
    return _SPACES.sub(" ", text[:_MOST_READ].strip("\r\n"))[: max(limit, 0)]


def word_start(text: str, tokens: Sequence[QueryToken]) -> int:
    """The start of the last word; the key and the value of a filter are one word.

    `tokens` are those of the text without its trailing spaces.
    """
    end = len(text.rstrip())
    if tokens and tokens[-1].end == end and tokens[-1].role in ("filter_key", "filter_value"):
        return next(token.start for token in reversed(tokens) if token.role == "filter_key")
    last = _WORD.search(text)
    return last.start() if last else 0


class QueryColours(Highlighter):
    """Styles the text of an input; `style` looks up a component class."""

    def __init__(self, parse: Callable[[str], ParsedQuery], style: Callable[[str], Style]) -> None:
        self._parse = parse
        self._style = style

    def highlight(self, text: Text) -> None:
        for token in self._parse(text.plain).tokens:
            if token.role in ROLES:  # not an ordinary word
                text.stylize(self._style(component(token.role)), token.start, token.end)


def component(role: str) -> str:
    """The component class of a role."""
    return f"query-box--{role.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class PlacedChip:
    """A chip and its cells, `end` exclusive."""

    chip: Chip
    label: str
    start: int
    end: int
    is_wrong: bool = False


def chip_row(
    chips: Sequence[Chip], width: int, wrong: Chip | None = None
) -> tuple[tuple[PlacedChip, ...], int]:
    """The chips that fit into a row, and the number of those that do not."""
    placed: list[PlacedChip] = []
    at = 0
    for number, chip in enumerate(chips):
        label = cut(sanitize_line(chip.label), _LONGEST_CHIP)
        label = f" {CROSS} {label} {TIMES} " if chip == wrong else f" {label} {TIMES} "
        left = len(chips) - number - 1
        free = width - (_CHIP_GAP + len(f"+{left}") if left else 0)
        if at + cell_len(label) > free:
            return tuple(placed), len(chips) - number
        placed.append(PlacedChip(chip, label, at, at + cell_len(label), chip == wrong))
        at = placed[-1].end + _CHIP_GAP
    return tuple(placed), 0


class ChipsLine(Widget):
    """The filters as chips, in a row of their own or over the upper edge of the query's frame.

    Hidden without filters. Never edits the query: it posts `Removed`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chips-line--chip", "chips-line--wrong"}
    DEFAULT_CSS = """
    ChipsLine {
        height: 1;
        display: none;
        &.-in-force { display: block; }
        &.-on-edge {
            layer: overlay;
            position: absolute;
            offset: 2 0;
            width: auto;
        }
        & > .chips-line--chip { background: $surface; color: $foreground; text-style: bold; }
        & > .chips-line--wrong { background: $surface; color: $text-error; text-style: bold underline; }
    }
    """

    @dataclass
    class Removed(Message):
        """The user wants to drop this filter from the query."""

        chip: Chip

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- the library's own name for it
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()
        self._wrong: Chip | None = None

    def show(self, chips: Sequence[Chip], wrong: Chip | None = None) -> None:
        """Show the filters in force, and the one because of which the query has no response."""
        every = [*chips] if wrong is None or wrong in chips else [*chips, wrong]
        shown = tuple(sorted(every, key=lambda chip: chip.start))
        if (self._chips, self._wrong) != (shown, wrong):
            self._chips, self._wrong = shown, wrong
            self.set_class(bool(shown), "-in-force")
            self.refresh(layout=self.styles.is_auto_width)

    def drop_last(self) -> None:
        """Post `Removed` for the wrong filter or else the last one, if there is one."""
        if self._chips:
            self.post_message(self.Removed(self._wrong or self._chips[-1]))

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002
        placed, left = chip_row(self._chips, container.width * 2 // 3, self._wrong)
        return (placed[-1].end if placed else 0) + (_CHIP_GAP + len(f"+{left}") if left else 0)

    def render(self) -> Content:
        placed, left = chip_row(self._chips, self.size.width, self._wrong)
        chip, wrong = self.get_visual_style("chips-line--chip"), self.get_visual_style("chips-line--wrong")
        gap = Content(" " * _CHIP_GAP)
        parts = [
            part
            for one in placed
            for part in (Content.styled(one.label, wrong if one.is_wrong else chip), gap)
        ]
        return Content("").join([*parts, Content(f"+{left}" if left else "")])

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset_capture(self).x
        for placed in chip_row(self._chips, self.size.width, self._wrong)[0]:
            if placed.start <= at < placed.end:
                event.stop()
                self.post_message(self.Removed(placed.chip))
