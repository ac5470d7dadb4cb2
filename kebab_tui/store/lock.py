"""The writer's lock: at most one process writes to an index.

An operating-system lock on a file, so a killed holder frees it by dying. The file also
says who holds it; that text is for people and never decides anything.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from kebab_tui.domain.errors import StoreBusyError, StoreReadOnlyError

_POLL_S = 0.05


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
    """Hold with `with lock.held(...)`, or acquire and release."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self, command: str, timeout_s: float, waiting: Callable[[Holder | None], None]) -> bool:
        """Take the lock, waiting up to `timeout_s`; `waiting` is told once, with the holder.

        True when the last holder went without letting go: it was killed.
        """
        handle = self._open()
        deadline = time.monotonic() + timeout_s
        told = False
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                handle.close()
                who = self.holder() or "another process"
                raise StoreBusyError(
                    f"the index is being written by {who}",
                    "wait for it to end, or stop it; searching works meanwhile",
                )
            if not told:
                waiting(self.holder())
                told = True
            time.sleep(_POLL_S)
        self._file = handle
        unclean = bool(handle.read(1))
        self._sign(command)
        return unclean

    def release(self) -> None:
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
            self._file.close()
            self._file = None

    def holder(self) -> Holder | None:
        """Who says to hold the lock; None when nobody does."""
        if self._file is None and not self.is_held():
            return None
        try:
            with open(self._path, encoding="utf-8") as handle:
                facts = json.loads(handle.read() or "null")
            return Holder(int(facts["pid"]), str(facts["command"]), float(facts["since"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def is_held(self) -> bool:
        """Whether any process holds the lock now."""
        if self._file is not None:
            return True
        try:
            handle = open(self._path, "r+", encoding="utf-8")  # noqa: SIM115 - closed below, once opened
        except OSError:
            return False
        with handle:
            return not _try_lock(handle)

    def _open(self) -> IO[str]:
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreReadOnlyError(
                f"cannot write to the data folder {os.path.dirname(self._path)}: {error.strerror}",
                "make it writable, or choose another with --data-dir; searching still works",
            ) from error
        return os.fdopen(descriptor, "r+", encoding="utf-8")

    def _sign(self, command: str) -> None:
        assert self._file is not None
        facts = {"pid": os.getpid(), "command": command, "since": time.time()}
        try:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(json.dumps(facts))
            self._file.flush()
        except OSError:
            # A full disk must not stop a writer that may be about to free space.
            pass


def _try_lock(handle: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(handle: IO[str]) -> bool:
    import msvcrt

    try:
        handle.seek(1 << 20)  # far behind the text, so that others can still read who holds it
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True
