"""Documents, their chunks and their sources, and the version of the rules that make chunks of notes.

The version is here, not beside the rules, because every search compares it and must not load the chunker.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Protocol

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.facets import NAME, PAGES, Facet, values_of
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.names import name_of

DocumentType = str
"""One of `formats.registry.document_types`."""
Language = Literal["ko", "en", "und"]
DocumentState = Literal["ok", "failed", "skipped"]
DocumentFlag = Literal[
    "bad_front_matter",
    "lossy_decoding",
    "values_left_out",
    "private",
    "private_by_rule",
    "pages_without_text",
]
"""`private`: its front matter says so; `private_by_rule`: a `.kebabprivate` does."""

LANGUAGES: tuple[Language, ...] = ("ko", "en", "und")


class Trust(IntEnum):
    """How far a note is trusted; ordered, so that a filter can set a minimum."""

    GENERATED = 1
    SECONDARY = 2
    PRIMARY = 3

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Trust | None:
        return cls.__members__.get(text.strip().upper())


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """File facts from `stat`; equal fingerprints mean that the file was not written to."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class FileStatus(Protocol):
    """The part of `os.stat_result` that a fingerprint needs."""

    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...
    @property
    def st_ino(self) -> int: ...


def fingerprint_of(status: os.stat_result | FileStatus) -> Fingerprint:
    """The fingerprint in signed 64-bit numbers, as SQLite stores them.

    Some file systems have times after 2262 and inode numbers from 2**63 on. A time is clamped;
    an inode number wraps, so that two files keep two numbers.
    """
    least, most = -(2**63), 2**63 - 1
    size, mtime_ns, ctime_ns, inode = status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    if not least <= min(mtime_ns, ctime_ns) <= max(mtime_ns, ctime_ns) <= most:
        mtime_ns, ctime_ns = (max(least, min(value, most)) for value in (mtime_ns, ctime_ns))
    if inode > most:
        inode = (inode - least) % 2**64 + least
    return Fingerprint(min(size, most), mtime_ns, ctime_ns, inode)


@dataclass(frozen=True, slots=True)
class Document:
    """An indexed note. `path` is relative to its source, POSIX, NFC, for display;
    `raw_path` is the same path in the bytes of the file system."""

    doc_id: DocId
    source: SourceId
    path: str
    raw_path: bytes
    title: str
    type: DocumentType
    lang: Language
    trust: Trust
    fingerprint: Fingerprint
    content_hash: str
    state: DocumentState = "ok"
    reason: str = ""
    facets: tuple[Facet, ...] = ()
    flags: tuple[DocumentFlag, ...] = ()
    chunks: int = 0
    indexed_ns: int = 0
    dated: str = ""
    """The day that it states itself, as 2026-03-08; empty if none: then the time of its file counts."""
    dated_by: str = ""
    """Where: `updated`, `date` or `created` of front matter, or its `name`."""
    counts: tuple[tuple[str, int], ...] = ()
    """The number of its values of each kind that `facets` lacks, because a note may have thousands."""

    @property
    def is_private(self) -> bool:
        """Whether it was private when it was read."""
        return "private" in self.flags or "private_by_rule" in self.flags

    @property
    def name(self) -> str:
        return next(iter(values_of(self.facets, NAME.id)), "") or name_of(self.path)

    @property
    def beginning(self) -> SourceSpan:
        """Its first line or page."""
        return SourceSpan(1, 1, page=1 if values_of(self.facets, PAGES.id) else None)


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """A file as read, before it has an id: its facts and its blocks of lines.

    `title`: the one that it states; empty if none. `indexed_title`: the one that ranking and the model read.
    """

    title: str
    type: DocumentType
    lang: Language
    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    indexed_title: str = ""
    trust: Trust | None = None
    facets: tuple[Facet, ...] = ()
    flags: tuple[DocumentFlag, ...] = ()
    dated: str = ""
    """The day that it states, as 2026-03-08; empty if none."""
    dated_by: str = ""
    """The key of front matter that states the day."""
    pages: tuple[int, ...] = ()
    """For a document with pages: the line where each begins; no block crosses a page."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page as extracted; `label` is how the document numbers the page, perhaps `iv`."""

    number: int
    count: int
    label: str
    lines: tuple[str, ...]


