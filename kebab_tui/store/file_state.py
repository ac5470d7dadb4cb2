"""Compares a file on disk with the stamp it was indexed under. One stat, no reading."""

from __future__ import annotations

import os

from kebab_tui.domain.document import Fingerprint, fingerprint_of
from kebab_tui.search.ports import FileState


def file_state(root: str, raw_path: bytes, indexed: Fingerprint) -> FileState:
    """Whether the file is still the one that was indexed."""
    try:
        status = os.stat(os.path.join(os.fsencode(root), raw_path), follow_symlinks=False)
    except OSError:
        return "gone"
    return "same" if fingerprint_of(status) == indexed else "changed"
