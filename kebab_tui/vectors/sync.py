"""Opens the vector index of one process and keeps it up to date with the store.

Maps the file if it can be trusted, replays the changes that it lacks, and otherwise rebuilds the
index from the store; the reason is returned, never raised. The header of the file and the number of
changes since decide, before anything else is read. Each process follows the store's change log on its
own; only one may write the file. The others then map the new one in place of vectors in their own
memory. Importing this module loads neither numpy nor faiss: a keyword search needs neither. Opening
the index loads both.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from kebab_tui import own_files

if TYPE_CHECKING:
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.search.ports import Among
    from kebab_tui.vectors.faiss_index import FaissIndex, VectorSnapshot

FILE_NAME = "vectors.kebabvec"
EXACT_UP_TO = 150_000
"""A larger index gets a coarse index at its next compaction."""

_UNSAVED_SHARE = 1_000
_UNSAVED_REVISIONS = 1_000
_REPLAYED_MOST, _REPLAYED_SHARE = 4_096, 4
"""With more changes than both the number and one part in `_SHARE`, to rebuild is faster."""
_PRIVATE_MOST = 4_096
"""With more vectors than these in its own memory, a process maps a new file: 3 MB."""


class VectorLog(Protocol):
    """The vectors of one model in one read transaction of the store.

    Vectors are fp16 blobs of `2 * dims` bytes for each part of the text; rows are `chunks.id`, which is
    never reused.
    """

    def revision(self) -> int: ...

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Every row with a vector, in any order."""
        ...

    def change_count(self, revision: int) -> int | None:
        """The number of changes after a revision; None if the log lacks it."""
        ...

    def changes_after(self, revision: int) -> tuple[Sequence[tuple[int, bytes]], Sequence[int]] | None:
        """Rows with a new vector, and removed rows; None if the log lacks the revision."""
        ...

    def vectors(self, rows: Sequence[int]) -> Mapping[int, bytes]: ...


