"""Rules for the text of the query box: limits, words, completion, colours, filter chips.

The text is one line without control characters, of at most 5,000 characters: more than the
engine reads, so that the engine reports what it ignored. Completion and colours use the
engine's tokens; the query is not parsed again here.
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
from textual.message import Message
from textual.widget import Widget

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.widgets.segments import TIMES, cut, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.search.filter_keys import Completions
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
_LAST_VALUE = re.compile(r'(?:(?:"[^"]*"|[^,"]*),)*(?P<quote>"?)(?P<typed>[^",]*)')
_NEEDS_QUOTES = re.compile(r'[\s,"()]')
_SHORTEST_KEY = 2
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


def complete(text: str, tokens: Sequence[QueryToken], known: Completions) -> str | None:
    """The text with its last filter key or value completed; None without a suggestion.

    The suggestion only appends: a value that needs quotes is offered inside an open quote
    or before its first character.
    """
    if not tokens or tokens[-1].end != len(text):
        return None
    last = tokens[-1]
    if last.role == "filter_key":
        return _with_value(text, text[last.start :], "", known)
    if last.role == "filter_value" and len(tokens) > 1:
        key = tokens[-2]
        return _with_value(text, text[key.start : key.end], text[last.start :], known)
    if last.role not in ("word", "negation"):
        return None
    typed = text[last.start :]
    begun = typed.removeprefix("-").lower()
    if len(begun) < _SHORTEST_KEY:
        return None
    keys = known.negatable if typed.startswith("-") else tuple(known.values)
    # Complete keys are not offered: `before` and `type` are ordinary words.
    found = next((key for key in keys if key.startswith(begun) and key != begun), None)
    return None if found is None else f"{text}{found[len(begun) :]}:"


def _with_value(text: str, key: str, written: str, known: Completions) -> str | None:
    last = _LAST_VALUE.fullmatch(written)
    if last is None:
        return None
    typed = last["typed"]
    taken = {value.strip('"').lower() for value in written[: last.start("typed")].split(",")}
    for value in known.values.get(key.strip("-:").lower(), ()):
        if value.lower() in taken or len(value) <= len(typed):
            continue
        if value[: len(typed)].lower() != typed.lower():
            continue
        if last["quote"] and '"' not in value:
            return f'{text}{value[len(typed) :]}"'
        if not last["quote"] and not _NEEDS_QUOTES.search(value):
            return text + value[len(typed) :]
        if not last["quote"] and not typed and '"' not in value:
            return f'{text}"{value}"'
    return None


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


def chip_row(chips: Sequence[Chip], width: int) -> tuple[tuple[PlacedChip, ...], int]:
    """The chips that fit into a row, and the number of those that do not."""
    placed: list[PlacedChip] = []
    at = 0
    for number, chip in enumerate(chips):
        label = f" {cut(sanitize_line(chip.label), _LONGEST_CHIP)} {TIMES} "
        left = len(chips) - number - 1
        free = width - (_CHIP_GAP + len(f"+{left}") if left else 0)
        if at + cell_len(label) > free:
            return tuple(placed), len(chips) - number
        placed.append(PlacedChip(chip, label, at, at + cell_len(label)))
        at = placed[-1].end + _CHIP_GAP
    return tuple(placed), 0


class ChipsLine(Widget):
    """One row of chips, hidden without filters. Never edits the query: it posts `Removed`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chips-line--chip"}
    DEFAULT_CSS = """
    ChipsLine { height: 1; display: none; }
    ChipsLine.-in-force { display: block; }
    ChipsLine > .chips-line--chip { background: $surface; color: $foreground; text-style: bold; }
    """

    @dataclass
    class Removed(Message):
        """The user wants to drop this filter from the query."""

        chip: Chip

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- the library's own name for it
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()

    def show(self, chips: Sequence[Chip]) -> None:
        if self._chips != (chips := tuple(chips)):
            self._chips = chips
            self.set_class(bool(chips), "-in-force")
            self.refresh()

    def drop_last(self) -> None:
        """Post `Removed` for the last filter, if there is one."""
        if self._chips:
            self.post_message(self.Removed(self._chips[-1]))

    def render(self) -> Content:
        placed, left = chip_row(self._chips, self.size.width)
        style = self.get_visual_style("chips-line--chip")
        gap = Content(" " * _CHIP_GAP)
        parts = [part for chip in placed for part in (Content.styled(chip.label, style), gap)]
        return Content("").join([*parts, Content(f"+{left}" if left else "")])

    def on_click(self, event: events.Click) -> None:
        for placed in chip_row(self._chips, self.size.width)[0]:
            if placed.start <= event.x < placed.end:
                event.stop()
                self.post_message(self.Removed(placed.chip))
