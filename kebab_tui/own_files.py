"""Reads, writes and locks the files of the data folder.

A write replaces a file as a whole or not at all, gives it to its owner only, and never goes
through a symbolic link in its place; the data folder and the folders above it may be links. A
read trusts nothing: a link, a pipe, a device or a file that is too large is an OSError.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Callable
from typing import Any

REQUESTS = "requests"
"""The folder in the data folder with requests to the indexing process."""
_BINARY = getattr(os, "O_BINARY", 0)
_NEW = _BINARY | os.O_CREAT | os.O_EXCL
"""`O_EXCL` follows no link."""
_READ = _BINARY | os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COARSEST_S = 2.5
"""The longest tick of a file system's clock; two changes within one tick have the same stamp."""

Stamp = tuple[int, int, int]


def make_folder(path: str) -> None:
    """Create a folder and its parents unless they exist."""
    os.makedirs(path, mode=0o700, exist_ok=True)


def create(path: str, access: int = os.O_WRONLY, mode: int = 0o600) -> int:
    """Open a new, empty file; removes a file or link of that name first."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, access | _NEW, mode)


def replace(path: str, *parts: bytes | memoryview, synced: bool = True, mode: int = 0o600) -> None:
    """Replace the file as a whole; on OSError it keeps its old content.

    `synced`: flush to disk before the rename, so that a power cut cannot leave a torn file.
    """
    scratch = f"{path}.new"
    descriptor = create(scratch, mode=mode)
    try:
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[os.write(descriptor, left) :]
        if synced:
            os.fsync(descriptor)
        if not os.path.samestat(os.fstat(descriptor), os.lstat(scratch)):
            raise FileExistsError(f"another process is writing {path}")
        if os.name == "nt":
            os.close(descriptor)  # Windows cannot rename an open file
            descriptor = -1
        os.replace(scratch, path)
    except FileExistsError:
        raise  # the scratch file belongs to the other process
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    if synced:
        # Some systems cannot open a folder; there the rename becomes durable a little later.
        with contextlib.suppress(OSError):
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def open_regular(path: str, *, follow: bool = False) -> int:
    """Open a regular file for reading; `follow` allows a symbolic link."""
    try:
        descriptor = os.open(path, _READ if follow else _READ | _NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symbolic link", path) from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: str, most: int) -> bytes:
    """The content of a file of at most `most` bytes."""
    with open(open_regular(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", path)
    return data


def read_json(path: str, most: int) -> Any:
    """The parsed content; ValueError for invalid or too deeply nested JSON."""
    try:
        return json.loads(read(path, most))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error


def restrict_access(folder: str, is_ours: Callable[[str], bool]) -> None:
    """Remove the permissions of group and others from our files, which a copy or an old version may have set.

    Leaves the folder itself alone if it contains other files too. Ignores file systems without
    permissions.
    """
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        for name in filter(is_ours, names):
            _restrict_tree(os.path.join(folder, name))
        if all(map(is_ours, names)):
            _restrict(folder, os.stat(folder))


def _restrict_tree(path: str) -> None:
    with contextlib.suppress(OSError):  # removed meanwhile
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            _restrict(path, status)
        if stat.S_ISDIR(status.st_mode):
            for name in os.listdir(path):
                _restrict_tree(os.path.join(path, name))


def _restrict(path: str, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        with contextlib.suppress(OSError):
            # By name: closing a descriptor of the database would drop SQLite's locks on it.
            os.chmod(path, mode & 0o700)


def try_lock(descriptor: int) -> bool:
    """Lock an open file unless another process holds the lock; closing the descriptor, or death, frees it."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt

    try:
        # Locks a byte far behind the text, so that others can still read the text.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # only on Windows
    except OSError:
        return False
    return True


class ChangeCheck:
    """Detects by `stat` alone whether files may have changed since the last call."""

    def __init__(self, *paths: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._stamps: list[Stamp] | None = None
        self._first_seen = 0.0
        self._sure = False

    def may_have_changed(self) -> bool:
        """True at the first call, after a change, and until a clock tick has passed since that change."""
        stamps, now = [stamp_of(path) for path in self._paths], self._clock()
        if stamps != self._stamps:
            self._stamps, self._first_seen, self._sure = stamps, now, False
            return True
        was_sure, self._sure = self._sure, now - self._first_seen >= _COARSEST_S
        return not was_sure


def stamp_of(path: str) -> Stamp:
    """Inode, size and time of the last change; zeros if there is no such file."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns
