"""Compares a file with its indexed fingerprint. Every search imports this module, so it imports little."""

from __future__ import annotations

import os

from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.files.tree_root import is_tree
from kebab_tui.search.ports import FileState


def file_state(root: str, raw_path: bytes, indexed: Fingerprint) -> FileState:
    """Compare a file with the stamp stored at indexing, by one `stat`. A version never changes."""
    if is_tree(root):
        return "same"
    try:
        status = os.stat(os.path.join(os.fsencode(root), raw_path), follow_symlinks=False)
    except OSError:
        return "gone"
    return "same" if fingerprint_of(status) == indexed else "changed"


def shared_file_state(root: str, raw_path: bytes, indexed: Fingerprint) -> FileState:
    """Compare a file with the note of an index that another machine made.

    Times and inodes differ between machines. A folder or file that is not here says nothing about the note.
    """
    try:
        status = os.stat(os.path.join(os.fsencode(root), raw_path), follow_symlinks=False)
    except OSError:
        return "same"
    return "same" if status.st_size == indexed.size else "changed"