BlockKind = Literal["heading", "prose", "code", "table", "comment"]


@dataclass(frozen=True, slots=True)
class Block:
    """Adjacent lines `first..last` (1-based, inclusive) that belong together.

    `level` is 1-6 for a heading and 0 otherwise; `text` is a heading's plain text.
    A heading may have no lines (`last` is `first - 1`): the name of the code that follows.
    No block begins or ends with a blank line.
    """

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    text: str = field(default="")


ChunkKind = Literal["info", "code"]
CHUNK_KINDS: tuple[ChunkKind, ...] = ("info", "code")
HEADING_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the chunker makes it, before it has an id.

    `text` is the lines of `span`, joined by newlines, or part of a line that exceeds the cap.
    """

    kind: ChunkKind
    heading_path: str
    text: str
    span: SourceSpan


@dataclass(frozen=True, slots=True)
class Chunk:
    """An indexed passage of a note: the unit of searching and citing."""

    row: ChunkRow
    chunk_id: ChunkId
    doc_id: DocId
    ordinal: int
    kind: ChunkKind
    heading_path: str
    text: str
    span: SourceSpan


SourceState = Literal["new", "indexed", "paused"]
SourceUse = Literal["watched", "paused", "removed"]
MOST_STARS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of notes that the user added.

    `root` is its absolute path; include and exclude are gitignore-style globs relative to it.
    The state `paused`: the root is missing; its documents stay in the index.
    """

    source_id: SourceId
    title: str
    root: str
    description: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    trust: Trust = Trust.PRIMARY
    rules: tuple[str, ...] = ()
    version_label: str = ""
    weight: float = 1.0
    """Deprecated: nothing reads it."""
    stars: int = 0
    """As given by the user, such as those of the project on a forge."""
    code: bool = False
    """Read files of code too."""
    use: SourceUse = "watched"
    """`paused`: searched, but its files are not looked at. `removed`: not searched; deleted once no program
    can undo that any more."""
    state: SourceState = "new"
    documents: int = 0
    chunks: int = 0

    @property
    def condition(self) -> str:
        """Its use and state in one word for people: new, indexed, paused or missing."""
        return "paused" if self.use == "paused" else "missing" if self.state == "paused" else self.state


_KEPT_TYPES = 20
_SHOWN_TYPES = 5


@dataclass(frozen=True, slots=True)
class OtherFiles:
    """The files of types that no format reads.

    Does not count hidden and ignored files.
    """

    count: int = 0
    types: tuple[tuple[str, int], ...] = ()
    """The most frequent extensions, in lower case and without the dot; empty for files that have none."""

    @classmethod
    def of(cls, count: int, types: Mapping[str, int]) -> OtherFiles:
        ordered = sorted(types.items(), key=lambda one: (-one[1], one[0]))
        return cls(count, tuple(ordered[:_KEPT_TYPES]))

    @classmethod
    def total(cls, counted: Iterable[OtherFiles]) -> OtherFiles:
        """The sum; a type that is rare in a folder may lack its files there."""
        count, types = 0, Counter[str]()
        for one in counted:
            count += one.count
            types.update(dict(one.types))
        return cls.of(count, types)

    def __str__(self) -> str:
        """`12 other files not read: pdf 5, docx 3, no extension 1, …`."""
        shown = [f"{name or 'no extension'} {files:,}" for name, files in self.types[:_SHOWN_TYPES]]
        if sum(files for _, files in self.types[:_SHOWN_TYPES]) < self.count:
            shown.append("…")
        noun = "file" if self.count == 1 else "files"
        return f"{self.count:,} other {noun} not read" + (f": {', '.join(shown)}" if shown else "")


CHUNKER_VERSION = "2"
"""Part of every chunk id: raise it when the same note gives other chunks."""


def chunker(target: int, cap: int) -> str:
    """The chunker version with its settings, as in chunk ids and responses."""
    return f"{CHUNKER_VERSION}:{target}-{cap}"


def chunker_of(made_by: str) -> str:
    """The chunker in the `<format>@<version>/<chunker>` of a document."""
    return made_by.partition("/")[2]
