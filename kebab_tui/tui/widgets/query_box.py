"""The query box: an input with colours, completion and history for the query language.

Typing works before the engine is ready; colours, completion and deletion of whole filters
start with `understand`. The box never searches: the application handles `Input.Changed`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive, reactive
from textual.widgets import Input, Static

from kebab_tui.tui.history import History
from kebab_tui.tui.keys import paste
from kebab_tui.tui.widgets.query_text import (
    LONGEST,
    ROLES,
    QueryColours,
    complete,
    component,
    one_plain_line,
    word_start,
)
from kebab_tui.tui.widgets.segments import LINE, STEP

if TYPE_CHECKING:
    from kebab_tui.search.filter_keys import Completions
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
        """Set the values that completion offers."""
        self._known = completions

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

    def watch_value(self, value: str) -> None:
        # A Suggester runs in a worker: each key would cost a second frame, and the key that
        # accepts the suggestion could arrive first.
        if self._parse is not None:
            parsed = self._parse(value)
            self.is_raw = parsed.raw is not None
            if self._known is not None:
                self._suggestion = complete(value, parsed.tokens, self._known) or ""

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
        title = mode, self.outer_size.width - _CORNERS
        if title != self._title:  # a new label triggers a layout: too slow for every key
            self._title = title
            self._mode_label.update(Content(mode))
            self.border_title = Content(frame_title(*title))

    watch_mode = on_resize = on_input_changed = show_mode


def frame_title(mode: str, width: int) -> str:
    """The upper edge of the frame: the name on the left, the mode on the right."""
    line = width - len("query") - cell_len(mode) - 2
    return f"query {LINE * line} {mode}" if line > 0 else mode
