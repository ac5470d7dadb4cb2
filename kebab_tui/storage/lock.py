"""The data folder (which file is which) and the writer's lock: at most one process writes an index.

The lock is an operating-system lock on a file, so a killed holder frees it. The file also names
its holder; that text is for people and decides nothing. A waiting process leaves a request, and a
holder that only watches for changes then gives way.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kebab_tui import own_files
from kebab_tui.domain.errors import NotIndexedError, StoreBusyError, StoreReadOnlyError
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite.connection import write_error

if TYPE_CHECKING:
    from kebab_tui.storage.ports import Holder

_OURS = (
    "kebab.sqlite", "kebab.seal", "vectors.kebabvec", "sources.json", "writer.lock", "requests", "live.json",
    "embedding.lock", "suspect", "model.txt", "models", "sample-notes", "queries.txt", "recent.txt",
    "screen.log", "screen.json", "crash.log", "serve.token",
)  # fmt: skip
_MOST_BYTES = 65_536
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_POLL_S = 0.05
_SILENT_S = 1.0
"""A shorter wait is not reported: a holder that only watches gives way sooner."""


def is_ours(name: str) -> bool:
    """Whether the program creates files or folders of this name in a data folder."""
    return name.lstrip(".").startswith(_OURS)


class DataFolder:
    """Paths of the files of one index; all of them are in `root`, none among the notes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.database = os.path.join(root, "kebab.sqlite")
        self.lock = os.path.join(root, "writer.lock")
        self.embedding_lock = os.path.join(root, "embedding.lock")
        """Held by the one embedding process, also between its write sessions."""
        self.sources = os.path.join(root, "sources.json")
        """A copy of the table of sources: input for the rebuild of a lost database."""
        self.suspect = os.path.join(root, "suspect")
        """Exists after a process found damage: the next writer then checks the whole database."""
        self.seal = os.path.join(root, "kebab.seal")
        """Checksums of the database's pages; absent during a write session."""

    def database_bytes(self) -> int:
        """Size of the database and its log."""
        files = (self.database, self.database + "-wal")
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))


class WriterLock:
    """Uses the bare descriptor: on a full disk a buffered file would fail again on close."""

    def __init__(self, path: str, *, makes_folder: bool = True) -> None:
        """Without `makes_folder`, the data folder must exist: a removed one is not made again."""
        self._path = path
        self._makes_folder = makes_folder
        self._descriptor: int | None = None

    def acquire(
        self,
        command: str,
        timeout_s: float,
        waiting: Callable[[Holder | None], None],
        *,
        makes_folder: bool = True,
    ) -> bool:
        """Take the lock, waiting up to `timeout_s`; a longer wait calls `waiting` once with the holder.

        True if the last holder was killed before it released the lock. Raises NotIndexedError if the
        data folder is missing and is not to be made.
        """
        folder = os.path.dirname(self._path)
        try:
            if makes_folder and self._makes_folder:
                own_files.make_folder(folder)
            if os.path.islink(self._path):
                os.unlink(self._path)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise NotIndexedError(f"there is no data folder {folder}") from error
            raise write_error(error, self._path) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StoreReadOnlyError(f"{self._path} is not a regular file", "remove it, and try again")
            if not own_files.try_lock(descriptor):
                self._wait(descriptor, timeout_s, waiting)
            os.lseek(descriptor, 0, os.SEEK_SET)
            unclean = bool(os.read(descriptor, 1))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._sign(descriptor, command)
        return unclean

    def release(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            # If this fails, the next writer assumes a kill and checks every page.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def is_in_place(self) -> bool:
        """Whether the lock file is still in the data folder; other processes see only that file."""
        try:
            return self._descriptor is not None and os.path.samestat(
                os.fstat(self._descriptor), os.stat(self._path)
            )
        except FileNotFoundError:
            return False
        except OSError:
            return True  # unknown for the moment

    def holder(self) -> Holder | None:
        """The holder's description; None if the lock is free or the description is invalid."""
        from kebab_tui.storage.ports import Holder  # a search never needs it

        try:
            descriptor = os.open(self._path, os.O_RDWR | _NOFOLLOW)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            if self._descriptor is None and own_files.try_lock(descriptor):
                return None
            os.lseek(descriptor, 0, os.SEEK_SET)
            facts = json.loads(os.read(descriptor, _MOST_BYTES) or "null")
            holder = Holder(int(facts["pid"]), str(facts["command"]), float(facts["since"]))
            time.localtime(holder.since)  # raises for a time outside the calendar
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None
        finally:
            os.close(descriptor)
        return holder

    def _wait(self, descriptor: int, timeout_s: float, waiting: Callable[[Holder | None], None]) -> None:
        if timeout_s <= 0:
            raise self._busy()
        with RequestFolder(os.path.dirname(self._path)).wanting():
            began = time.monotonic()
            reported = False
            while not own_files.try_lock(descriptor):
                waited = time.monotonic() - began
                if not reported and waited >= min(_SILENT_S, timeout_s / 2):
                    waiting(self.holder())
                    reported = True
                elif waited >= timeout_s:
                    raise self._busy()
                else:
                    time.sleep(min(_POLL_S, timeout_s / 4))

    def _busy(self) -> StoreBusyError:
        holder = self.holder() or "another process"
        return StoreBusyError(
            f"the index is being written by {holder}",
            "wait for it to end, or stop it; searching works meanwhile",
        )

    def _sign(self, descriptor: int, command: str) -> None:
        facts = json.dumps({"pid": os.getpid(), "command": command, "since": time.time()}).encode()
        # A full disk must not stop a writer: it may be about to free space.
        with contextlib.suppress(OSError):
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, facts)
            os.ftruncate(descriptor, len(facts))
