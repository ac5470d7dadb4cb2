"""The health page: the folders with their versions, then all files with their state, problems first.

The engine thread scans the folders. The first scan reports its files in batches, and the
cursor stays on its file; a later one reports a whole table, so that nothing flickers. The
page indexes nothing: it posts `Retry`, and opens files with the function that it is given.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from kebab_tui.domain.errors import Failure, KebabError, defect, failure_of
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.versions import Version
from kebab_tui.tui.actions import Actions, ScreenName, bind, first_key
from kebab_tui.tui.screens.file_table import (
    FileList,
    Folder,
    Heading,
    HealthTable,
    detail_rows,
    folders_of,
    summary_row,
)
from kebab_tui.tui.screens.framed import FilterLine, Frame
from kebab_tui.tui.screens.question import Question
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.segments import ELLIPSIS, Row, Rows, RowsView

if TYPE_CHECKING:
    from kebab_tui.domain.document import SourceUse
    from kebab_tui.indexing.lookup import ListedFile
    from kebab_tui.tui.engine_thread import EngineThread
    from kebab_tui.tui.messages import SourceChanged
    from kebab_tui.workspace import Workspace


_DETAIL_FROM = 14
"""Screens with fewer rows do not show the details of the selected file."""
_DETAIL = 3
_BATCH = 1_000
_BATCH_S = 0.03
_POLL_S = 1.0
_REST = 5
"""After a scan, a commit starts the next one only after this many times its duration."""


@dataclass
class ScanStarted(Message):
    """The first scan has started."""

    folders: tuple[Folder, ...]


@dataclass
class FoldersChanged(Message):
    """The watch state of a folder has changed, or what is known of its versions."""

    folders: tuple[Folder, ...]


@dataclass
class FilesScanned(Message):
    """More files of the first scan."""

    files: tuple[ListedFile, ...]


@dataclass
class ScanDone(Message):
    """A scan has ended; `table` is the result of a later one, `failure` why there is none."""

    table: HealthTable | None = None
    failure: Failure | None = None


class FileStatesScreen(ModalScreen[None]):
    """Covers the whole screen until Esc. Letters without a binding go into the filter."""

    DEFAULT_CSS = """
    FileStatesScreen {
        & > Frame { width: 100%; height: 100%; }
        & #health-summary { height: 1; overflow: hidden; }
        & #health-detail { height: 3; overflow: hidden; }
    }
    """
    screen_name: ClassVar[ScreenName] = "Files"

    class Retry(Message):
        """The user wants to read the failed files again."""

    @dataclass
    class UseSource(Message):
        """The user wants to watch, pause or remove a source."""

        source: SourceId
        use: SourceUse

    def __init__(
        self,
        actions: Actions,
        engine: EngineThread,
        open_file: Callable[[str], str],
    ) -> None:
        """`open_file` returns a message for the user or raises."""
        super().__init__()
        self._actions = actions
        self._open_file = open_file
        self._engine = engine
        self._scan = FileScan(self.post_message)
        self._is_scanning = True
        self._message = ""
        self.files = FileList()

    def compose(self) -> ComposeResult:
        yield Frame(
            FilterLine("type to filter by path, state or reason"),
            _StateRows(self._summary, "health-summary"),
            self.files,
            _StateRows(self._detail, "health-detail"),
            title="Files",
            keys=footer_text(self._actions, "Files"),
        )

    def on_mount(self) -> None:
        bind(self, self._actions, "Files", "everywhere")
        bind(self.files, self._actions, "Files", "vim")
        bind(self.typing_box, self._actions, "Files", "query")
        self.set_focus(self.files)
        # After the first paint: the scan would delay it.
        self.call_after_refresh(self._engine.run_in_steps, self._scan.steps)

    def on_unmount(self) -> None:
        self._engine.stop_steps()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#health-detail").display = event.size.height >= _DETAIL_FROM

    @on(ScanStarted)
    def _scan_started(self, message: ScanStarted) -> None:
        table = HealthTable()
        table.folders = message.folders
        self.files.show(table)

    @on(FoldersChanged)
    def _folders_changed(self, message: FoldersChanged) -> None:
        self.files.show_folders(message.folders)

    @on(FilesScanned)
    def _files_scanned(self, message: FilesScanned) -> None:
        self.files.add(message.files)

    @on(ScanDone)
    def _scan_done(self, message: ScanDone) -> None:
        self._is_scanning = False
        self._message = message.failure.message if message.failure is not None else ""
        if message.table is not None:
            self.files.show(message.table)
        self._describe()

    @on(FileList.RowSelected)
    def _describe(self) -> None:
        for name in ("#health-summary", "#health-detail"):
            self.query_one(name, _StateRows).lay_out()
        self.query_one(Frame).border_title = Content(f"Files ({self.files.table.total:,})")

    def _show_message(self, text: str) -> None:
        self._message = text
        self._describe()

    @property
    def typing_box(self) -> Input:
        """Receives the keys without a binding."""
        return self.query_one(Input)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self.files.filter(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._open_selected()

    def action_move(self, step: int) -> None:
        self.files.move_to(self.files.cursor + step)

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.files.size.height - 1, 1))

    def action_fold(self) -> None:
        self.files.fold()

    def action_filter(self) -> None:
        self.set_focus(self.query_one(Input))

    async def action_open(self) -> None:
        """Open the file under the cursor, or fold a heading or the versions of a folder."""
        if self.focused is self.typing_box:
            await self.typing_box.action_submit()  # comes after the text typed before it
        else:
            self._open_selected()

    def _open_selected(self) -> None:
        chosen = self.files.selected
        if isinstance(chosen, Heading | Folder):
            self.files.fold()
            return
        if isinstance(chosen, Version):
            self._show_message(f"search it with in:{chosen.source} version:{chosen.label}")
            return
        if chosen is None:
            return
        if not os.path.isfile(chosen.location):
            what = "a folder" if os.path.isdir(chosen.location) else "no longer there"
            self._show_message(f"{chosen.path}: {what}")
            return
        try:
            self._show_message(self._open_file(chosen.location))
        except KebabError as error:
            self._show_message(f"{error.message}: {error.hint}" if error.hint else error.message)

    def action_retry(self) -> None:
        count = self.files.table.count("failed")
        if count:
            self.post_message(self.Retry())
        self._show_message(f"reading {count:,} again" if count else "no failed files")

    def action_pause(self) -> None:
        """Pause the selected folder, or watch it again."""
        if isinstance(chosen := self.files.selected, Version):
            self._show_message(f"versions are not watched; to pause {chosen.source}, select its line")
        elif (folder := self._chosen_folder()) is not None and folder.use != "removed":
            resumes = folder.use == "paused"
            self._use(folder, "watched" if resumes else "paused", "resuming" if resumes else "pausing")

    async def action_remove(self) -> None:
        """Ask before the selected folder leaves the index."""
        if isinstance(chosen := self.files.selected, Version):
            label = shlex.quote(chosen.label)
            self._show_message(f"to remove it: kebab source version remove {chosen.source} {label}")
            return
        folder = self._chosen_folder()
        if folder is None or folder.use == "removed":
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._use(folder, "removed", "removing")

        key = first_key(self._actions, "files_undo")
        text = (
            f"Remove {folder.name} ({folder.notes:,} {'note' if folder.notes == 1 else 'notes'}) from the "
            f"index? No file is changed. {key} undoes it until you quit."
        )
        question = Question(self._actions, "remove a folder", text, "Remove it", "Keep it")
        await self.app.push_screen(question, answered)

    def action_undo(self) -> None:
        """Bring back the selected removed folder, else the last one."""
        chosen = self.files.selected
        removed = [one for one in self.files.table.folders if one.use == "removed"]
        if isinstance(chosen, Folder) and chosen in removed:
            removed.append(chosen)
        if removed:
            self._use(removed[-1], "watched", "bringing back")
        else:
            self._show_message("no removed folder to bring back")

    def _use(self, folder: Folder, use: SourceUse, doing: str) -> None:
        self._show_message(f"{doing} {folder.name} {ELLIPSIS}")
        self.post_message(self.UseSource(SourceId(folder.name), use))

    def _chosen_folder(self) -> Folder | None:
        chosen, folders = self.files.selected, self.files.table.folders
        if isinstance(chosen, Folder):
            return chosen
        if len(folders) == 1:
            return folders[0]
        self._show_message("select a folder first: they are at the top")
        return None

    def source_changed(self, message: SourceChanged) -> None:
        """Tell how a wish ended, and list the folders again."""
        done = {"paused": "paused", "watched": "watched again", "removed": "removed"}[message.use]
        failure = message.failure
        self._show_message(f"{message.source}: {done}" if failure is None else failure.message)
        self._scan.is_requested = True

    def action_rescan(self) -> None:
        self._is_scanning = True
        self._scan.is_requested = True
        self._describe()

    def action_back(self) -> None:
        """Clear the filter, or close the page."""
        self.clear_selection()
        box = self.query_one(Input)
        if box.value:
            box.clear()
            self.set_focus(self.files)
        else:
            self.dismiss()

    def _summary(self, width: int) -> list[Row]:
        return [summary_row(self.files.table, self._is_scanning, self._message, width)]

    def _detail(self, width: int) -> list[Row]:
        return list(detail_rows(self.files.selected, width, _DETAIL))


class _StateRows(RowsView, can_focus=False):
    """Shows the rows that a function makes."""

    def __init__(self, make: Callable[[int], list[Row]], name: str) -> None:
        super().__init__(id=name)
        self._make = make

    def rows_at(self, width: int) -> Rows:
        return self._make(width)


class FileScan:
    """Scans all folders, step by step: at the start, on request, and after a commit."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post
        self._folders: tuple[Folder, ...] = ()
        self._stored: list[Version] = []
        self._compared: dict[Version, Version] = {}
        """What has become of each stored version, as far as it is known."""
        self.is_requested = False

    def steps(self, workspace: Workspace) -> Iterator[bool]:
        """One file per step; a step is False if nothing is left to do for now."""
        is_first = True
        while True:
            self.is_requested = False
            revision, began = _revision(workspace), time.monotonic()
            try:
                problem = self._read_versions(workspace)
                self._folders = self._list_folders(workspace)
                yield from self._first_scan(workspace) if is_first else self._later_scan(workspace)
                is_first = False
                if problem is not None:
                    raise problem
            except Exception as error:  # noqa: BLE001 - a defect must not leave the page scanning for ever
                self._post(ScanDone(failure=failure_of(error) or defect(error)))
            end = time.monotonic()
            yield from self._wait(workspace, revision, end + _REST * (end - began))

    def _first_scan(self, workspace: Workspace) -> Iterator[bool]:
        """Post groups of files that come within a moment; the very first file at once."""
        self._post(ScanStarted(self._folders))
        batch: list[ListedFile] = []
        due = 0.0
        for file in workspace.file_states():
            batch.append(file)
            if len(batch) >= _BATCH or time.monotonic() >= due:
                self._post(FilesScanned(tuple(batch)))
                batch, due = [], time.monotonic() + _BATCH_S
            yield True
        if batch:
            self._post(FilesScanned(tuple(batch)))
        self._post(ScanDone())

    def _later_scan(self, workspace: Workspace) -> Iterator[bool]:
        files: list[ListedFile] = []
        for file in workspace.file_states():
            files.append(file)
            yield True
        table = HealthTable()
        table.folders = self._folders
        table.add(files)
        self._post(ScanDone(table))

    def _read_versions(self, workspace: Workspace) -> KebabError | None:
        """Read the stored versions, and have them compared in a thread: git may be slow to answer."""
        try:
            self._stored = stored = workspace.stored_versions()
        except KebabError as error:
            return error

        def compare() -> None:
            try:
                found = workspace.compared_versions(stored)
                self._compared = dict(zip(stored, found, strict=True))  # `_wait` shows it
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                self._post(ScanDone(failure=failure_of(error) or defect(error)))

        if stored:
            threading.Thread(target=compare, name="versions", daemon=True).start()
        return None

    def _list_folders(self, workspace: Workspace) -> tuple[Folder, ...]:
        versions = [self._compared.get(one, one) for one in self._stored]
        live, removed = workspace.live(), workspace.removed_sources()
        return folders_of(workspace.sources(), live, removed, workspace.source_score, versions)

    def _post_changed(self, workspace: Workspace) -> None:
        folders = self._list_folders(workspace)
        if folders != self._folders:
            self._folders = folders
            self._post(FoldersChanged(folders))

    def _wait(self, workspace: Workspace, revision: int, rested_at: float) -> Iterator[bool]:
        """Wait for a request, or for a commit and the end of the rest; report changes of the watch."""
        poll_at, compared = 0.0, self._compared
        while not self.is_requested:
            yield False
            if (now := time.monotonic()) < poll_at and compared is self._compared:
                continue
            poll_at, compared = now + _POLL_S, self._compared
            with contextlib.suppress(KebabError):  # the next scan reports it
                self._post_changed(workspace)
            if now >= rested_at and _revision(workspace) != revision:
                return


def _revision(workspace: Workspace) -> int:
    """The revision of the corpus; 0 without an index or if it cannot be read."""
    try:
        return workspace.revision() if workspace.has_index else 0
    except KebabError:
        return 0
