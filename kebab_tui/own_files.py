"""Writes the files of the data folder: for their owner only, and never through a symbolic link.

A file is replaced as a whole or not at all. A link that stands in its place is replaced
itself; the data folder may be one, and so may every folder above it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable
from typing import Any

_NEW = getattr(os, "O_BINARY", 0) | os.O_CREAT | os.O_EXCL
"""`O_EXCL` follows no link."""


def make_folder(path: str) -> None:
    """Make a folder, and those above it, where there is none."""
    os.makedirs(path, mode=0o700, exist_ok=True)


def create(path: str, access: int = os.O_WRONLY) -> int:
    """A descriptor of a new, empty file in place of whatever file or link is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, access | _NEW, 0o600)


def replace(path: str, *parts: bytes | memoryview, synced: bool = True) -> None:
    """Replace the file as a whole; OSError leaves it as it was.

    `synced`: on the disk before it takes the place, so that no power cut leaves half of it.
    """
    scratch = f"{path}.new"
    descriptor = create(scratch)
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
            os.close(descriptor)  # an open file cannot be renamed there
            descriptor = -1
        os.replace(scratch, path)
    except FileExistsError:
        raise  # the other one's is not ours to remove
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    if synced:
        _sync_folder(os.path.dirname(path))


def tighten(folder: str, is_ours: Callable[[str], bool]) -> None:
    """Take from all others what an older version, or a copy, lets them do with what is ours in a folder.

    The folder itself is left as it is where it holds something else too: it may be anybody's.
    A file system without permissions is none of our business.
    """
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        for name in filter(is_ours, names):
            _tighten(os.path.join(folder, name))
        if all(map(is_ours, names)):
            _take_from_others(folder, os.stat(folder))


def _tighten(path: str) -> None:
    with contextlib.suppress(OSError):  # gone meanwhile
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            _take_from_others(path, status)
        elif stat.S_ISDIR(status.st_mode):
            _take_from_others(path, status)
            for name in os.listdir(path):
                _tighten(os.path.join(path, name))


def _take_from_others(path: str, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        with contextlib.suppress(OSError):
            # By name: closing a descriptor of the database would drop the locks that SQLite has on it.
            os.chmod(path, mode & 0o700)


def _sync_folder(folder: str) -> None:
    # Not every system opens a folder; there the rename is durable a little later.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# Reads files that the program itself has written, and does not trust them.
#
# Anything may stand in their place: a link is not followed, a pipe is not waited for, a device is
# not read, and neither is a file that is larger than it can be. All of that is an OSError.

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def open_regular(path: str, *, follow: bool = False) -> int:
    """A descriptor to read from; of what a link leads to only if it may `follow` links."""
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | _NOFOLLOW)
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
    """All of a file of `most` bytes or fewer."""
    with open(open_regular(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", path)
    return data


def read_json(path: str, most: int) -> Any:
    """The value that a file holds; ValueError when it is no JSON, or nested too deeply."""
    try:
        return json.loads(read(path, most))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error


# An operating-system lock on an open file: held by one process, freed by its death.


def try_lock(descriptor: int) -> bool:
    """Take the lock if nobody has it; closing the descriptor lets it go."""
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
    import os

    try:
        # Far behind any text, so that others can still read it.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # only on Windows
    except OSError:
        return False
    return True
