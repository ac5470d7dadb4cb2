"""Read-only copies of files of versions, for programs that open a path: the preview, editors, viewers.

They are in a folder of their own that only the user can read, one folder each, under the file's own name.
Old ones are removed when another is made: an editor may still need one after this process has ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time

from kebab_tui import own_files
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.files.read import read_file
from kebab_tui.files.tree_root import is_tree
from kebab_tui.formats.decode import ReadLimits

_LIMITS = ReadLimits(256 << 20)
_KEPT_SECONDS = 24 * 3600
_LONGEST_NAME = 120
"""Bytes; the ending is kept, because programs choose the syntax by it."""


def file_at(root: str, raw_path: bytes, copies: str, *, as_copy: bool = False) -> str:
    """The path of a file; of a file of a commit, that of a copy in `copies`. Raises UnreadableFileError.

    `as_copy`: make a copy of a file of a folder, too.
    """
    path = os.fsdecode(raw_path)
    if not is_tree(root) and not as_copy:
        return os.path.join(root, path)
    key = hashlib.sha256(os.fsencode(root) + b"\0" + raw_path).hexdigest()[:16]
    folder = os.path.join(copies, key)
    copy = os.path.join(folder, _safe_name(path))
    try:
        with contextlib.suppress(FileNotFoundError):
            os.utime(folder)
            if is_tree(root) and os.path.isfile(copy) and not os.path.islink(copy):
                return copy
        data = read_file(root, path, _LIMITS).data
        own_files.make_folder(copies)
        _remove_old(copies)
        own_files.make_folder(folder)
        own_files.replace(copy, data, synced=False, mode=0o400)
    except OSError as error:
        raise UnreadableFileError(f"cannot make a copy of {path}: {error.strerror}") from error
    return copy


def _safe_name(path: str) -> str:
    name = os.fsencode(path.rpartition("/")[2])
    stem, dot, ending = name.rpartition(b".")
    if len(name) > _LONGEST_NAME:
        name = (stem[:80] + dot + ending)[:_LONGEST_NAME]
    return os.fsdecode(name)


def _remove_old(copies: str) -> None:
    before = time.time() - _KEPT_SECONDS
    with contextlib.suppress(OSError), os.scandir(copies) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    shutil.rmtree(entry.path, ignore_errors=True)
