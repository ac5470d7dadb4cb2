"""Reads one file of a folder: its bytes, its fingerprint and its hash, all of one moment.

Opens every folder on the way without following a symbolic link, so nothing outside
the root can be reached, also while somebody is swapping folders. Never blocks on a
pipe or a device, never reads more than the limit, never decodes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass

from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.formats.decode import ReadLimits

_ATTEMPTS = 3
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class VanishedFileError(UnreadableFileError):
    """The file was there a moment ago."""

    code = "file_vanished"


@dataclass(frozen=True, slots=True)
class FileContent:
    """`fingerprint` is never younger than `data`: a write that was missed shows as a difference."""

    data: bytes
    fingerprint: Fingerprint
    content_hash: str
    """sha256 of `data`, in hex."""


def read_file(root: str, path: str, limits: ReadLimits) -> FileContent:
    """Read `path`, relative to `root`, as it stands between two writes."""
    for _ in range(_ATTEMPTS):
        data, before, after = _read_once(root, path, limits)
        if before == after:
            break
    return FileContent(data, before, hashlib.sha256(data).hexdigest())


def _read_once(root: str, path: str, limits: ReadLimits) -> tuple[bytes, Fingerprint, Fingerprint]:
    try:
        descriptor = _open_inside(root, path)
    except OSError as error:
        raise _refusal(error) from error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableFileError("not a regular file")
        limits.check(before.st_size)
        data = _read_at_most(descriptor, limits.max_bytes + 1, before.st_size + 1)
        limits.check(len(data))
        return data, fingerprint_of(before), fingerprint_of(os.fstat(descriptor))
    except OSError as error:
        raise _refusal(error) from error
    finally:
        os.close(descriptor)


def _open_inside(root: str, path: str) -> int:
    """Open a file by walking down from the root, one folder at a time."""
    *folders, name = _steps(path)
    place = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=place)
            os.close(place)
            place = below
        return os.open(name, _FILE, dir_fd=place)
    finally:
        os.close(place)


def _steps(path: str) -> list[str]:
    steps = path.split("/")
    if "\0" in path or any(step in ("", ".", "..") for step in steps):
        raise UnreadableFileError("outside the folder of notes")
    return steps


def _read_at_most(descriptor: int, limit: int, expected: int) -> bytes:
    pieces = []
    while limit > 0 and (piece := os.read(descriptor, min(limit, expected))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _refusal(error: OSError) -> UnreadableFileError:
    match error.errno:
        case errno.ENOENT:
            return VanishedFileError("the file is no longer there")
        case errno.EACCES | errno.EPERM:
            return UnreadableFileError("permission denied", "Make the file readable for yourself.")
        case errno.ELOOP:
            return UnreadableFileError("a symbolic link", "Links are not followed; add their target instead.")
        case errno.ENOTDIR:
            return VanishedFileError("its folder is no longer there, or is a symbolic link")
        case errno.ENXIO:
            return UnreadableFileError("not a regular file")
    return UnreadableFileError(f"cannot be read: {error.strerror}")
