"""What a keeper does though no folder announced it: what others ask for, what is tried again, rounds.

Says what is to be looked at, in the queue, and when to give way; looks at nothing itself.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

from kebab_tui.files.ignore import IGNORE_FILES
from kebab_tui.indexing.live_state import FolderState
from kebab_tui.indexing.path_queue import Batch, PathQueue
from kebab_tui.indexing.report import SourceReport
from kebab_tui.indexing.retries import Retries
from kebab_tui.indexing.rounds import Rounds
from kebab_tui.indexing.watched_folders import WatchedFolders
from kebab_tui.storage.requests import RequestFolder, Rescan
from kebab_tui.storage.sqlite.rows import shown

LOOK_S = 0.1
"""How often requests are looked for."""

_MOST_PLACES = 100


class Errands:
    """`places`: roots and paths that could not be looked at. `disk`: an index that could not be written."""

    def __init__(self, requests: RequestFolder, queue: PathQueue, watched: WatchedFolders) -> None:
        self._requests = requests
        self._queue = queue
        self._watched = watched
        self._rounds = Rounds()
        self._looked_at = self._ran_at = 0.0
        self._asked: list[Rescan] = []
        self._paused: dict[str, str] = {}
        """Why nothing in a root was believed at the last look; empty: it was."""
        self.places: Retries[tuple[str, bytes]] = Retries()
        self.disk: Retries[str] = Retries()

    def is_way_wanted(self) -> bool:
        """Whether another process waits to write; cheap enough to be asked for every file."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return False
        wanted, asked = self._requests.look()
        self._asked += asked
        if not wanted:  # who waits is still there at the next question
            self._looked_at = now
        return wanted

    def run(self) -> None:
        """Cheap, however often: it is done some times a second."""
        now = time.monotonic()
        if now - self._ran_at < LOOK_S:
            return
        self._ran_at = now
        self.is_way_wanted()
        asked, self._asked = self._asked, []
        for request in asked:
            if request.retry:
                self.places.all_now()
                self.disk.all_now()
            self._rescan(request)
        self._look_again()
        if why := self._rounds.due():
            for source in self._watched.sources():
                self._queue.reconcile(source.root, why)

    def remember_unseen(self, batch: Batch, report: SourceReport) -> None:
        """Nobody tells when a folder can be read again."""
        unseen = {path for path in report.unseen if os.fsdecode(path).rpartition("/")[2] not in IGNORE_FILES}
        unseen = {b""} if report.paused else _gathered(unseen)
        waiting = {path for root, path in self.places if root == batch.root}
        looked_at = waiting if batch.whole else waiting & {*batch.paths, *batch.subtrees}
        self._paused[batch.root] = report.paused
        for path in looked_at - unseen:
            self.places.succeeded((batch.root, path))
        for path in unseen:
            self.places.failed((batch.root, path))

    def states(self) -> tuple[FolderState, ...]:
        """How well the folders are watched; what cannot be looked at is not watched well."""
        return tuple(self._with_unseen(state) for state in self._watched.states())

    def _with_unseen(self, state: FolderState) -> FolderState:
        if state.kind != "paused" and (reason := self._paused.get(state.root)):
            return replace(state, kind="paused", reason=reason)
        unseen = [path for root, path in self.places.stuck() if root == state.root]
        if state.kind != "live" or not unseen:
            return state
        more = f" and {len(unseen) - 1} more" if unseen[1:] else ""
        reason = f"cannot be read: {shown(os.fsdecode(unseen[0])) or '.'}{more}; tried again now and then"
        return replace(state, kind="partial", reason=reason)

    def _rescan(self, request: Rescan) -> None:
        for source in self._watched.sources():
            if not request.paths:
                self._queue.reconcile(source.root, "asked for")
            for path in request.paths:
                if (place := _within(source.root, path)) is not None:
                    is_folder = os.path.isdir(path)
                    self._queue.add(source.root, os.fsencode(place), is_folder, settle_s=0)

    def _look_again(self) -> None:
        for root, path in self.places.due():
            if self._watched.source_at(root) is None:
                self.places.succeeded((root, path))
            elif path:
                self._queue.add(root, path, is_dir=True, settle_s=0)
            else:
                self._queue.reconcile(root, "trying again")


def _gathered(unseen: set[bytes]) -> set[bytes]:
    """What is remembered of them is little: the folders of many files, the root of many folders."""
    if len(unseen) > _MOST_PLACES:
        unseen = {path.rpartition(b"/")[0] for path in unseen}
    return unseen if len(unseen) <= _MOST_PLACES else {b""}


def _within(root: str, path: str) -> str | None:
    """A path relative to the root that holds it, however either is spelled."""
    for outer, inner in ((root, os.path.abspath(path)), (os.path.realpath(root), os.path.realpath(path))):
        if inner == outer:
            return ""
        if inner.startswith(outer.rstrip("/") + "/"):
            return inner[len(outer.rstrip("/")) + 1 :]
    return None
