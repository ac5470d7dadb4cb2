"""What may stand in the query box, and where its words begin. Pure.

The text is one line, free of anything that a terminal would obey, and at most 5,000
characters: more than the engine reads, so that it is the engine who says what it left
out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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

from kebab_tui.domain.text import visible
from kebab_tui.tui.widgets.segments import TIMES, clean, cut

if TYPE_CHECKING:
    from kebab_tui.search.filter_keys import Completions
    from kebab_tui.search.lexer import QueryToken
    from kebab_tui.search.query_language import Chip, ParsedQuery


LONGEST = 5_000
_MOST_READ = 4 * LONGEST
"""What is looked at of a pasted text: enough to fill the box when most of it is white space."""
_LINE_BREAKERS = str.maketrans("\t\n", "  ")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\S+\s*\Z")


def speakable(text: str) -> str:
    """The text with a space for every character that is not plain text; as long as before, or cut."""
    text = text[:LONGEST].translate(_LINE_BREAKERS)
    shown = visible(text)
    if shown == text:
        return text
    return "".join(char if char == safe else " " for char, safe in zip(text, shown, strict=True))


def flattened(text: str, room: int) -> str:
    """A pasted text as one line of at most `room` characters."""
    return _SPACES.sub(" ", text[:_MOST_READ].strip("\r\n"))[: max(room, 0)]


def word_start(text: str, tokens: Sequence[QueryToken]) -> int:
    """Where the last word of `text` begins; a filter's key and value are one word.

    `tokens` are those of the text without the spaces at its end.
    """
    end = len(text.rstrip())
    if tokens and tokens[-1].end == end and tokens[-1].role in ("filter_key", "filter_value"):
        return next(token.start for token in reversed(tokens) if token.role == "filter_key")
    last = _WORD.search(text)
    return last.start() if last else 0


# Completes the end of a query: a filter's key, or the value after it.
#
# What is offered extends the text as it stands and changes no character of it: a value
# with a space is offered only where a quote is open or nothing is typed yet. Finds the
# place by the engine's tokens; knows no grammar of its own beyond the commas of a value. Pure.

_LAST_VALUE = re.compile(r'(?:(?:"[^"]*"|[^,"]*),)*(?P<quote>"?)(?P<typed>[^",]*)')
_NEEDS_QUOTES = re.compile(r'[\s,"()]')
_NEGATABLE = ("tag", "path")
_SHORTEST_KEY = 2


def complete(text: str, tokens: Sequence[QueryToken], known: Completions) -> str | None:
    """The text with its end completed; None when there is nothing to offer."""
    if not tokens or tokens[-1].end != len(text):
        return None
    last = tokens[-1]
    if last.role == "filter_key":
        return _value(text, text[last.start :], "", known)
    if last.role == "filter_value" and len(tokens) > 1:
        key = tokens[-2]
        return _value(text, text[key.start : key.end], text[last.start :], known)
    if last.role in ("word", "negation"):
        return _key(text, text[last.start :], known)
    return None


def _key(text: str, typed: str, known: Completions) -> str | None:
    """A key is offered for its beginning only: whole, `before` and `type` are ordinary words."""
    begun = typed.removeprefix("-").lower()
    keys = _NEGATABLE if typed.startswith("-") else tuple(known.values)
    if len(begun) < _SHORTEST_KEY:
        return None
    found = next((key for key in keys if key.startswith(begun) and key != begun), None)
    return None if found is None else f"{text}{found[len(begun) :]}:"


def _value(text: str, key: str, written: str, known: Completions) -> str | None:
    last = _LAST_VALUE.fullmatch(written)
    values = known.values.get(key.strip("-:").lower(), ())
    if last is None:
        return None
    typed, is_quoted = last["typed"], bool(last["quote"])
    taken = {value.strip('"').lower() for value in written[: last.start("typed")].split(",")}
    for value in values:
        if value.lower() not in taken and _begins(value, typed) and len(value) > len(typed):
            rest = _rest(value, typed, is_quoted)
            if rest is not None:
                return text + rest
    return None


def _begins(value: str, typed: str) -> bool:
    return value[: len(typed)].lower() == typed.lower()


def _rest(value: str, typed: str, is_quoted: bool) -> str | None:
    """What is still to be written of a value; None when it cannot be continued from what is typed."""
    rest = value[len(typed) :]
    if is_quoted:
        return None if '"' in value else f'{rest}"'
    if not _NEEDS_QUOTES.search(value):
        return rest
    return f'"{value}"' if not typed and '"' not in value else None


# The line of filter chips: what is in force, each with a way to take it out.
#
# `chip_row` is the pure layout. The widget posts `Removed`, and never edits the query.

_GAP = 1
_LONGEST = 32


@dataclass(frozen=True, slots=True)
class PlacedChip:
    """A chip with the cells it takes, `end` exclusive."""

    chip: Chip
    label: str
    start: int
    end: int


def chip_row(chips: Sequence[Chip], width: int) -> tuple[tuple[PlacedChip, ...], int]:
    """The chips that fit into a row, and how many do not."""
    placed: list[PlacedChip] = []
    at = 0
    for number, chip in enumerate(chips):
        label = f" {cut(clean(chip.label), _LONGEST)} {TIMES} "
        left = len(chips) - number - 1
        room = width - (_GAP + len(f"+{left}") if left else 0)
        if at + cell_len(label) > room:
            return tuple(placed), len(chips) - number
        placed.append(PlacedChip(chip, label, at, at + cell_len(label)))
        at = placed[-1].end + _GAP
    return tuple(placed), 0


class ChipsLine(Widget):
    """One row of chips; takes no room when no filter is in force."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"chips-line--chip"}
    DEFAULT_CSS = """
    ChipsLine { height: 1; display: none; }
    ChipsLine.-in-force { display: block; }
    ChipsLine > .chips-line--chip { background: $surface; color: $foreground; text-style: bold; }
    """

    class Removed(Message):
        """The user wants the query without this filter."""

        def __init__(self, chip: Chip) -> None:
            super().__init__()
            self.chip = chip

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- the library's own name for it
        super().__init__(id=id)
        self._chips: tuple[Chip, ...] = ()

    def show(self, chips: Sequence[Chip]) -> None:
        """Show the filters that are in force now."""
        if self._chips != (chips := tuple(chips)):
            self._chips = chips
            self.set_class(bool(chips), "-in-force")
            self.refresh()

    def drop_last(self) -> None:
        """Ask for the query without its last filter; nothing when there is none."""
        if self._chips:
            self.post_message(self.Removed(self._chips[-1]))

    def render(self) -> Content:
        placed, left = chip_row(self._chips, self.size.width)
        style = self.get_visual_style("chips-line--chip")
        parts = [part for chip in placed for part in (Content.styled(chip.label, style), Content(" " * _GAP))]
        return Content("").join([*parts, Content(f"+{left}" if left else "")])

    def on_click(self, event: events.Click) -> None:
        for placed in chip_row(self._chips, self.size.width)[0]:
            if placed.start <= event.x < placed.end:
                event.stop()
                self.post_message(self.Removed(placed.chip))


# Colours a query as it is typed, from the engine's own reading of it.
#
# Each role has a component class of the query box, so that a theme decides how it looks;
# roles differ in more than colour there. Refuses to read the query a second time.

ROLES = ("phrase", "prefix", "operator", "negation", "filter_key", "filter_value", "unknown_key", "raw")
"""The roles that look different from an ordinary word."""


def component(role: str) -> str:
    """The component class of a role."""
    return f"query-box--{role.replace('_', '-')}"


def painted(tokens: Iterable[QueryToken]) -> Iterator[tuple[int, int, str]]:
    """What is to be styled: start, end and component class."""
    for token in tokens:
        if token.role in ROLES:
            yield token.start, token.end, component(token.role)


class QueryColours(Highlighter):
    """Styles the text of an input; `style` looks a component class up."""

    def __init__(self, parse: Callable[[str], ParsedQuery], style: Callable[[str], Style]) -> None:
        self._parse = parse
        self._style = style

    def highlight(self, text: Text) -> None:
        for start, end, name in painted(self._parse(text.plain).tokens):
            text.stylize(self._style(name), start, end)
