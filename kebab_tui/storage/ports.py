"""Ports: what the engine needs from a store of the index, as Protocols and values.

`backends.open_index` returns an `Index`. Its `reader` gives consistent snapshots: for search
(`search.ports.Snapshot`), of sources and notes (`Catalogue`), and of the vectors of one model with
their changes (`ChangeFeed`). `Index.write` takes the lease and gives the one writer. No method takes
or returns a list of all chunks that pass a filter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from kebab_tui.search.ports import Corpus
from kebab_tui.vectors.sync import Opened, VectorLog

if TYPE_CHECKING:
    from kebab_tui.domain.change import Applied, Change
    from kebab_tui.domain.document import (
        Chunk,
        Document,
        DocumentFlag,
        DocumentState,
        Fingerprint,
        OtherFiles,
        Source,
        SourceState,
        SourceUse,
    )
    from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
    from kebab_tui.domain.query import SearchFilters
    from kebab_tui.search.ports import VectorIndex

# Reading


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The stored state of one file, which decides whether to read it again."""

    doc_id: DocId
    fingerprint: Fingerprint
    content_hash: str
    made_by: str
    state: DocumentState
    reason: str
    checked_ns: int
    """When the content was last read and compared."""
    flags: tuple[DocumentFlag, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionNote:
    """A note of a version. `home`: the version that it was read from; others share it.

    `blob`: git's id of its content; empty for a version that is a folder.
    """

    doc_id: DocId
    version: SourceId
    blob: str
    raw_path: bytes
    home: SourceId
    content_hash: str
    made_by: str
    state: DocumentState
    flags: tuple[DocumentFlag, ...]


@dataclass(frozen=True, slots=True)
class IndexRun:
    """One past ingest or embedding with its report."""

    kind: str
    started_ns: int
    finished_ns: int
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figures:
    """Size and versions of an index."""

    documents: int
    failed: int
    skipped: int
    chunks: int
    words: int
    corpus_revision: int
    schema_version: int
    lexical_version: str
    fts_signature: str
    made_by: str


class Catalogue(Protocol):
    """The sources, notes and chunks of one moment."""

    def sources(self, *, counted: bool = True) -> list[Source]:
        """Every source with its numbers of notes and chunks, in the order they were added.

        Counting takes milliseconds for each 10,000 passages; without it the numbers are 0.
        """
        ...

    def removed_sources(self) -> list[Source]:
        """The sources that are removed, but not deleted yet; no other method lists them or their notes."""
        ...

    def root_of(self, source: SourceId) -> str:
        """The path of the folder of a source."""
        ...

    def root_id(self, source: SourceId) -> str:
        """Identity of the folder that the last ingest read; empty before the first."""
        ...

    def known_files(self, source: SourceId, after: bytes = b"", limit: int = -1) -> dict[bytes, KnownFile]:
        """The files of a source in the order of their raw paths; with a limit, so many after a path."""
        ...

    def known_files_at(self, source: SourceId, places: Iterable[bytes]) -> dict[bytes, KnownFile]:
        """The files at these paths and below them."""
        ...

    def document(self, doc_id: DocId) -> Document | None: ...

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        """One page of the notes that pass the filters, by path, and their total number."""
        ...

    def documents_at(self, path: str) -> list[Document]:
        """Notes of any source with this display path."""
        ...

    def documents_ending(self, ending: str, limit: int) -> list[Document]:
        """Notes whose path ends with these path components."""
        ...

    def chunks_of(self, doc_id: DocId) -> list[Chunk]:
        """The chunks of a note, in order."""
        ...

    def chunks_named(self, prefix: str) -> list[Chunk]:
        """At most two chunks whose id starts with `prefix`: two show that it is ambiguous."""
        ...

    def values(self, kind: str, limit: int = -1) -> list[tuple[str, int]]:
        """Every value that a filter for a kind of facet can have, with the number of notes that it finds.

        Most frequent first, at most `limit`. Of a nested kind, `a` is a value if `a/b` is.
        """
        ...

    def note_counts(self) -> dict[str, dict[str, int]]:
        """The number of searchable notes by filter key and value: `type`, `lang`, `kind`, `trust`."""
        ...

    def paths(self) -> list[str]:
        """The distinct display paths of searchable notes."""
        ...

    def failed(self) -> int:
        """Number of notes that the last run could not read."""
        ...

    def other_files(self, sources: Sequence[SourceId] = ()) -> OtherFiles:
        """The files of types that no format reads, as counted by the last scan of each folder."""
        ...

    def makers(self) -> dict[str, int]:
        """The number of notes by the format, version and chunker that read them; without failed ones."""
        ...

    def model(self) -> str | None:
        """The selected model; None for the bundled one."""
        ...

    def runs(self, limit: int) -> list[IndexRun]:
        """The latest runs, the last one first."""
        ...

    def figures(self) -> Figures: ...


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that the model has not embedded yet."""

    text_hash: bytes
    title: str
    heading_path: str
    text: str
    vector: bytes = b""
    """A vector that an earlier version made: of the beginning of the text, and of other parts or none."""


class PendingCount(NamedTuple):
    """Chunks without a vector, and their distinct texts.

    `outdated`: distinct texts with a vector of an earlier version, which may be of their beginning alone.
    """

    chunks: int
    texts: int
    outdated: int = 0


class VectorCount(NamedTuple):
    """Stored vectors, and those that a chunk uses."""

    stored: int
    used: int


class ChangeFeed(VectorLog, Protocol):
    """The vectors of one model at one moment, how they changed, and the texts that have none yet."""

    def pending(self, limit: int) -> list[PendingText]:
        """Distinct texts without a vector, from the most recently changed notes first; then outdated ones."""
        ...

    def pending_of(self, rows: Sequence[ChunkRow]) -> list[PendingText]:
        """As `pending`: the texts of these chunks, in their order."""
        ...

    def pending_since(self, revision: int) -> list[PendingText] | None:
        """Texts of chunks added after a revision; None if the log lacks the revision."""
        ...

    def still_pending(self, hashes: Sequence[bytes]) -> set[bytes]:
        """The texts that a chunk still uses and that still have no vector, or an outdated one."""
        ...

    def pending_count(self, *, fully: bool = False) -> PendingCount:
        """`fully`: look at every chunk, also at those known to have had vectors when they were complete."""
        ...

    def count(self) -> VectorCount: ...


class Reader(Corpus, Protocol):
    """Consistent snapshots for any thread; snapshots nested in one thread are of the same moment."""

    def catalogue(self) -> AbstractContextManager[Catalogue]: ...

    def roots(self) -> list[tuple[SourceId, str]]:
        """The folder of each source but removed ones; a cold search asks for no more of the catalogue."""
        ...

    def vectors(self, model: str) -> AbstractContextManager[ChangeFeed]: ...

    def close(self) -> None:
        """Close what is open; the next read opens it again."""
        ...


class FollowedVectors(Protocol):
    """The searchable vectors of one model, kept in step with the index."""

    @property
    def index(self) -> VectorIndex: ...

    def open(self, *, fully: bool = False) -> Opened:
        """`fully`: check all that is stored, also what was found valid before."""
        ...

    def catch_up(self) -> bool:
        """Apply new changes; whether there were any."""
        ...

    def close(self) -> str:
        """Save what is worth saving; an error message, or empty."""
        ...


# Writing


class Writer(Protocol):
    """The one writer. Every call is one transaction: all of it is stored, or nothing."""

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Commit `changes` as one revision. A note that cannot be stored gets the state `failed`."""
        ...

    def begin_load(self, files: int) -> None:
        """So many files follow: a backend may now prefer fast writing to fast reading."""
        ...

    def end_load(self) -> None:
        """All of them are stored."""
        ...

    def save_sources(self, sources: Sequence[Source]) -> None:
        """Add or update sources; their notes stay."""
        ...

    def set_source_state(
        self, source: SourceId, state: SourceState, root_id: str = "", other_files: OtherFiles | None = None
    ) -> None:
        """Record the state of a source; `root_id` identifies the folder on disk.

        `other_files`: those that a scan of the whole folder has counted.
        """
        ...

    def set_source_use(self, source: SourceId, use: SourceUse) -> None:
        """Watch, pause or hide a source; raises NotFoundError."""
        ...

    def remove_source(self, source: SourceId) -> None:
        """Delete a source and its notes from the index, not from the disk."""
        ...

    def set_made_by(self, made_by: str) -> None:
        """Record that this parser and chunker have processed every note."""
        ...

    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        """Store (text hash, fp16 vectors) pairs of a model; returns the new revision.

        A vector for each part of a text, one behind the other. They replace earlier ones.
        """
        ...

    def delete_vectors(self, model: str | None = None) -> int:
        """Delete vectors that no chunk uses, or all of a model; returns their number."""
        ...

    def note_complete(self, model: str) -> None:
        """All texts seem to have vectors: a backend may note that, to count faster what is pending."""
        ...

    def use_model(self, model: str) -> None:
        """Select the model for semantic search."""
        ...

    def record_run(self, kind: str, started_ns: int, report: str) -> None:
        """Store the report (JSON) of an ingest or an embedding."""
        ...

    def rebuild_full_text(self) -> None:
        """Make the full text of all chunks again."""
        ...

    def merge_full_text(self, cancelled: Callable[[], bool] = ...) -> None:
        """Tidy up after many changes, while there is time; may do nothing."""
        ...


# Versions: always in an index of this machine


class VersionCatalogue(Catalogue, Protocol):
    def version_notes(self, versions: Sequence[SourceId]) -> list[VersionNote]:
        """The notes of versions; a shared one once for each."""
        ...

    def version_counts(self) -> dict[str, tuple[int, int]]:
        """The numbers of notes and passages of each version."""
        ...

    def versions_of(self, docs: Sequence[DocId]) -> dict[DocId, set[str]]:
        """The versions that have each of these notes."""
        ...


class VersionWriter(Writer, Protocol):
    def begin_version(self, version: SourceId, kept: Sequence[DocId]) -> list[DocId]:
        """Take all notes but `kept` from a version; returns those that no version has any more."""
        ...

    def end_version(self, version: SourceId, notes: Sequence[tuple[DocId, str]]) -> None:
        """Record the notes of a version with their blobs, drop what no version has, and mark it indexed."""
        ...

    def remove_version(self, version: SourceId) -> None:
        """Delete a version; notes that others share stay."""
        ...

    def copy_vectors(self, location: str, model: str) -> int:
        """Take missing vectors of texts from the index at another location; returns their number."""
        ...


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lease, as it described itself."""

    pid: int
    command: str
    since: float

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"pid {self.pid} ({self.command}, since {clock})"


Waiting: TypeAlias = Callable[[Holder | None], None]
"""Called once when another process holds the lease for long; None if it is unknown."""


class Lease(Protocol):
    """The right to write, or to embed: one process at a time."""

    def acquire(self, command: str, timeout_s: float, waiting: Waiting) -> bool:
        """Take it, waiting up to `timeout_s`; raises StoreBusyError. True if the last holder was killed."""
        ...

    def release(self) -> None: ...

    def is_in_place(self) -> bool:
        """Whether other processes still see that this one holds it."""
        ...

    def holder(self) -> Holder | None:
        """Who holds it; None if it is free."""
        ...


@dataclass(frozen=True, slots=True)
class Rescan:
    """Scan these absolute paths again; everything if there are none.

    `retry`: also retry files that failed and wait for a later attempt.
    """

    paths: tuple[str, ...] = ()
    retry: bool = False


@dataclass(frozen=True, slots=True)
class EmbedFirst:
    """Embed these chunks before all others: somebody looks at them."""

    rows: tuple[ChunkRow, ...]


Request: TypeAlias = Rescan | EmbedFirst
"""What a process can ask."""


class Requests(Protocol):
    """What other processes ask of the holder of the lease to write."""

    def ask(self, request: Request) -> None:
        """Leave a request for the present writer or the next one."""
        ...

    def wanting(self) -> AbstractContextManager[None]:
        """Ask the holder to give way while the context lasts."""
        ...

    def undoing(self) -> AbstractContextManager[None]:
        """Keep removed sources from being deleted while the context lasts."""
        ...

    def may_undo(self) -> bool:
        """Whether a living process may still undo the removal of a source."""
        ...

    def wanted(self) -> bool:
        """Whether a living process waits for the lease; cheap."""
        ...

    def look(self) -> tuple[bool, list[Request]]:
        """Whether a living process waits for the lease, and the requests, which are removed."""
        ...


@dataclass(frozen=True, slots=True)
class WriterSession:
    """The writer of an index that was checked, and repaired if damaged, while the lease is held."""

    writer: Writer
    lease: Lease
    healed: str = ""
    """Where a damaged index was set aside; empty if none was."""
    read_error: bool = False
    """The index seemed damaged, but a second read found no error."""
    begun_anew: bool = False
    """The index was lost; only its list of folders was restored, and all must be indexed."""
    unrestored: str = ""
    """Why some folders of a lost index could not be restored; empty if none are missing."""
    deferred_check: Callable[[], None] | None = None
    """A full check that is still due; raises StoreDamagedError. To be called when idle."""


# An index


FindingLevel = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of `kebab doctor`. `fix`: a hint for the user; empty for the level `ok`."""

    check: str
    level: FindingLevel
    detail: str
    fix: str = ""


Cell: TypeAlias = str | int | float | bytes | None


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Where an answer of `kebab sql` ends. `heap_bytes`: memory of SQLite in this process; 0 for no limit."""

    rows: int = 1_000
    bytes: int = 16 << 20
    seconds: float = 5.0
    heap_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SqlResult:
    """`cut`: the limit that ended it; empty if it is complete."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cut: Literal["", "rows", "bytes"] = ""


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """How a reader treats an index on servers. `roots`: folders of this machine by source."""

    on_missing_shard: Literal["fail", "partial"] = "fail"
    deadline_s: float = 3.0
    roots: tuple[tuple[str, str], ...] = ()


class CopyProgress(NamedTuple):
    """Parts of an index that are on the servers."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Published:
    """What a copy did. `unchanged`: the servers had it already. `resumed`: buckets of an earlier attempt."""

    location: str
    revision: int
    notes: int
    passages: int
    private: int
    shards: int
    seconds: float
    unchanged: bool = False
    resumed: int = 0


class Index(Protocol):
    """One index, wherever it is stored."""

    @property
    def location(self) -> str:
        """Where the index is, for people: a path or a URL without secrets."""
        ...

    @property
    def folder(self) -> str:
        """The folder on this machine for models, caches and the status of the indexing process."""
        ...

    @property
    def reader(self) -> Reader: ...

    def exists(self) -> bool: ...

    def size(self) -> int:
        """Bytes that the index takes."""
        ...

    def version(self, made_by: str) -> str:
        """The lexical version of a current index of this parser and chunker."""
        ...

    def known_sources(self) -> list[Source] | None:
        """The sources as far as they are known without a readable index; None if nothing is."""
        ...

    def change_check(self) -> Callable[[], bool]:
        """A cheap check whether the index or the status may have changed since the last call."""
        ...

    def sql(self, statement: str, limits: SqlLimits) -> SqlResult:
        """The rows of one SELECT over the tables of docs/sql.md; raises SqlError."""
        ...

    def check(self, chunker: str) -> Iterator[Finding]:
        """The checks of `kebab doctor`; repairs nothing."""
        ...

    def vector_index(self, model: str, dims: int, *, may_save: bool = False) -> FollowedVectors:
        """The vectors of a model, not opened yet. `may_save`: `close` may write files in `folder`."""
        ...

    def lease(self, purpose: Literal["write", "embed"]) -> Lease: ...

    def requests(self) -> Requests: ...

    def write(
        self, command: str, timeout_s: float, waiting: Waiting, *, saw_crash: bool = False
    ) -> AbstractContextManager[WriterSession]:
        """Hold the lease to write; raises StoreBusyError.

        `saw_crash`: this process was running when the previous writer died. Such a process may defer
        the full check, and does not create an index again that was removed.
        """
        ...

    def recheck(self, command: str, timeout_s: float, waiting: Waiting) -> str:
        """Check an index that reported damage; returns its new place if it was set aside."""
        ...
