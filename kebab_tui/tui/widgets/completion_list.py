"""The completion list: the keys or values for the filter under the cursor, in a box over the panes.

`offered` finds the candidates. The list only shows them: the query box opens and closes it, and
accepts one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment as RichSegment
from textual import events
from textual.content import Content
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

from kebab_tui.tui.widgets.segments import CURSOR, DOT, GAP, cut, sanitize_line

if TYPE_CHECKING:
    from kebab_tui.search.completions import Candidate, Completions
    from kebab_tui.search.lexer import QueryToken

_PART = re.compile(r'"[^"]*"?|[^,"]+')
_MOST_ROWS = 8
_FRAME, _TITLE_EDGES = 2, 4
_WIDEST_TEXT, _NARROWEST_TEXT = 48, 12


@dataclass(frozen=True, slots=True)
class Offer:
    """The candidates for a part of the query, the likeliest first."""

    title: str
    candidates: Sequence[Candidate]
    start: int
    """The part of the text that a candidate replaces, `end` exclusive."""
    end: int
    is_begun: bool = False
    """Whether the filter has no effect yet."""

    def replaced(self, text: str, candidate: Candidate) -> str:
        return f"{text[: self.start]}{candidate.written}{text[self.end :]}"

    def appended(self, text: str) -> str:
        """The rest of the first candidate that begins with the text; empty if none does."""
        typed = text[self.start :]
        for candidate in self.candidates:
            written = f'"{candidate.text}"' if typed.startswith('"') else candidate.written
            if len(written) > len(typed) and written[: len(typed)].lower() == typed.lower():
                return written[len(typed) :]
        return ""


def offered(text: str, cursor: int, tokens: Sequence[QueryToken], known: Completions) -> Offer | None:
    """The offer for the key or the value at the cursor; None without candidates."""
    offer = None
    before: QueryToken | None = None
    for token in tokens:
        follows = before is not None and before.end == token.start
        key = text[before.start : before.end - 1] if before is not None and follows else ""
        if token.start > cursor:
            break
        if cursor <= token.end:
            if token.role == "filter_value":
                offer = _values(text, cursor, key.lstrip("-").lower(), token, known)
                break
            if token.role == "filter_key" and token.end == cursor:
                offer = _values(text, cursor, text[token.start : cursor - 1].lstrip("-").lower(), None, known)
            elif token.role == "unknown_key":
                instead = known.instead_of(text[token.start : token.end - 1])
                offer = Offer("did you mean", instead, token.start, token.end)
            elif before is not None and before.role == "unknown_key" and follows:
                offer = Offer("did you mean", known.instead_of(key), before.start, before.end)
            elif token.role in ("word", "negation") and token.end == cursor:
                start = token.start + (text[token.start] == "-")
                keys = known.keys(text[start:cursor], negated=start > token.start)
                offer = Offer("filters", keys, start, cursor)
        before = token
    return offer if offer is not None and offer.candidates else None


def _values(text: str, cursor: int, key: str, token: QueryToken | None, known: Completions) -> Offer:
    """The values for the part of a list of values in which the cursor stands."""
    start = end = cursor
    taken = []
    if token is not None:
        parts = [
            (part.start() + token.start, part.end() + token.start)
            for part in _PART.finditer(text[token.start : token.end])
        ]
        inside = [(first, last) for first, last in parts if first <= cursor <= last]
        start, end = inside[0] if inside else (cursor, cursor)
        taken = [text[first:last].strip('"') for first, last in parts if (first, last) != (start, end)]
    typed = text[start:cursor].strip('"')
    candidates = known.matching(key, typed, taken)
    if [one.text for one in candidates] == [text[start:end].strip('"')]:
        candidates = []  # nothing to choose
    return Offer(f"{key}:", candidates, start, end, not known.is_value(key, typed))


class CompletionList(Widget):
    """The candidates of an offer, one a row. Takes no focus; posts `CandidateClicked`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion-list--muted", "completion-list--chosen"}
    DEFAULT_CSS = """
    CompletionList {
        layer: overlay;
        position: absolute;
        display: none;
        background: $panel;
        border: round $border;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        & > .completion-list--muted { color: $text-muted; }
        & > .completion-list--chosen { background: $primary; color: $background; text-style: bold; }
    }
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Another size lays out the screen once, not twice."""

    @dataclass
    class CandidateClicked(Message):
        """The user clicked on a row."""

        number: int

    def __init__(self, *, accept_key: str = "", choose_key: str = "", take_key: str = "") -> None:
        super().__init__()
        self._keys = accept_key, choose_key, take_key
        self._rows: list[tuple[str, str]] = []
        self._is_begun = False
        self._top = 0
        self._text_width = self._note_width = 0
        self._anchor, self._made_for, self._cells = Offset(), Size(), (0, 0)
        self.chosen: int | None = None
        """The row that the user has moved to."""

    @property
    def is_open(self) -> bool:
        return self.display

    @property
    def takes_moves(self) -> bool:
        """Whether ↓ moves here and not in the hits."""
        return self.is_open and (self._is_begun or self.chosen is not None)

    def show(self, offer: Offer, at: Offset) -> None:
        """Show the candidates of an offer below `at`, the cell of its first character."""
        self._rows = [(sanitize_line(one.text), _note(one)) for one in offer.candidates]
        self._is_begun, self.chosen, self._top = offer.is_begun, None, 0
        title = offer.title
        if any(one.count is not None for one in offer.candidates):
            title = f"{title} in all notes"
        self.border_title = Content(title)
        self._text_width = min(
            max(_NARROWEST_TEXT, *(cell_len(text) for text, _ in self._rows)), _WIDEST_TEXT
        )
        self._note_width = max(cell_len(note) for _, note in self._rows)
        self._show_keys()
        hint = max(cell_len(self._hint), cell_len(self._position(len(self._rows))))
        row = 1 + self._text_width + GAP + self._note_width + 1
        wanted = max(row, cell_len(title) + _TITLE_EDGES, hint + _TITLE_EDGES)
        screen = self.screen.size
        width = min(wanted + _FRAME, screen.width)
        height = max(min(len(self._rows), _MOST_ROWS, screen.height - at.y - _FRAME - 1), 1) + _FRAME
        if self.display and at == self._anchor and screen == self._made_for:
            # As large as before for the same word: another size would lay out the screen at a key.
            width, height = max(width, self._cells[0]), max(height, self._cells[1])
        self._anchor, self._made_for = at, screen
        if self._cells != (width, height) or not self.display:
            self._cells = width, height
            self.styles.width, self.styles.height = width, height
            self.styles.offset = max(min(at.x, screen.width - width), 0), at.y
            self.display = True
        self.refresh()

    def close(self) -> None:
        if self.display:
            self.display = False
            self.chosen = None

    def move(self, by: int) -> None:
        """Choose another row; from the first one up, none."""
        chosen = (-1 if self.chosen is None else self.chosen) + by
        self.chosen = None if chosen < 0 else min(chosen, len(self._rows) - 1)
        visible = max(self.size.height, 1)
        self._top = min(max(self._top, (self.chosen or 0) - visible + 1), self.chosen or 0)
        self._show_keys()
        self.refresh()

    @property
    def _hint(self) -> str:
        if self.chosen is not None:
            return self._position(self.chosen + 1)
        accept, choose, _ = self._keys
        return f"{accept} accept" + (
            f" {DOT} {choose} choose" if self._is_begun and len(self._rows) > 1 else ""
        )

    def _position(self, number: int) -> str:
        return f"{self._keys[2]} accept {DOT} {number} of {len(self._rows)}"

    def _show_keys(self) -> None:
        self.border_subtitle = Content(self._hint)

    def render_line(self, y: int) -> Strip:
        width, number = self.size.width, self._top + y
        if not 0 <= number < len(self._rows):
            return Strip.blank(width, self.rich_style)
        text, note = self._rows[number]
        is_chosen = number == self.chosen
        free = min(self._text_width, max(width - 2 - GAP - self._note_width, _NARROWEST_TEXT))
        start = f"{CURSOR if is_chosen else ' '}{cut(text, free)}"
        # Numbers on the right, meanings in a column.
        column = width - 1 - cell_len(note) if note[:1].isdigit() else 1 + free + GAP
        style = self.get_component_rich_style("completion-list--chosen") if is_chosen else self.rich_style
        muted = style if is_chosen else self.get_component_rich_style("completion-list--muted")
        padding = " " * (column - cell_len(start))
        strip = Strip([RichSegment(start + padding, style), RichSegment(note, muted)])
        return strip.adjust_cell_length(width, style)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        inside = event.get_content_offset(self)
        if inside is not None and self._top + inside.y < len(self._rows):
            self.post_message(self.CandidateClicked(self._top + inside.y))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(event, -1)

    def _scroll(self, event: events.MouseEvent, by: int) -> None:
        event.stop()
        self._top = max(0, min(self._top + by, len(self._rows) - self.size.height))
        self.refresh()


def _note(candidate: Candidate) -> str:
    """The number of notes, or the meaning."""
    count = "" if candidate.count is None else f"{candidate.count:,}"
    return f"{count} {DOT} {candidate.meaning}" if count and candidate.meaning else count or candidate.meaning
