"""The health page: every file of the folders with its state and the reason, what is wrong first.

Files arrive while it is open already; the cursor stays on its file whatever comes in
above it. Letters that do nothing here are typed into the filter. Indexes nothing: it posts
`Retry`, and opens files through the function that it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Input

from kebab_tui.domain.errors import KebabError
from kebab_tui.tui.bindings import bind_call
from kebab_tui.tui.file_list import FileList
from kebab_tui.tui.health_looking import Came, Ended, FoldersChanged, Looked, Looker, Started
from kebab_tui.tui.health_rows import detail_rows, summary_row
from kebab_tui.tui.health_table import Folder, Heading, HealthTable
from kebab_tui.tui.rows_view import Rows, RowsView
from kebab_tui.tui.segments import Row, signs_for
from kebab_tui.tui.text import UNICODE, Glyphs

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import ListedFile

_DETAIL_FROM = 14
"""A screen of fewer rows has no room for what the cursor stands on in full."""
_DETAIL = 3
_FILTER = "/ to filter by path, state or reason"


class _Lines(RowsView, can_focus=False):
    """Rows that are set from outside."""

    def __init__(self, make: Callable[[int], list[Row]], name: str) -> None:
        super().__init__(id=name)
        self._make = make

    def rows_at(self, width: int) -> Rows:
        return self._make(width)


class HealthPage(ModalScreen[None]):
    """Lies over the whole screen until esc."""

    DEFAULT_CSS = """
    HealthPage {
        background: $background;
        & > #health-summary { height: 1; overflow: hidden; }
        & > #health-detail { height: auto; max-height: 3; overflow: hidden; }
        & > Input { height: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,o,e,ctrl+o", "open", "open", key_display="enter"),
        Binding("r", "retry", "retry failed"),
        Binding("f5,ctrl+r", "look_again", "look again", key_display="F5"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("space", "fold", "fold", key_display="space"),
        Binding("down,ctrl+n,ctrl+j,j", "move(1)", "down", show=False),
        Binding("up,ctrl+p,ctrl+k,k", "move(-1)", "up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("home,g", "move(-1000000000)", "first", show=False),
        Binding("end,G", "move(1000000000)", "last", show=False),
        Binding("escape", "back", "close", key_display="esc"),
        Binding("q", "close", "close", show=False),
    ]

    class Retry(Message):
        """What failed is to be read again."""

    def __init__(
        self,
        open_workspace: Callable[[], Looked],
        open_file: Callable[[str], str],
        *,
        keys: Iterable[str] = (),
        glyphs: Glyphs = UNICODE,
    ) -> None:
        """`open_file` says what the user should know, or raises; `keys` close the page like esc."""
        super().__init__()
        self._open_file = open_file
        self._looker = Looker(open_workspace, self.post_message)
        self._looking = True
        self._said = ""
        self._signs = signs_for(glyphs)
        self.files = FileList(glyphs)
        bind_call(self, keys, "close")

    def compose(self) -> ComposeResult:
        yield _Lines(self._summary, "health-summary")
        yield Input(
            placeholder="type to filter by path, state or reason", select_on_focus=False, compact=True
        )
        yield self.files
        yield _Lines(self._detail, "health-detail")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.set_focus(self.files)
        self.call_after_refresh(self._looker.start)  # the walk would delay the first paint

    def on_unmount(self) -> None:
        self._looker.stop()

    def on_resize(self, event: events.Resize) -> None:
        self._make_room(event.size)

    # What it is told

    @on(Started)
    def _started(self, message: Started) -> None:
        table = HealthTable()
        table.folders = message.folders
        self.files.show(table)

    @on(FoldersChanged)
    def _folders_changed(self, message: FoldersChanged) -> None:
        table = self.files.table
        table.folders = message.folders
        self.files.show(table)

    @on(Came)
    def _came(self, message: Came) -> None:
        self.files.add(message.files)

    @on(Ended)
    def _ended(self, message: Ended) -> None:
        self._looking = False
        self._said = message.error
        if message.table is not None:
            self.files.show(message.table)
        self._describe()

    def look_again(self) -> None:
        """Something has changed: walk the folders once more."""
        self._looking = True
        self._looker.look_again()
        self._describe()

    def say(self, text: str) -> None:
        self._said = text
        self._describe()

    # What the user does

    @property
    def typing_box(self) -> Input:
        """What means nothing here belongs to the filter."""
        return self.query_one(Input)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.files.filter(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_open()

    @on(FileList.Moved)
    def _describe(self) -> None:
        for name in ("#health-summary", "#health-detail"):
            self.query_one(name, _Lines).lay_out()

    def action_move(self, step: int) -> None:
        self.files.move_to(self.files.cursor + step)

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.files.size.height - 1, 1))

    def action_fold(self) -> None:
        self.files.fold()

    def action_filter(self) -> None:
        self.set_focus(self.query_one(Input))

    def action_open(self) -> None:
        """Open the file under the cursor; a heading folds."""
        chosen = self.files.selected
        if isinstance(chosen, Heading):
            self.files.fold()
        elif chosen is not None and not isinstance(chosen, Folder):
            self._open(chosen)

    def _open(self, file: ListedFile) -> None:
        if not os.path.isfile(file.location):
            what = "a folder" if os.path.isdir(file.location) else "no longer there"
            self.say(f"{file.path}: {what}")
            return
        try:
            self.say(self._open_file(file.location))
        except KebabError as error:
            self.say(f"{error.message}: {error.hint}" if error.hint else error.message)

    def action_retry(self) -> None:
        count = self.files.table.count("failed")
        if count:
            self.post_message(self.Retry())
        self.say(f"reading {count:,} again" if count else "nothing has failed")

    def action_look_again(self) -> None:
        self.look_again()

    def action_back(self) -> None:
        """Clear the filter, then leave."""
        box = self.query_one(Input)
        if box.value:
            box.clear()
            self.set_focus(self.files)
        else:
            self.dismiss()

    def action_close(self) -> None:
        self.dismiss()

    # Drawing

    def _make_room(self, size: Size) -> None:
        self.query_one("#health-detail").display = size.height >= _DETAIL_FROM
        self.query_one(Footer).display = size.height >= _DETAIL_FROM

    def _summary(self, width: int) -> list[Row]:
        table = self.files.table
        return [summary_row(table, looking=self._looking, said=self._said, width=width, signs=self._signs)]

    def _detail(self, width: int) -> list[Row]:
        return list(detail_rows(self.files.selected, width, _DETAIL, self._signs))
