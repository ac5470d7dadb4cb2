"""The one table of what is read: which file names become notes, and by which parser.

A new kind of file is one new module with a `parse` function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import DocumentType, ParsedNote
from kebab_tui.reading import markdown_note, plain_note
from kebab_tui.reading.limits import MEGABYTE, ReadLimits

CPU_SECONDS_A_MEGABYTE = 1.0

Parse = Callable[[bytes, str, ReadLimits, Checkpoint], ParsedNote]
"""The bytes of a file, its path within the source, the limits, and what to call in every long loop;
raises UnreadableFileError."""


@dataclass(frozen=True, slots=True)
class FileType:
    type: DocumentType
    extensions: tuple[str, ...]
    parse: Parse
    cpu_seconds: float = 5.0
    """What reading and cutting a small file may take, in CPU time."""

    def cpu_budget(self, size: int) -> float:
        return self.cpu_seconds + size / MEGABYTE * CPU_SECONDS_A_MEGABYTE


FILE_TYPES: tuple[FileType, ...] = (
    FileType("markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx"), markdown_note.parse),
    FileType("note", (".txt", ".text"), plain_note.parse),
)

_BY_EXTENSION = {extension: kind for kind in FILE_TYPES for extension in kind.extensions}


def file_type_of(name: str) -> FileType | None:
    """Look a file up by the end of its name, in any case; a name that is only an ending has none."""
    dot = name.rfind(".")
    return _BY_EXTENSION.get(name[dot:].lower()) if dot > 0 else None
