"""Which model was chosen, written down beside the database: an index that is lost is made anew for it.

The database decides as long as it says anything. Without this copy, notes that were read
by a model of one's own would come back with the bundled one, and nobody would be told.
"""

from __future__ import annotations

import contextlib
import os

from kebab_tui import own_files

FILE_NAME = "model.txt"
_MOST_BYTES = 4_096


def remembered(folder: str) -> str:
    """The id of the model; empty when none was ever chosen, or the file cannot be read."""
    try:
        lines = own_files.read(os.path.join(folder, FILE_NAME), _MOST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[0].strip() if lines else ""


def remember(folder: str, model: str) -> None:
    """Write it down as a whole or not at all; where that fails, the database still knows it."""
    if remembered(folder) == model:
        return
    with contextlib.suppress(OSError):
        own_files.replace(os.path.join(folder, FILE_NAME), f"{model}\n".encode())
