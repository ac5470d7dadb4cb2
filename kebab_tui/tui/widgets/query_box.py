"""The query box: an input with colours, completion and history for the query language.

Typing works before the engine is ready; colours, completion and deletion of whole filters
start with `set_parser`. The box never searches: the application handles `Input.Changed`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset, Size
from textual.reactive import Reactive, reactive
from textual.widgets import Input, Static

from kebab_tui.tui.history import History
from kebab_tui.tui.keys import paste
from kebab_tui.tui.widgets.completion_list import CompletionList, Offer, offered
from kebab_tui.tui.widgets.query_text import (
    LONGEST,
    ROLES,
    QueryColours,
    component,
    one_plain_line,
    word_start,
)
from kebab_tui.tui.widgets.segments import DOT, LINE, STEP

if TYPE_CHECKING:
    from kebab_tui.search.completions import Completions
    from kebab_tui.search.query_language import ParsedQuery


_CORNERS = 6
"""Cells of the upper edge that the title cannot use: a corner, a line and a space on both sides."""


class QueryBox(Input):
    """An input for queries. The application adds the keys of the registry to those that edit the text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {component(role) for role in ROLES}
    DEFAULT_CSS = """
    QueryBox {
        background: transparent;
        &:focus { background-tint: transparent; }
        & > .input--placeholder, & > .input--suggestion { color: $text-muted; }
        & > .query-box--filter-key { color: $text-accent; text-style: bold; }
        & > .query-box--filter-value { color: $text-accent; }
        & > .query-box--unknown-key { color: $text-warning; text-style: bold underline; }
        & > .query-box--operator { color: $text-secondary; text-style: bold italic; }
        & > .query-box--negation { color: $text-error; text-style: strike; }
        & > .query-box--phrase { color: $text-success; text-style: italic; }
        & > .query-box--prefix { color: $text-success; text-style: underline; }
        & > .query-box--raw { color: $text-warning; text-style: reverse; }
    }
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Width of the text. In the base class, a change triggers a layout of the screen: at every key."""

    # The base class sets the value, which asks for a completion, before __init__ has finished.
    _parse: Callable[[str], ParsedQuery] | None = None
    _known: Completions | None = None
    completion_list: CompletionList | None = None
    """Shows what the filter at the cursor may become."""
    _offer: Offer | None = None
    _is_editing = False
    _opens = False
    """Whether the list may open: the last change of the text was typed."""
    _dismissed: tuple[int, str | None] | None = None
    """The word for which the list was dismissed: its start, and the text if a candidate was accepted."""
    is_raw = False
    """Whether the query is in raw FTS5 syntax."""

    def __init__(
        self,
        value: str = "",
        *,
        history: History | None = None,
        id: str | None = None,  # noqa: A002 -- the library's own name for it
    ) -> None:
        super().__init__(
            value,
            placeholder='words  "a phrase"  tag:rust',
            compact=True,
            select_on_focus=False,
            max_length=LONGEST,
            id=id,
        )
        self.cursor_blink = False
        self.history = history

    def set_parser(self, parse: Callable[[str], ParsedQuery]) -> None:
        """Start to colour and complete the query."""
        # Cached: colours, completion and the frame parse the same text.
        self._parse = lru_cache(maxsize=2)(parse)
        self.is_raw = self._parse(self.value).raw is not None
        self.highlighter = QueryColours(
            self._parse, lambda name: self.get_component_rich_style(name, partial=True)
        )
        self.refresh()

    def know(self, completions: Completions) -> None:
        """Set the values that completion offers, also for what is typed already."""
        self._known = completions
        if self.has_focus:
            self._offer_completions(opens=self._opens)

    def write(self, text: str) -> None:
        """Replace the query; the cursor goes to its end."""
        self.value = text
        self.cursor_position = len(self.value)

    def clear(self) -> None:
        """Empty the box; the history keeps the old query."""
        if self.history is not None:
            self.history.add(self.value)
        super().clear()

    def older_query(self) -> None:
        if self.history is not None:
            self.write(self.history.older(self.value))

    def newer_query(self) -> None:
        if self.history is not None:
            self.write(self.history.newer(self.value))

    def validate_value(self, value: str) -> str:
        return one_plain_line(value)

    def replace(self, text: str, start: int, end: int) -> None:
        """Every edit of the text: the list of completions opens by typing only."""
        self._is_editing = True
        super().replace(text, start, end)
        self._is_editing = False
        self._offer_completions(opens=True)

    def watch_value(self, value: str) -> None:
        if self._parse is not None:
            self.is_raw = self._parse(value).raw is not None
        if not self._is_editing:
            self._offer_completions()

    def watch_selection(self) -> None:
        if not self._is_editing:
            self._offer_completions()

    def on_blur(self) -> None:
        self.close_completions()

    def _offer_completions(self, *, opens: bool = False) -> None:
        """Find what may be written at the cursor; show it in grey at the end, and in the list."""
        self._opens = opens
        if self._parse is None or self._known is None:
            return
        cursor = self.cursor_position
        offer = None
        if self.selection.is_empty:
            offer = offered(self.value, cursor, self._parse(self.value).tokens, self._known)
        self._offer = offer
        # A Suggester runs in a worker: each key would cost a second frame, and the key that
        # accepts the suggestion could arrive first.
        appended = offer.appended(self.value) if offer is not None and self.cursor_at_end else ""
        self._suggestion = one_plain_line(self.value + appended) if appended else ""
        if self.completion_list is None:
            return
        if self._dismissed is not None and (
            offer is None or self._dismissed not in ((offer.start, None), (offer.start, self.value))
        ):
            self._dismissed = None
        if offer is None or self._dismissed is not None or not (opens or self.completion_list.is_open):
            self.completion_list.close()
        else:
            x = self.cursor_screen_offset.x - cell_len(self.value[offer.start : cursor])
            line = self.parent if isinstance(self.parent, QueryLine) else self
            self.completion_list.show(offer, Offset(max(x - 2, 0), line.region.bottom))

    @property
    def has_filter(self) -> bool:
        """Whether a filter is written in the text."""
        return self._parse is not None and any(
            token.role == "filter_key" for token in self._parse(self.value).tokens
        )

    @property
    def is_value_begun(self) -> bool:
        """Whether the cursor is in a filter whose value the index has not, and that may become one."""
        return self._offer is not None and self._offer.is_begun

    def accept_completion(self, number: int | None = None) -> None:
        """Write the candidate with this number; by default the chosen one, or the first."""
        if self._offer is None or self.completion_list is None:
            return
        if number is None:
            number = self.completion_list.chosen or 0
        offer, candidate = self._offer, self._offer.candidates[number]
        if not candidate.text.endswith((":", "/")):  # after these, more can be chosen
            self._dismissed = offer.start, offer.replaced(self.value, candidate)
        self.replace(candidate.written, offer.start, offer.end)

    def close_completions(self) -> None:
        """Close the list, until another word is typed."""
        if self.completion_list is not None and self.completion_list.is_open and self._offer is not None:
            self._dismissed = self._offer.start, None
            self.completion_list.close()

    def action_cursor_right(self, select: bool = False) -> None:
        """At the end, accept the suggestion."""
        if not select and self.cursor_at_end and self._suggestion:
            rest = self._suggestion[len(self.value) :]
            if self._offer is not None and not rest.endswith((":", "/")):
                self._dismissed = self._offer.start, self._suggestion
            self.replace(rest, self.cursor_position, self.cursor_position)
        else:
            super().action_cursor_right(select)

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where an input method shows a syllable: in the base class a cell too far at the end of the text."""
        x, y, _, _ = self.content_region
        return Offset(x + self._position_to_cell(self.cursor_position) - self.scroll_offset.x, y)

    def on_resize(self) -> None:
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset

    def action_paste(self) -> None:
        paste(self, self.app.clipboard)

    def action_end(self, select: bool = False) -> None:
        """Go to the end; at the end, accept the suggestion."""
        if self.cursor_at_end and not select:
            self.action_cursor_right()
        else:
            super().action_end(select)

    def action_delete_left_word(self) -> None:
        """Delete a whole `key:value`, or a word."""
        if not self.selection.is_empty:
            self.delete_selection()
            return
        before = self.value[: self.cursor_position]
        tokens = self._parse(before.rstrip()).tokens if self._parse is not None else ()
        self.delete(word_start(before, tokens), self.cursor_position)


class QueryLine(Horizontal):
    """The box with its prompt and the search mode, in a frame or on a single row."""

    DEFAULT_CSS = """
    QueryLine {
        height: 1;
        & > .query-line--prompt { width: 2; color: $primary; text-style: bold; }
        & > QueryBox { width: 1fr; }
        & > .query-line--mode { width: auto; padding: 0 1; color: $text-muted; }
        &.-framed {
            height: 3;
            border: round $border-blurred;
            border-title-color: $border-blurred;
            & > .query-line--mode { display: none; }
        }
        &.-framed:focus-within { border: round $border; border-title-color: $border; }
    }
    """

    mode: reactive[str] = reactive("hybrid")
    is_normal: reactive[bool] = reactive(False)
    """Whether the normal mode of vim keys is on."""

    def __init__(
        self,
        box: QueryBox,
        *,
        id: str | None = None,  # noqa: A002 -- the library's own name for it
    ) -> None:
        super().__init__(id=id)
        self.box = box
        self._title = ("", 0)
        self._mode_label = Static(Content(""), classes="query-line--mode")

    def compose(self) -> ComposeResult:
        yield Static(Content(f"{STEP} "), classes="query-line--prompt")
        yield self.box
        yield self._mode_label

    def frame(self, framed: bool) -> None:
        self.set_class(framed, "-framed")

    def show_mode(self) -> None:
        mode = "RAW" if self.box.is_raw else self.mode
        mode = f"NORMAL {DOT} {mode}" if self.is_normal else mode
        title = mode, self.outer_size.width - _CORNERS
        if title != self._title:  # a new label triggers a layout: too slow for every key
            self._title = title
            self._mode_label.update(Content(mode))
            self.border_title = Content(frame_title(*title))

    watch_mode = watch_is_normal = on_resize = on_input_changed = show_mode


def frame_title(mode: str, width: int) -> str:
    """The upper edge of the frame: the name on the left, the mode on the right."""
    line = width - len("query") - cell_len(mode) - 2
    return f"query {LINE * line} {mode}" if line > 0 else mode
