"""Writes the files of the data folder: for their owner only, and never through a symbolic link.

A file is replaced as a whole or not at all. A link that stands in its place is replaced
itself; the data folder may be one, and so may every folder above it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

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
