"""The data folder: which file is what. Knows names, opens nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass

from kebab_tui import own_files
from kebab_tui.domain.errors import NotIndexedError, StoreBusyError, StoreReadOnlyError
from kebab_tui.own_files import try_lock
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite.connection import write_error

_OURS = (
    "kebab.sqlite", "kebab.seal", "vectors.kebabvec", "sources.json", "writer.lock", "requests", "live.json",
    "embedding.lock", "suspect", "model.txt", "models", "sample-notes", "queries.txt", "screen.log",
    "crash.log",
)  # fmt: skip


def is_ours(name: str) -> bool:
    """Whether a file or folder of this name in a data folder is the program's own."""
    return name.lstrip(".").startswith(_OURS)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Everything that belongs to one index lives in `root`, never among the notes."""

    root: str

    @property
    def database(self) -> str:
        return os.path.join(self.root, "kebab.sqlite")

    @property
    def lock(self) -> str:
        return os.path.join(self.root, "writer.lock")

    @property
    def embedding_lock(self) -> str:
        """Held by the one process that makes vectors, between two times of writing too."""
        return os.path.join(self.root, "embedding.lock")

    @property
    def sources(self) -> str:
        """A copy of the table of sources: what a rebuild of a lost database starts from."""
        return os.path.join(self.root, "sources.json")

    @property
    def suspicion(self) -> str:
        """A file that is there when somebody has met damage: the next writer looks closely."""
        return os.path.join(self.root, "suspect")

    @property
    def seal(self) -> str:
        """Checksums of the database's pages, while nobody writes."""
        return os.path.join(self.root, "kebab.seal")

    @property
    def live(self) -> str:
        """What the process that keeps the index in step tells of itself."""
        return os.path.join(self.root, "live.json")

    def database_bytes(self) -> int:
        """The database with the part of it that is still in the log."""
        files = (self.database, self.database + "-wal")
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))


# The writer's lock: at most one process writes to an index.
#
# An operating-system lock on a file, so a killed holder frees it by dying. The file also
# says who holds it; that text is for people and never decides anything. Who waits leaves a
# request meanwhile, at which a holder that only keeps watch gives way.

_MOST_BYTES = 65_536
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_POLL_S = 0.05
_SILENT_S = 1.0
"""A wait shorter than this is not worth a word: a holder that keeps watch gives way in less."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock, as the holder itself wrote it down."""

    pid: int
    command: str
    since: float

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"pid {self.pid} ({self.command}, since {clock})"


class WriterLock:
    """Acquire and release; works on the bare descriptor, because a buffer fails again on a full disk."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(
        self,
        command: str,
        timeout_s: float,
        waiting: Callable[[Holder | None], None],
        *,
        makes_folder: bool = True,
    ) -> bool:
        """Take the lock, waiting up to `timeout_s`; `waiting` is told once, with the holder.

        True when the last holder went without letting go: it was killed. Raises NotIndexedError
        when the data folder is gone and is not to be made anew.
        """
        descriptor = self._open(makes_folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StoreReadOnlyError(f"{self._path} is not a regular file", "remove it, and try again")
            self._wait(descriptor, timeout_s, waiting)
            os.lseek(descriptor, 0, os.SEEK_SET)
            unclean = bool(os.read(descriptor, 1))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        own_files.tighten(os.path.dirname(self._path), is_ours)
        self._sign(descriptor, command)
        return unclean

    def release(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            # Where that fails, the next writer takes this one for killed, and looks at every page.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def is_in_place(self) -> bool:
        """Whether it is still this lock that others meet: the data folder may have been taken away."""
        try:
            return self._descriptor is not None and os.path.samestat(
                os.fstat(self._descriptor), os.stat(self._path)
            )
        except FileNotFoundError:
            return False
        except OSError:
            return True  # not for us to see just now

    def holder(self) -> Holder | None:
        """Who says to hold the lock; None when nobody does."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | _NOFOLLOW)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            if self._descriptor is None and try_lock(descriptor):
                return None
            os.lseek(descriptor, 0, os.SEEK_SET)
            facts = json.loads(os.read(descriptor, _MOST_BYTES) or "null")
            holder = Holder(int(facts["pid"]), str(facts["command"]), float(facts["since"]))
            str(holder)  # the time may be none that a calendar knows
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None
        finally:
            os.close(descriptor)
        return holder

    def is_held(self) -> bool:
        """Whether any process holds the lock now."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | _NOFOLLOW)
        except OSError:
            return False
        try:
            return not try_lock(descriptor)
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int, timeout_s: float, waiting: Callable[[Holder | None], None]) -> None:
        if try_lock(descriptor):
            return
        if timeout_s <= 0:
            raise self._busy()
        with RequestFolder(os.path.dirname(self._path)).wanting():
            self._wait_asking(descriptor, timeout_s, waiting)

    def _wait_asking(
        self, descriptor: int, timeout_s: float, waiting: Callable[[Holder | None], None]
    ) -> None:
        began = time.monotonic()
        told = False
        while not try_lock(descriptor):
            waited = time.monotonic() - began
            if not told and waited >= min(_SILENT_S, timeout_s / 2):
                waiting(self.holder())
                told = True
            elif waited >= timeout_s:
                raise self._busy()
            else:
                time.sleep(min(_POLL_S, timeout_s / 4))

    def _busy(self) -> StoreBusyError:
        who = self.holder() or "another process"
        return StoreBusyError(
            f"the index is being written by {who}",
            "wait for it to end, or stop it; searching works meanwhile",
        )

    def _open(self, makes_folder: bool) -> int:
        try:
            if makes_folder:
                own_files.make_folder(os.path.dirname(self._path))
            if os.path.islink(self._path):
                os.unlink(self._path)
            return os.open(self._path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        except OSError as error:
            if error.errno == errno.ENOENT and not makes_folder:
                raise NotIndexedError(f"there is no data folder {os.path.dirname(self._path)}") from error
            raise write_error(error, self._path) from error

    def _sign(self, descriptor: int, command: str) -> None:
        facts = json.dumps({"pid": os.getpid(), "command": command, "since": time.time()}).encode()
        # A full disk must not stop a writer that may be about to free space.
        with contextlib.suppress(OSError):
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, facts)
            os.ftruncate(descriptor, len(facts))
