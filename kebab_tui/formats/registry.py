"""Registry of file formats: maps file names to readers.

A new format is one module with a function `parse(data, path, checkpoint) -> ParsedNote` and one line in
`FORMATS`. `parse` raises UnreadableFileError, and calls the checkpoint at every block. A search imports
this module but no reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import DocumentType, ParsedNote

CPU_SECONDS_A_MEGABYTE = 1.0


@dataclass(frozen=True, slots=True)
class Format:
    id: DocumentType
    """The type of its documents, unless their front matter states another."""
    extensions: tuple[str, ...]
    module: str
    """The module with its `parse`."""
    version: int
    """Raise it when the same bytes give other facts or blocks: its files are then read again."""
    cpu_seconds: float = 5.0
    """CPU time limit for parsing and chunking a small file."""
    max_bytes: int | None = None
    """Larger files are skipped; None: the limit in the settings."""

    def parse(self, data: bytes, path: str, checkpoint: Checkpoint) -> ParsedNote:
        note: ParsedNote = import_module(self.module).parse(data, path, checkpoint)
        return note


_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
FORMATS: dict[str, Format] = {
    known.id: known
    for known in (
        Format("markdown", _MARKDOWN, "kebab_tui.formats.markdown", version=3),
        Format("note", (".txt", ".text"), "kebab_tui.formats.plain_text", version=3),
    )
}

_STATED_TYPES = ("code", "pdf")
"""Types that front matter may state, though no format here reads such files yet."""


def format_of(name: str) -> Format | None:
    """Look up the format by the extension, in any case; a name such as `.md` has no extension."""
    dot = name.rfind(".")
    if dot > 0:
        extension = name[dot:].lower()
        for known in FORMATS.values():
            if extension in known.extensions:
                return known
    return None


def extensions() -> tuple[str, ...]:
    """The ends of the names of all files that are read."""
    return tuple(extension for known in FORMATS.values() for extension in known.extensions)


def document_types() -> tuple[DocumentType, ...]:
    """The types that a document can have, for filters and completions."""
    return tuple(dict.fromkeys((*FORMATS, *_STATED_TYPES)))


def made_by(chunker: str) -> Mapping[str, str]:
    """For each format: what a document made by its present version and this chunker is marked with."""
    return {known.id: f"{known.id}@{known.version}/{chunker}" for known in FORMATS.values()}


def all_made_by(chunker: str) -> str:
    """The mark of an index whose documents are all made by the present versions."""
    return "+".join(f"{known.id}@{known.version}" for known in FORMATS.values()) + f"/{chunker}"


def upgrade_of(makers: Mapping[str, int], chunker: str) -> tuple[int, int] | None:
    """How many documents the present versions have read, and of how many; None if all.

    `makers`: the number of documents by their mark.
    """
    done, total = sum(makers.get(maker, 0) for maker in made_by(chunker).values()), sum(makers.values())
    return (done, total) if done < total else None
