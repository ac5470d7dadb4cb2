"""Keeps one process's vector index in step with the store: the door of this room.

Opens from the file when it can be trusted, replays what the file has missed, and makes
everything anew from the store's blobs otherwise; the reason is told, never raised. Each
process follows the store's log by itself; only one may write the file. Importing this
module loads neither numpy nor faiss; opening does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from kebab_tui.vectors.faiss_index import Contents, FaissIndex


# What the vector index needs of whoever keeps the vectors, as Protocols.
#
# The keeper is the truth. Vectors travel as fp16 blobs of `2 * dims` bytes; rows are
# `chunks.id`, which is never reused.


class RowVector(Protocol):
    @property
    def row(self) -> int: ...

    @property
    def vector(self) -> bytes: ...


class Changes(Protocol):
    """What happened up to `revision`: the rows that went, then those that have a vector now."""

    @property
    def revision(self) -> int: ...

    @property
    def added(self) -> Sequence[RowVector]: ...

    @property
    def removed(self) -> Sequence[int]: ...


class VectorLog(Protocol):
    """One moment of one model's vectors."""

    def revision(self) -> int: ...

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Every row that has a vector, in any order."""
        ...

    def changes_after(self, revision: int) -> Changes | None:
        """None when the log does not reach back so far, or the revision is not one of its own."""
        ...

    def vectors(self, rows: Sequence[int]) -> Mapping[int, bytes]: ...


class VectorStore(Protocol):
    def vectors(self, model: str) -> AbstractContextManager[VectorLog]: ...


FILE_NAME = "vectors.kebabvec"
EXACT_UP_TO = 150_000
"""More vectors than these get the coarse index when they are next put in order."""

_UNSAVED_SHARE = 1_000
_UNSAVED_REVISIONS = 1_000


@dataclass(frozen=True, slots=True)
class Opened:
    """How the index came to be; `reason` says why it is not the file as it was."""

    how: Literal["loaded", "replayed", "rebuilt"]
    reason: str


class VectorFollower:
    """`open` once; then `catch_up` from any thread; `close` writes the file when enough is new."""

    def __init__(
        self,
        store: VectorStore,
        folder: str,
        model: str,
        dims: int,
        *,
        may_save: Callable[[], bool],
        exact_up_to: int = EXACT_UP_TO,
    ) -> None:
        self._store = store
        self._path = os.path.join(folder, FILE_NAME)
        self._model = model
        self._dims = dims
        self._may_save = may_save
        self._exact_up_to = exact_up_to
        self._index: FaissIndex | None = None
        self._revision = 0
        self._saved_revision: int | None = None  # None: the file, if any, is of no use
        self._unsaved = 0
        self._following = threading.Lock()  # held by whoever applies changes

    @property
    def index(self) -> FaissIndex:
        if self._index is None:
            raise RuntimeError("the follower has not been opened")
        return self._index

    @property
    def revision(self) -> int:
        """The corpus revision that the index is of, or one before it."""
        return self._revision

    def open(self) -> Opened:
        """Make the index by the shortest way that is right."""
        from kebab_tui.vectors.faiss_index import FaissIndex
        from kebab_tui.vectors.file import UnusableFileError

        with self._following, self._store.vectors(self._model) as log:
            try:
                contents, opened = self._from_file(log)
            except UnusableFileError as error:
                self._saved_revision = None
                contents, opened = self._rebuilt(log), Opened("rebuilt", error.message)
            self._revision = log.revision()
            self._index = FaissIndex(contents, self._exact_up_to)
        return opened

    def catch_up(self) -> bool:
        """Apply what is new; says whether something was. Does not wait for another thread that is at it."""
        if not self._following.acquire(blocking=False):
            return False
        try:
            with self._store.vectors(self._model) as log:
                revision = log.revision()
                if revision == self._revision:
                    return False
                self._follow(log)
                self._revision = revision  # after the contents: replaying a change twice is harmless
                return True
        finally:
            self._following.release()

    def close(self) -> str:
        """End what goes on in the background, write the file when enough is new; a reason when that fails."""
        if self._index is None:
            return ""
        self._index.close()
        return self._save()

    def _from_file(self, log: VectorLog) -> tuple[Contents, Opened]:
        from kebab_tui.vectors.faiss_index import agrees, news
        from kebab_tui.vectors.file import UnusableFileError, read

        saved = read(self._path, self._model, self._dims)
        changes = log.changes_after(saved.revision)
        if changes is None:
            raise UnusableFileError("the file is newer than the store, or too old to catch up")
        contents = saved.contents
        if changes.added or changes.removed:
            contents = contents.changed(*news(changes, self._dims))
        if not agrees(contents, log):
            raise UnusableFileError("the file is of another store")
        self._saved_revision = saved.revision
        self._unsaved += len(changes.added) + len(changes.removed)
        if saved.revision == log.revision():
            return contents, Opened("loaded", "")
        return contents, Opened("replayed", f"the file was of revision {saved.revision}")

    def _rebuilt(self, log: VectorLog) -> Contents:
        from kebab_tui.vectors.faiss_index import contents_of, everything

        return contents_of(everything(log, self._dims), self._dims, self._exact_up_to)

    def _follow(self, log: VectorLog) -> None:
        from kebab_tui.vectors.faiss_index import news

        changes = log.changes_after(self._revision)
        if changes is None:
            self.index.replace(self._rebuilt(log))
            self._saved_revision = None
        elif changes.added or changes.removed:
            self.index.change(*news(changes, self._dims))
            self._unsaved += len(changes.added) + len(changes.removed)

    def _save(self) -> str:
        if not self._worth_saving() or not self._may_save():
            return ""
        from kebab_tui.vectors.file import Saved, write

        try:
            write(self._path, self._model, Saved(self._in_order(), self._revision))
        except OSError as error:
            return f"the vector index could not be saved: {error.strerror}"
        self._saved_revision, self._unsaved = self._revision, 0
        return ""

    def _in_order(self) -> Contents:
        """Who only opens the file, replays and ends would never put in order what has gathered in it."""
        contents = self.index.contents
        ordered = contents.in_order(self._exact_up_to, lambda: False) if contents.needs_order() else None
        return ordered or contents

    def _worth_saving(self) -> bool:
        """Replaying a few rows costs a millisecond; writing costs as much as there are vectors."""
        count = self.index.count
        if self._saved_revision is None:
            return count > 0
        stale = self._revision - self._saved_revision >= _UNSAVED_REVISIONS
        return stale or self._unsaved > count // _UNSAVED_SHARE
