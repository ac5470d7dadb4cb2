"""What searching needs of the rest of the house, as Protocols.

A snapshot is one moment of the corpus: everything read through it belongs to the same
revision, however long the search takes and whatever is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from kebab_tui.domain.document import Chunk, Document
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId
from kebab_tui.domain.query import SearchFilters

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FileState = Literal["same", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a word counts by where it stands."""

    heading: float = 2.0
    text: float = 1.0
    title: float = 4.0
    grams: float = 1.0


class FieldCounts(NamedTuple):
    """How often a term stands in each field of one chunk."""

    heading: int
    text: int
    title: int
    grams: int


class Scored(NamedTuple):
    """A chunk and its raw bm25: negative, lower is better, as SQLite gives it."""

    row: ChunkRow
    bm25: float


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk with the note and the folder that hold it."""

    chunk: Chunk
    document: Document
    root: str
    source_title: str
    chunker_version: str


class Collection(NamedTuple):
    """The figures bm25 compares a chunk with."""

    chunks: int
    average_length: float


class Snapshot(Protocol):
    @property
    def revision(self) -> int: ...

    @property
    def lexical_version(self) -> str: ...

    def rank(
        self,
        match: str,
        filters: SearchFilters,
        limit: int,
        *,
        without: Sequence[str] = (),
        scored: str | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        newest: int | None = None,
    ) -> list[Scored]:
        """The best `limit` chunks by bm25, ties by chunk id.

        `without`: matches that exclude a chunk; `scored`: what the bm25 is of, where that is
        not `match` itself; `leaving_out`: rows already listed; `newest`: score only that many
        of the latest matches, for a quick first answer.
        """
        ...

    def count(
        self,
        match: str,
        filters: SearchFilters,
        *,
        without: Sequence[str] = (),
        scored: str | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        """How many chunks match; with `worst`, how many of them score at least as well as this raw bm25."""
        ...

    def better(
        self,
        match: str,
        filters: SearchFilters,
        than: Scored,
        *,
        without: Sequence[str] = (),
        scored: str | None = None,
    ) -> int:
        """How many matching chunks stand above a given one."""
        ...

    def chunk_ids(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, str]:
        """The ids that order equal scores."""
        ...

    def has(self, match: str) -> bool:
        """Whether any chunk of the whole collection matches, filters aside."""
        ...

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[str] = ()
    ) -> tuple[list[ChunkRow], int]:
        """The first chunk of each note that passes, latest change first, and how many notes pass.

        Notes with a chunk that matches any of `without` do not.
        """
        ...

    def hydrate(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]: ...

    def unfinished(self, prefix: str, limit: int) -> list[str]:
        """Whole words that begin with `prefix` but whose stem does not begin with its stem."""
        ...

    def commonplace(self, words: Sequence[str]) -> set[str]:
        """Which of the words stand in so many chunks that having one of them says nothing."""
        ...

    def common_words(self, prefix: str, limit: int) -> list[str]:
        """The commonest whole words that begin with `prefix`."""
        ...

    def collection(self) -> Collection: ...

    def frequency(self, match: str) -> int:
        """How many chunks of the whole collection match, filters aside."""
        ...

    def lengths(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]: ...

    def occurrences(self, match: str, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        """How often one phrase stands in each field of the given chunks; absent rows have none."""
        ...

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]: ...

    def has_both_scripts(self) -> bool:
        """Whether there are chunks in Hangul and others."""
        ...

    def rows_by_script(self, filters: SearchFilters) -> tuple[Sequence[ChunkRow], Sequence[ChunkRow]]:
        """The chunks that pass, by row: those in Hangul, then all others."""
        ...

    def known(self, rows: Sequence[ChunkRow]) -> set[ChunkRow]:
        """Which of the given rows are chunks now."""
        ...

    def matching(
        self, match: str, rows: Sequence[ChunkRow] | None = None, *, without: Sequence[str] = ()
    ) -> set[ChunkRow]:
        """Which of the given chunks match; of all chunks, where none are given."""
        ...

    def passes(self, rows: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        """Whether any of the chunks passes the filters."""
        ...


Vector: TypeAlias = "npt.NDArray[np.float32]"
"""One embedding of unit norm, or a matrix of them, row by row."""


class Near(NamedTuple):
    """A chunk and the cosine of its vector with the query's."""

    row: ChunkRow
    cosine: float


class VectorIndex(Protocol):
    """The vectors of one model, as of some revision at or behind the corpus's."""

    def nearest(self, query: Vector, k: int, allowed: Sequence[ChunkRow] | None = None) -> list[Near]:
        """The k chunks of highest cosine, ties by row; only among `allowed` when given.

        The filter goes into the search: fewer than k come back only when fewer pass.
        """
        ...

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        """The exact cosine of given chunks; chunks without a vector are absent."""
        ...

    @property
    def count(self) -> int:
        """How many chunks have a vector."""
        ...


class NearestSentence(Protocol):
    """Characters `start..end` (exclusive) of a passage, and their cosine with the query."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def cosine(self) -> float: ...


class QueryEncoder(Protocol):
    """The model that made the index's vectors, for queries."""

    def query(self, text: str) -> Vector: ...

    def understands(self, text: str) -> bool:
        """Whether the model knows any part of the text; emoji alone mean nothing to most."""
        ...

    def nearest_sentence(self, text: str, query_vector: Vector) -> NearestSentence | None: ...


@dataclass(frozen=True, slots=True)
class Semantics:
    """Search by meaning, ready to be asked. `version`: `vec-<model>-<dims>-<hash8>`."""

    encoder: QueryEncoder
    index: VectorIndex
    version: str
    knows_hangul: bool
    """An English-only model is never asked about Hangul: it would answer at random."""
    floor: float
    """The least cosine of a hit, from the model's card."""

    @property
    def model(self) -> str:
        return self.version.removeprefix("vec-").rsplit("-", 2)[0]


class SemanticsSource(Protocol):
    def __call__(self) -> Semantics | Notice:
        """The semantics in step with the corpus, or why there are none now."""
        ...


class Corpus(Protocol):
    def snapshot(self) -> AbstractContextManager[Snapshot]: ...


class FileProbe(Protocol):
    def __call__(self, found: FoundChunk) -> FileState:
        """Compare the file on disk with the stamp it was indexed under, by one stat."""
        ...
