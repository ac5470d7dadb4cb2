"""The path of a note that does not exist yet, from a typed name.

The path stays inside the source, and every part of it is a valid file name on Linux, macOS and
Windows. Creates nothing: the editor does when the user saves.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass

from kebab_tui.domain.names import EXTENSION, typed_name
from kebab_tui.domain.text import UNSAFE

MOST_BYTES = 200
"""Of a name in UTF-8: file systems allow 255, and editors add endings for their own files."""
_LONGEST_PATH = 3_000
_REFUSED = re.compile(rf'{UNSAFE}|[<>:"\\|?*\t\n]')
"""Characters that a terminal obeys or that Windows does not allow in a name."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""


@dataclass(frozen=True, slots=True)
class NewNote:
    """`root`: the folder of its source; `path`: absolute; `problem`: why it cannot be created, if so."""

    root: str
    path: str
    problem: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def folder(self) -> str:
        """The folder of the note, from the name of the source's folder on."""
        return os.path.relpath(os.path.dirname(self.path), os.path.dirname(self.root))


def new_note(typed: str, root: str, folder: str = "") -> NewNote | None:
    """The note that a typed name, link or path means; None if nothing of the name is left.

    A bare name is in `folder`, a path relative to the folder of the source `root`; `/name` is in the
    source's folder.
    """
    text = typed_name(typed)
    if text.startswith(f"{root}/"):
        text = text[len(root) :]
    *folders, stem = map(clean_name, text.split("/"))
    if not stem:
        return None
    if "/" in text:
        folder = "/".join(filter(None, folders))
    name = stem if EXTENSION.search(stem) else f"{stem}.md"
    parent = os.path.join(root, folder) if folder else root
    path = os.path.join(parent, name)
    problem = ""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        problem = "the path is too long"
    elif os.path.lexists(path):
        problem = "the file exists, but is not indexed"
    elif not os.path.isdir(parent):
        problem = f"there is no folder {folder or root}: create it first"
    elif not f"{os.path.realpath(parent)}/".startswith(f"{os.path.realpath(root).rstrip('/')}/"):
        problem = f"the folder {folder} is a link out of the source"
    return NewNote(root, path, problem)


def name_query(name: str) -> str:
    """The query for the notes of this name."""
    # A quotation mark cannot be written inside quotes: the longest part without one is enough.
    return f'name:"{max(name.split(chr(34)), key=len)}"'


def clean_name(text: str) -> str:
    """A valid file name; empty if nothing is left, as of `..`."""
    text = _REFUSED.sub(" ", unicodedata.normalize("NFC", text))
    text = " ".join(text.split()).lstrip(" .-").rstrip(" .")
    if _RESERVED.fullmatch(text):
        text = f"_{text}"
    cut = text.encode("utf-8", "ignore")[:MOST_BYTES].decode("utf-8", "ignore")
    return cut.rstrip(" .\u200d")
