"""Looks at all folders in a thread and tells what it finds; again when asked, or after a commit.

The first look tells the files in batches as they come. A later one tells a whole table
at its end, so that nothing on the screen flickers. `stop` returns at once; a look under
way ends at the next file. Shows nothing.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from textual.message import Message

from kebab_tui.domain.errors import KebabError
from kebab_tui.tui.health_table import Folder, HealthTable, folders_of

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.indexing.lookup import ListedFile
    from kebab_tui.indexing.status import LiveState

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

    def revision(self) -> tuple[int, int]: ...

    def close(self) -> None: ...


class Started(Message):
    """The first look begins, at these folders."""

    def __init__(self, folders: tuple[Folder, ...]) -> None:
        super().__init__()
        self.folders = folders


class FoldersChanged(Message):
    """A folder is followed in another way than before."""

    def __init__(self, folders: tuple[Folder, ...]) -> None:
        super().__init__()
        self.folders = folders


class Came(Message):
    """More files of the first look."""

    def __init__(self, files: tuple[ListedFile, ...]) -> None:
        super().__init__()
        self.files = files


class Ended(Message):
    """A look is over; `table` is what a later one found, `error` why it could not be finished."""

    def __init__(self, table: HealthTable | None = None, error: str = "") -> None:
        super().__init__()
        self.table = table
        self.error = error


class Looker:
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
            self._post(Ended(error=error.message))
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
                self._post(Started(self._folders))
                for batch in _batches(self._until_stopped(workspace.file_states())):
                    self._post(Came(batch))
                self._post(Ended())
            else:
                table = HealthTable()
                table.folders = self._folders
                table.add(self._until_stopped(workspace.file_states()))
                self._post(Ended(table))
        except KebabError as error:
            self._post(Ended(error=error.message))
            return False
        except Exception as error:  # noqa: BLE001 - a defect must not leave the page looking for ever
            self._post(Ended(error=f"{type(error).__name__}: {error}"))
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
        return workspace.revision()[0] if workspace.has_index else 0
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
