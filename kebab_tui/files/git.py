"""Whether a folder belongs to a git repository with a remote. Reads its small files; runs no git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kebab_tui import own_files

_REMOTE = re.compile(rb'^[ \t]*\[[ \t]*remote[ \t]+"[^"\n]+"[ \t]*\]', re.MULTILINE | re.IGNORECASE)
_MOST_BYTES = 1 << 20


def has_remote(folder: str) -> bool:
    """Whether the nearest repository around a folder names a remote; an unreadable one does not."""
    for place in _upwards(os.path.realpath(folder)):
        config = _read(_repository(place), "config")
        if config:
            return _REMOTE.search(config) is not None
    return False


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return


def _repository(place: str) -> str:
    """The folder with the settings of a repository; `.git` is a file in a worktree and in a submodule."""
    folder = os.path.join(place, ".git")
    if pointer := _read(place, ".git"):
        folder = os.path.join(place, os.fsdecode(pointer).removeprefix("gitdir:").strip())
    if common := _read(folder, "commondir"):
        folder = os.path.join(folder, os.fsdecode(common).strip())
    return folder


def _read(folder: str, name: str) -> bytes:
    """The content of a small, regular file; empty if it cannot be read."""
    try:
        return own_files.read(os.path.join(folder, name), _MOST_BYTES)
    except (OSError, ValueError):
        return b""
