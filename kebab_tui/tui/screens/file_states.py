"""The health page: every file of the folders with its state and the reason, what is wrong first.

Files arrive while it is open already; the cursor stays on its file whatever comes in
above it. Letters that do nothing here are typed into the filter. Indexes nothing: it posts
`Retry`, and opens files through the function that it is given.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Input

from kebab_tui.domain.errors import KebabError
from kebab_tui.tui.actions import bind_call
from kebab_tui.tui.screens.file_table import (
    FileList,
    Folder,
    Heading,
    HealthTable,
    detail_rows,
    folders_of,
    summary_row,
)
from kebab_tui.tui.widgets.segments import Row, Rows, RowsView

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.indexing.lookup import ListedFile
    from kebab_tui.indexing.status import LiveState


# Looks at all folders in a thread and tells what it finds; again when asked, or after a commit.
#
# The first look tells the files in batches as they come. A later one tells a whole table
# at its end, so that nothing on the screen flickers. `stop` returns at once; a look under
# way ends at the next file. Shows nothing.

_BATCH = 1_000
_BATCH_S = 0.03
_NEWS_S = 1.0
_REST = 5
"""After a look, so many times as long is rested before a commit starts the next one."""


class Looked(Protocol):
    """What of a workspace is looked at."""

    @property
    def has_index(self) -> bool: ...

    def sources(self) -> list[Source]: ...

    def file_states(self) -> Iterator[ListedFile]: ...

    def live(self) -> LiveState | None: ...

    def revision(self) -> int: ...

    def close(self) -> None: ...


class ScanStarted(Message):
    """The first look begins, at these folders."""

    def __init__(self, folders: tuple[Folder, ...]) -> None:
        super().__init__()
        self.folders = folders


class FoldersChanged(Message):
    """A folder is followed in another way than before."""

    def __init__(self, folders: tuple[Folder, ...]) -> None:
        super().__init__()
        self.folders = folders


class FilesScanned(Message):
    """More files of the first look."""

    def __init__(self, files: tuple[ListedFile, ...]) -> None:
        super().__init__()
        self.files = files


class ScanDone(Message):
    """A look is over; `table` is what a later one found, `error` why it could not be finished."""

    def __init__(self, table: HealthTable | None = None, error: str = "") -> None:
        super().__init__()
        self.table = table
        self.error = error


class FileStatesWorker:
    def __init__(self, open_workspace: Callable[[], Looked], post: Callable[[Message], object]) -> None:
        self._open = open_workspace
        self._post = post
        self._folders: tuple[Folder, ...] = ()
        self._wake = threading.Condition()
        self._asked = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def look_again(self) -> None:
        with self._wake:
            self._asked = True
            self._wake.notify()

    def stop(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _run(self) -> None:
        try:
            workspace = self._open()
        except KebabError as error:
            self._post(ScanDone(error=error.message))
            return
        try:
            is_first = True
            while not self._stopping:
                revision, began = _revision(workspace), time.monotonic()
                is_first = not self._attempt(workspace, is_first) and is_first
                self._rest(workspace, revision, _REST * (time.monotonic() - began))
        finally:
            workspace.close()

    def _attempt(self, workspace: Looked, is_first: bool) -> bool:
        """Look once; says whether that went well."""
        try:
            self._folders = _folders(workspace)
            if is_first:
                self._post(ScanStarted(self._folders))
                for batch in _batches(self._until_stopped(workspace.file_states())):
                    self._post(FilesScanned(batch))
                self._post(ScanDone())
            else:
                table = HealthTable()
                table.folders = self._folders
                table.add(self._until_stopped(workspace.file_states()))
                self._post(ScanDone(table))
        except KebabError as error:
            self._post(ScanDone(error=error.message))
            return False
        except Exception as error:  # noqa: BLE001 - a defect must not leave the page looking for ever
            self._post(ScanDone(error=f"{type(error).__name__}: {error}"))
            return False
        return True

    def _until_stopped(self, files: Iterable[ListedFile]) -> Iterator[ListedFile]:
        for file in files:
            if self._stopping:
                return
            yield file

    def _look_at_the_watch(self, workspace: Looked) -> None:
        with contextlib.suppress(KebabError):  # what is wrong with the index, the next look says
            folders = _folders(workspace)
            if folders != self._folders:
                self._folders = folders
                self._post(FoldersChanged(folders))

    def _rest(self, workspace: Looked, revision: int, seconds: float) -> None:
        """Until it is asked to look, or something was committed and it has rested."""
        end = time.monotonic() + seconds
        with self._wake:
            while not (self._stopping or self._asked):
                self._wake.wait(_NEWS_S)
                self._look_at_the_watch(workspace)
                if time.monotonic() >= end and _revision(workspace) != revision:
                    return
            self._asked = False


def _folders(workspace: Looked) -> tuple[Folder, ...]:
    return folders_of(workspace.sources(), workspace.live())


def _revision(workspace: Looked) -> int:
    """Which state of the corpus this is; 0 before there is one, and while it cannot be read."""
    try:
        return workspace.revision() if workspace.has_index else 0
    except KebabError:
        return 0


def _batches(files: Iterable[ListedFile]) -> Iterator[tuple[ListedFile, ...]]:
    """What has come within a moment; the very first file is not kept waiting."""
    batch: list[ListedFile] = []
    due = 0.0
    for file in files:
        batch.append(file)
        if len(batch) >= _BATCH or time.monotonic() >= due:
            yield tuple(batch)
            batch, due = [], time.monotonic() + _BATCH_S
    if batch:
        yield tuple(batch)


_DETAIL_FROM = 14
"""A screen of fewer rows has no room for what the cursor stands on in full."""
_DETAIL = 3
_FILTER = "/ to filter by path, state or reason"


class _StateRows(RowsView, can_focus=False):
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
    ) -> None:
        """`open_file` says what the user should know, or raises; `keys` close the page like esc."""
        super().__init__()
        self._open_file = open_file
        self._looker = FileStatesWorker(open_workspace, self.post_message)
        self._looking = True
        self._said = ""
        self.files = FileList()
        bind_call(self, keys, "close")

    def compose(self) -> ComposeResult:
        yield _StateRows(self._summary, "health-summary")
        yield Input(
            placeholder="type to filter by path, state or reason", select_on_focus=False, compact=True
        )
        yield self.files
        yield _StateRows(self._detail, "health-detail")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.set_focus(self.files)
        self.call_after_refresh(self._looker.start)  # the walk would delay the first paint

    def on_unmount(self) -> None:
        self._looker.stop()

    def on_resize(self, event: events.Resize) -> None:
        self._make_room(event.size)

    # What it is told

    @on(ScanStarted)
    def _started(self, message: ScanStarted) -> None:
        table = HealthTable()
        table.folders = message.folders
        self.files.show(table)

    @on(FoldersChanged)
    def _folders_changed(self, message: FoldersChanged) -> None:
        table = self.files.table
        table.folders = message.folders
        self.files.show(table)

    @on(FilesScanned)
    def _came(self, message: FilesScanned) -> None:
        self.files.add(message.files)

    @on(ScanDone)
    def _ended(self, message: ScanDone) -> None:
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

    @on(FileList.RowSelected)
    def _describe(self) -> None:
        for name in ("#health-summary", "#health-detail"):
            self.query_one(name, _StateRows).lay_out()

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
        return [summary_row(table, looking=self._looking, said=self._said, width=width)]

    def _detail(self, width: int) -> list[Row]:
        return list(detail_rows(self.files.selected, width, _DETAIL))
