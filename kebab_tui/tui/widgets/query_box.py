"""The query box: an input that knows the query language, its history and its place in the frame.

Typing works before the engine is there: colours, completion and whole filters for
ctrl+w come with `understand`. Text changes are told by `QueryBox.Changed`. Never
searches, and performs no action of the registry but editing.
"""

from __future__ import annotations

import os
import shutil
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

from kebab_tui.tui.actions import ACTIONS, Actions, bind
from kebab_tui.tui.keys import paste
from kebab_tui.tui.widgets.query_text import (
    LONGEST,
    ROLES,
    QueryColours,
    complete,
    component,
    speakable,
    word_start,
)
from kebab_tui.tui.widgets.segments import STEP

if TYPE_CHECKING:
    from kebab_tui.search.filter_keys import Completions
    from kebab_tui.search.query_language import ParsedQuery
    from kebab_tui.tui.history import History


_CORNERS = 6
"""Cells of the frame's upper edge that are not the title's: corners, a line and a space on both sides."""


class QueryBox(Input):
    """Where the query is typed. Its keys are those of the registry, and an input's own for editing."""

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
    """How wide the text is. The library lays the screen out anew when that changes: at every key."""

    # The base class sets the value, and so asks for a completion, before there is an instance of ours.
    _parse: Callable[[str], ParsedQuery] | None = None
    _known: Completions | None = None

    def __init__(
        self,
        value: str = "",
        *,
        actions: Actions = ACTIONS,
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
        bind(self, actions, "query")

    def understand(self, parse: Callable[[str], ParsedQuery]) -> None:
        """Begin to colour and complete; what `parse` needs is loaded at its first call."""
        # Colours, completion and the frame ask about the same text.
        self._parse = lru_cache(maxsize=2)(parse)
        self.highlighter = QueryColours(
            self._parse, lambda name: self.get_component_rich_style(name, partial=True)
        )
        self.refresh()

    def know(self, completions: Completions) -> None:
        """What can be offered from now on."""
        self._known = completions

    @property
    def is_raw(self) -> bool:
        """Whether the query is FTS5's own syntax."""
        return self._parse is not None and self._parse(self.value).raw is not None

    def write(self, text: str) -> None:
        """Let `text` be the query, with the cursor behind it."""
        self.value = text
        self.cursor_position = len(self.value)

    def clear(self) -> None:
        """Empty the box; what stood there can be recalled."""
        if self.history is not None:
            self.history.add(self.value)
        super().clear()

    def older_query(self) -> None:
        """Put the query before this one into the box."""
        if self.history is not None:
            self.write(self.history.older(self.value))

    def newer_query(self) -> None:
        """Put the query after this one into the box."""
        if self.history is not None:
            self.write(self.history.newer(self.value))

    def validate_value(self, value: str) -> str:
        return speakable(value)

    def watch_value(self, value: str) -> None:
        # A Suggester would run in a worker: every key would cost a second frame, and the key
        # that accepts what is offered could come before it.
        if self._parse is not None and self._known is not None:
            self._suggestion = complete(value, self._parse(value).tokens, self._known) or ""

    def action_paste(self) -> None:
        paste(self, self.app.clipboard)

    def action_end(self, select: bool = False) -> None:
        """Go to the end; there, accept what is offered."""
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
    """The box with its prompt and the mode, which stands in the frame or, without one, in the row."""

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
    """How is searched, as the user sees it."""

    def __init__(
        self,
        box: QueryBox,
        *,
        id: str | None = None,  # noqa: A002 -- the library's own name for it
    ) -> None:
        super().__init__(id=id)
        self.box = box
        self._said = ("", 0)
        self._mode_label = Static(Content(""), classes="query-line--mode")

    def compose(self) -> ComposeResult:
        yield Static(Content(f"{STEP} "), classes="query-line--prompt")
        yield self.box
        yield self._mode_label

    def frame(self, framed: bool) -> None:
        """Stand in a frame, or in a single row."""
        self.set_class(framed, "-framed")

    def watch_mode(self) -> None:
        self._say_mode()

    def on_resize(self) -> None:
        self._say_mode()

    def on_input_changed(self) -> None:
        self._say_mode()

    def _say_mode(self) -> None:
        mode = f"{self.mode} RAW" if self.box.is_raw else self.mode
        said = mode, self.outer_size.width - _CORNERS
        if said != self._said:  # a new label is a new layout, too much for every key
            self._said = said
            self._mode_label.update(Content(mode))
            self.border_title = Content(frame_title(*said))


def frame_title(mode: str, width: int) -> str:
    """The frame's upper edge: what it is on the left, the mode on the right."""
    line = width - len("query") - cell_len(mode) - 2
    return f"query {'─' * line} {mode}" if line > 0 else mode


# The sample notes: a copy in the data folder, so that a newcomer may edit them.

FOLDER = "sample-notes"


def sample_folder(data_folder: str) -> str | None:
    """The folder of the copy, made when it is not there; None where no samples came along."""
    target = os.path.join(data_folder, FOLDER)
    if os.path.isdir(target):
        return target
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for source in (os.path.join(package, "_sample"), os.path.join(package, "..", "fixtures", "notes")):
        if os.path.isdir(source):
            scratch = target + ".new"
            if os.path.islink(scratch):
                os.unlink(scratch)
            shutil.copytree(source, scratch, dirs_exist_ok=True)
            os.replace(scratch, target)
            return target
    return None
