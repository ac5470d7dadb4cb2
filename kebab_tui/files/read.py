"""Reads a file of a source: its bytes, fingerprint and hash, all of the same moment; or only its head.

Opens each folder on the path without following symbolic links, so a path cannot leave the
root even if folders are replaced during the read. Never blocks on a pipe or a device, never
reads more than the limit, never decodes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass

from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.domain.errors import SourceError, UnreadableFileError
from kebab_tui.files.tree_root import is_tree
from kebab_tui.formats.decode import ReadLimits

_ATTEMPTS = 3
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class VanishedFileError(UnreadableFileError):
    """The file existed when it was listed."""

    code = "file_vanished"


@dataclass(frozen=True, slots=True)
class FileContent:
    """`fingerprint` is never newer than `data`, so that a missed write shows as a change."""

    data: bytes
    fingerprint: Fingerprint
    content_hash: str
    """sha256 of `data`, in hex."""


def read_file(root: str, path: str, limits: ReadLimits) -> FileContent:
    """Read `path`, relative to `root`; read again if it changes meanwhile."""
    if is_tree(root):
        return _read_committed(root, path, limits)
    for _ in range(_ATTEMPTS):
        try:
            descriptor = _open_inside(root, path)
        except OSError as error:
            raise _unreadable(error) from error
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableFileError("not a regular file")
            limits.check(before.st_size)
            data = _read_at_most(descriptor, limits.max_bytes + 1, before.st_size + 1)
            limits.check(len(data))
            fingerprint, after = fingerprint_of(before), fingerprint_of(os.fstat(descriptor))
        except OSError as error:
            raise _unreadable(error) from error
        finally:
            os.close(descriptor)
        if fingerprint == after:
            break
    return FileContent(data, fingerprint, hashlib.sha256(data).hexdigest())


def read_head(root: str, path: str, most: int) -> bytes:
    """Read at most the first `most` bytes of `path`, relative to `root`."""
    if is_tree(root):
        return _read_committed(root, path, ReadLimits()).data[:most]
    try:
        descriptor = _open_inside(root, path)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFileError("not a regular file")
            return _read_at_most(descriptor, most, most)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unreadable(error) from error


def exists(root: str, path: str) -> bool:
    """Whether there is an entry at `path`, or may be one that cannot be seen."""
    if is_tree(root):
        from kebab_tui.files.git_tree import tree_at

        return tree_at(root).exists(path)
    try:
        os.lstat(f"{root}/{path}")
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ENOTDIR)
    return True


def _read_committed(root: str, path: str, limits: ReadLimits) -> FileContent:
    """Read a file of a version; it never changes. Imports git's module only for one."""
    from kebab_tui.files.git_tree import tree_at

    try:
        data, fingerprint = tree_at(root).read(path, limits.max_bytes + 1)
    except SourceError as error:
        raise UnreadableFileError(error.message, error.hint) from error
    limits.check(fingerprint.size)
    return FileContent(data, fingerprint, hashlib.sha256(data).hexdigest())


def _open_inside(root: str, path: str) -> int:
    """Open a file from the root down, one folder at a time."""
    *folders, name = path.split("/")
    if "\0" in path or any(step in ("", ".", "..") for step in (*folders, name)):
        raise UnreadableFileError("outside the folder")
    parent = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=parent)
            os.close(parent)
            parent = below
        return os.open(name, _FILE, dir_fd=parent)
    finally:
        os.close(parent)


def _read_at_most(descriptor: int, limit: int, expected: int) -> bytes:
    pieces = []
    while limit > 0 and (piece := os.read(descriptor, min(limit, expected))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _unreadable(error: OSError) -> UnreadableFileError:
    match error.errno:
        case errno.ENOENT:
            return VanishedFileError("the file is no longer there")
        case errno.EACCES | errno.EPERM:
            return UnreadableFileError("permission denied", "make the file readable for your user")
        case errno.ELOOP:
            return UnreadableFileError("a symbolic link", "links are not followed; add the target instead")
        case errno.ENOTDIR:
            return VanishedFileError("its folder is no longer there, or is a symbolic link")
        case errno.ENXIO:
            return UnreadableFileError("not a regular file")
    return UnreadableFileError(f"cannot be read: {error.strerror}")