class VectorStore(Protocol):
    """A protocol, because this package must not import the storage package."""

    def vectors(self, model: str) -> AbstractContextManager[VectorLog]: ...

    def rows(self, among: Among) -> Sequence[ChunkRow]:
        """The chunks in the caller's snapshot; the same object as long as they do not change."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """How the index was made; `reason` explains anything but "loaded"."""

    how: Literal["loaded", "replayed", "rebuilt"]
    reason: str


class VectorFollower:
    """`open` once, then `catch_up` from any thread; `close` saves the file if enough has changed."""

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
        self._saved_revision: int | None = None  # None: there is no usable file
        self._unsaved = 0
        self._seen = own_files.stamp_of(self._path)
        """The file that was mapped or rejected last."""
        self._following = threading.Lock()  # held while changes are applied

    @property
    def index(self) -> FaissIndex:
        if self._index is None:
            raise RuntimeError("the follower has not been opened")
        return self._index

    @property
    def revision(self) -> int:
        """The corpus revision of the index, or an earlier one while changes are applied."""
        return self._revision

    def open(self, *, fully: bool = False) -> Opened:
        """Load, replay or rebuild the index, whichever is the fastest correct way.

        `fully`: compare the checksum of the file even if it is known to be valid.
        """
        from kebab_tui.vectors.faiss_index import FaissIndex
        from kebab_tui.vectors.file import UnusableFileError

        with self._following, self._store.vectors(self._model) as log:
            try:
                snapshot, opened = self._from_file(log, fully)
            except UnusableFileError as error:
                self._saved_revision = None
                snapshot, opened = self._rebuilt(log), Opened("rebuilt", error.message)
            self._revision = log.revision()
            self._index = FaissIndex(snapshot, self._exact_up_to, self._store.rows)
        return opened

    def catch_up(self) -> bool:
        """Apply new changes; whether there were any. Returns at once if another thread is applying them."""
        if not self._following.acquire(blocking=False):
            return False
        try:
            with self._store.vectors(self._model) as log:
                revision = log.revision()
                if revision == self._revision:
                    return False
                changes = log.changes_after(self._revision)
                if changes is None:
                    self.index.replace(self._rebuilt(log))
                    self._saved_revision = None
                elif any(changes):
                    from kebab_tui.vectors.faiss_index import decoded_changes

                    self.index.change(*decoded_changes(*changes, self._dims))
                    self._unsaved += sum(map(len, changes))
                self._revision = revision  # last: replaying a change twice is harmless
                self._map_new_file(log)
                return True
        finally:
            self._following.release()

    def close(self) -> str:
        """Stop the compaction and save the file if enough has changed; an error message, or ""."""
        if self._index is None:
            return ""
        self._index.close()
        # Replaying a few rows costs a millisecond; the cost of writing grows with all vectors.
        count, saved = self._index.count, self._saved_revision
        if saved is None:
            is_worth_it = count > 0
        else:
            is_old = self._revision - saved >= _UNSAVED_REVISIONS
            is_worth_it = is_old or self._unsaved > count // _UNSAVED_SHARE
        if not is_worth_it or not self._may_save():
            return ""
        from kebab_tui.vectors.file import Saved, on_disk, write

        snapshot = self._index.snapshot
        # Without this, processes that only open, replay and save would never compact the file.
        compacted = None
        if snapshot.needs_compaction():
            compacted = snapshot.compacted(self._exact_up_to, lambda: False, on_disk(self._path))
        try:
            write(self._path, self._model, Saved(compacted or snapshot, self._revision))
        except OSError as error:
            return f"the vector index could not be saved: {error.strerror}"
        self._saved_revision, self._unsaved = self._revision, 0
        return ""

    def _from_file(self, log: VectorLog, fully: bool = False) -> tuple[VectorSnapshot, Opened]:
        from kebab_tui.vectors.faiss_index import decoded_changes, matches_store
        from kebab_tui.vectors.file import UnusableFileError, read, read_header

        self._seen = own_files.stamp_of(self._path)
        header = read_header(self._path, self._model, self._dims)
        count = log.change_count(header.revision)
        if count is None:
            raise UnusableFileError("the file is newer than the store, or too old to catch up")
        if count > max(_REPLAYED_MOST, header.base // _REPLAYED_SHARE):
            raise UnusableFileError(f"the file lacks {count:,} changes")
        saved = read(self._path, self._model, self._dims, fully=fully)
        changes = log.changes_after(saved.revision)
        if changes is None:  # the file was replaced meanwhile
            raise UnusableFileError("the file is newer than the store")
        snapshot = saved.snapshot
        if any(changes):
            snapshot = snapshot.changed(*decoded_changes(*changes, self._dims))
        if not matches_store(snapshot, log):
            raise UnusableFileError("the file belongs to another store")
        self._saved_revision = saved.revision
        self._unsaved = sum(map(len, changes))
        if saved.revision == log.revision():
            return snapshot, Opened("loaded", "")
        return snapshot, Opened("replayed", f"the file has revision {saved.revision}")

    def _map_new_file(self, log: VectorLog) -> None:
        """Map a file that another process has written, if this one has many vectors in its own memory."""
        if self.index.snapshot.private_slots <= _PRIVATE_MOST or own_files.stamp_of(self._path) == self._seen:
            return
        from kebab_tui.vectors.file import UnusableFileError

        with contextlib.suppress(UnusableFileError):
            self.index.replace(self._from_file(log)[0])

    def _rebuilt(self, log: VectorLog) -> VectorSnapshot:
        from kebab_tui.vectors.faiss_index import in_memory, snapshot_of, stored_vectors
        from kebab_tui.vectors.file import on_disk

        room = on_disk(self._path) if self._may_save() else in_memory
        return snapshot_of(stored_vectors(log, self._dims), self._dims, self._exact_up_to, room)
