"""Registry of file formats: maps file names to readers.

A new format is one module with a function `parse(data, path, checkpoint) -> ParsedNote` and one line in
`FORMATS`. `parse` raises UnreadableFileError, and calls the checkpoint at every block. The parser of an
isolated format runs in a child process (`formats.isolated`). A search imports this module but no reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from kebab_tui.domain.checkpoint import Checkpoint
from kebab_tui.domain.document import DocumentType, PageText, ParsedNote
from kebab_tui.formats import code_languages


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
    """CPU time limit for a small file."""
    max_bytes: int | None = None
    """Larger files are skipped; None: the limit in the settings."""
    names: tuple[str, ...] = ()
    """Names of files without an extension."""
    opt_in: bool = False
    """Read only where the user asks for it: its files are many, and would bury the notes."""
    isolated: bool = False
    """Parsed in a child process with limits, because a foreign library reads untrusted bytes."""
    paged: bool = False
    """Cited and shown by page, with `page(data, path, number, checkpoint) -> PageText` of the module, and
    opened in a viewer at that page; others by lines, in an editor. Only for isolated formats."""

    def parse(self, data: bytes, path: str, checkpoint: Checkpoint) -> ParsedNote:
        if not self.isolated:
            note: ParsedNote = import_module(self.module).parse(data, path, checkpoint)
            return note
        from kebab_tui.formats import isolated  # starts processes: only where such a file is read

        seconds = min(checkpoint.seconds, self.seconds(len(data)))
        return isolated.read(self.module, "parse", ParsedNote, data, path, seconds, checkpoint)

    def page(self, data: bytes, path: str, number: int, checkpoint: Checkpoint) -> PageText:
        """One page of a document with pages; the last one for a larger number."""
        from kebab_tui.formats import isolated

        seconds = min(checkpoint.seconds, self.seconds(len(data)))
        return isolated.read(self.module, "page", PageText, data, path, seconds, checkpoint, number)

    def seconds(self, size: int) -> float:
        """CPU time limit for parsing and chunking a file of so many bytes: one second more a megabyte."""
        return self.cpu_seconds + size / 2**20


_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
FORMATS: dict[str, Format] = {
    known.id: known
    for known in (
        Format("markdown", _MARKDOWN, "kebab_tui.formats.markdown", version=3),
        Format("note", (".txt", ".text"), "kebab_tui.formats.plain_text", version=3),
        Format(
            "pdf",
            (".pdf",),
            "kebab_tui.formats.pdf",
            version=1,
            cpu_seconds=20,
            max_bytes=64 * 2**20,
            isolated=True,
            paged=True,
        ),
        # Its parser runs only the grammars in a child, and goes on without them if that fails.
        Format(
            "code",
            code_languages.EXTENSIONS,
            "kebab_tui.formats.code",
            version=1,
            cpu_seconds=2,
            max_bytes=2**20,
            names=code_languages.NAMES,
            opt_in=True,
        ),
    )
}

OPT_IN = frozenset(known.id for known in FORMATS.values() if known.opt_in)
"""The formats that are off by default."""


def format_of(name: str) -> Format | None:
    """Look up the format by the extension, in any case; a name such as `.md` has no extension."""
    dot = name.rfind(".")
    extension = name[dot:].lower() if dot > 0 else ""
    for known in FORMATS.values():
        if extension in known.extensions or name in known.names:
            return known
    return None


def extensions() -> tuple[str, ...]:
    """The ends of the names of all files that are read without being asked for."""
    return tuple(
        extension for known in FORMATS.values() if not known.opt_in for extension in known.extensions
    )


def document_types() -> tuple[DocumentType, ...]:
    """The types that a document can have, for filters and completions."""
    return tuple(FORMATS)


def made_by(chunker: str) -> Mapping[str, str]:
    """For each format: what a document made by its present version and this chunker is marked with."""
    return {known.id: f"{known.id}@{known.version}/{chunker}" for known in FORMATS.values()}


def all_made_by(chunker: str) -> str:
    """The mark of an index whose documents are all made by the present versions."""
    return "+".join(sorted(f"{known.id}@{known.version}" for known in FORMATS.values())) + f"/{chunker}"


def upgrade_of(makers: Mapping[str, int], chunker: str) -> tuple[int, int] | None:
    """How many documents the present versions have read, and of how many; None if all.

    `makers`: the number of documents by their mark.
    """
    done, total = sum(makers.get(maker, 0) for maker in made_by(chunker).values()), sum(makers.values())
    return (done, total) if done < total else None
