"""Ports: what search needs from storage, the vectors and the model, as Protocols and values.

A snapshot is one moment of the corpus: everything read through it belongs to the same
revision, however long the search takes and whatever is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from kebab_tui.domain.document import Chunk, Document
from kebab_tui.domain.facets import Facet
from kebab_tui.domain.hit import Notice
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.query import SearchFilters
from kebab_tui.search.match import Match, Term

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kebab_tui.search.name_pattern import NamePattern

FileState = Literal["same", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """The weight of a word by field."""

    heading: float = 2.0
    text: float = 1.0
    title: float = 4.0
    grams: float = 1.0


class FieldCounts(NamedTuple):
    """The occurrences of a term in each field of one chunk."""

    heading: int
    text: int
    title: int
    grams: int


class Scored(NamedTuple):
    """A chunk and its raw bm25: negative, lower is better."""

    row: ChunkRow
    bm25: float


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk with its document and source."""

    chunk: Chunk
    document: Document
    root: str
    source_title: str
    chunker_version: str


class Collection(NamedTuple):
    """The statistics of the corpus that bm25 needs."""

    chunks: int
    average_length: float


class NamedNote(NamedTuple):
    """A note found by its names, with the first of its chunks that passes the filters; 0 if it has none."""

    doc: DocId
    row: ChunkRow
    names: tuple[tuple[str, str], ...]
    """Each with its kind: name, alias or title."""
    source: str
    path: str
    mtime_ns: int


class CalledNote(NamedTuple):
    """A note with its names, each with its kind: name, alias or title."""

    note: LinkedNote
    names: tuple[tuple[str, str], ...]


Script = Literal["hangul", "other"]


@dataclass(frozen=True, slots=True)
class Among:
    """Which chunks a ranking, a count or a vector search is about; all of them by default.

    Stands for any number of chunks, so that no list of them passes through the ports.
    """

    filters: SearchFilters = SearchFilters()
    script: Script | None = None
    match: Match | None = None
    without: tuple[Match, ...] = ()
    """Matches that exclude a chunk."""


class Ranking(NamedTuple):
    """A call of `rank` to come. `strict`: `which` of its rows match will be asked next."""

    among: Among
    limit: int
    scored: Match | None = None
    strict: Match | None = None
    newest: int | None = None


class Counted(NamedTuple):
    """A call of `count` to come."""

    among: Among
    scored: Match | None = None
    leaving_out: tuple[ChunkRow, ...] = ()
    worst: float | None = None


class Browsed(NamedTuple):
    """A call of `browse` to come."""

    filters: SearchFilters
    limit: int
    offset: int
    without: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a search is going to ask. Right guesses save trips to a server; wrong ones cost nothing else."""

    terms: tuple[Term, ...] = ()
    words: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Words to complete."""
    begun: tuple[tuple[str, int], ...] = ()
    """What `common_words` will be asked."""
    alike: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()
    """Keys of names."""
    filters: SearchFilters = SearchFilters()
    rankings: tuple[Ranking, ...] = ()
    counts: tuple[Counted, ...] = ()
    browsed: tuple[Browsed, ...] = ()
    similar: Match | None = None
    """What `names_with` will look for."""
    by_meaning: bool = False
    """Whether cosines will be asked of what is found."""
    passages: tuple[ChunkRow, ...] = ()
    """What will be hydrated."""
    occurrences: tuple[tuple[Term, tuple[ChunkRow, ...]], ...] = ()


class Snapshot(Protocol):
    @property
    def remote(self) -> bool:
        """Whether questions travel to a server, so that a forecast helps."""
        ...

    def expect(self, forecast: Forecast, *, later: bool = False) -> None:
        """Ask for what the forecast says in one trip, if remote; `later`: in the next one."""
        ...

    @property
    def revision(self) -> int: ...

    @property
    def lexical_version(self) -> str: ...

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is missing from the answers of this snapshot so far, or inexact in them."""
        ...

    def rank(
        self,
        among: Among,
        limit: int,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        newest: int | None = None,
    ) -> list[Scored]:
        """The best `limit` chunks by bm25, ties by chunk id; `among` has a match.

        `scored`: the tree whose terms are scored, if not `among.match`. `leaving_out`: a few rows that are
        already listed. `newest`: score only that many of the latest matches, for a quick preview.
        """
        ...

    def count(
        self,
        among: Among,
        *,
        scored: Match | None = None,
        leaving_out: Sequence[ChunkRow] = (),
        worst: float | None = None,
    ) -> int:
        """How many chunks there are; with `worst`, only those with at least as good a raw bm25.

        The other arguments, as those of `rank`, need a match.
        """
        ...

    def count_by_source(self, among: Among) -> Mapping[str, int]:
        """How many chunks there are in each source; sources without any are absent."""
        ...

    def better(self, among: Among, than: Scored, *, scored: Match | None = None) -> int:
        """How many chunks rank above the given one."""
        ...

    def chunk_ids(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, str]:
        """The chunk ids, which order equal scores."""
        ...

    def has(self, match: Match, *, shareable: bool = False) -> bool:
        """Whether any chunk of the corpus matches, regardless of filters but `shareable`."""
        ...

    def has_private(self) -> bool:
        """Whether the filter `shareable` leaves out any note with text; asked by every search that has it."""
        ...

    def browse(
        self, filters: SearchFilters, limit: int, offset: int, *, without: Sequence[Match] = ()
    ) -> tuple[list[ChunkRow], int]:
        """The first chunk of each note that passes, latest change first, and the number of such notes.

        A note with a chunk that matches any of `without` does not pass.
        """
        ...

    def named(self, key: str, filters: SearchFilters, limit: int) -> list[NamedNote]:
        """The notes with a name, alias or stated title of this key, the latest changed first."""
        ...

    def names_with(self, match: Match, filters: SearchFilters, limit: int) -> list[NamedNote]:
        """The notes whose names match, best first by bm25 over the names."""
        ...

    def find_names(
        self, pattern: NamePattern, filters: SearchFilters, limit: int, enough: int
    ) -> list[NamedNote]:
        """At most `limit` notes whose names or path may match, by a coarse score, best first.

        May also propose notes that do not match, and leaves out less similar names if there are `enough`
        better ones. For an empty pattern the latest changed notes. Notes without text have names, too.
        """
        ...

    def links(
        self, kinds: Sequence[str], filters: SearchFilters, *, keys: Sequence[str] | None = None
    ) -> list[tuple[LinkedNote, Facet]]:
        """The links of these kinds in the notes that pass, by path and place; with `keys`, only those."""
        ...

    def called(self, keys: Sequence[str] | None, filters: SearchFilters) -> list[CalledNote]:
        """The notes that pass and have a name, alias or stated title of one of these keys; of any if None."""
        ...

    def called_after_folders(self, filters: SearchFilters) -> list[CalledNote]:
        """The notes that pass and whose names are those of their folders, such as `index.md`."""
        ...

    def hydrate(self, rows: Sequence[ChunkRow]) -> dict[ChunkRow, FoundChunk]: ...

    def embedded_texts(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, str]:
        """What a model reads of the given chunks."""
        ...

    def unfinished(self, prefix: str, limit: int) -> list[str]:
        """Indexed words that begin with `prefix` but whose stem does not begin with its stem."""
        ...

    def too_frequent(self, words: Sequence[str]) -> set[str]:
        """Which of the words occur in too many chunks to distinguish any."""
        ...

    def common_words(self, prefix: str, limit: int) -> list[str]:
        """The most frequent indexed words that begin with `prefix`."""
        ...

    def listed(self, words: Sequence[str]) -> Mapping[str, int]:
        """Which of the words are in the list of words, and in how many chunks each was seen.

        The list has no CJK words, and may have words that no chunk has any more.
        """
        ...

    def alike(self, word: str, edits: int) -> Mapping[str, int]:
        """As `listed`: words of the same first letter; among them all within so many edits.

        An edit adds, drops or changes a letter or swaps two. The word has at least `edits + 2` letters.
        """
        ...

    def collection(self) -> Collection: ...

    def frequency(self, term: Term) -> int:
        """How many chunks of the corpus have the term, regardless of filters."""
        ...

    def lengths(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]: ...

    def occurrences(self, term: Term, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, FieldCounts]:
        """The occurrences of a term in each field of the given chunks; rows without any are absent."""
        ...

    def chunk_rows(self, doc: DocId) -> list[ChunkRow]: ...

    def notes_of(self, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, DocId]:
        """The note of each of these chunks that still exist."""
        ...

    def chunks_of(self, docs: Sequence[DocId]) -> Mapping[ChunkRow, DocId]:
        """The chunks of a few notes, each with its note."""
        ...

    def sources(self) -> list[str]:
        """The ids of all sources but removed ones."""
        ...

    def removed_sources(self) -> tuple[SourceId, ...]:
        """The sources that are removed, but not deleted yet."""
        ...

    def has_both_scripts(self) -> bool:
        """Whether the corpus has both Hangul chunks and others."""
        ...

    def which(self, rows: Sequence[ChunkRow], among: Among) -> set[ChunkRow]:
        """Which of a few given chunks still exist and are among these."""
        ...

    def passes(self, rows: Sequence[ChunkRow], filters: SearchFilters) -> bool:
        """Whether any of the chunks passes the filters."""
        ...


Vector: TypeAlias = "npt.NDArray[np.float32]"
"""One embedding of unit norm, or a matrix of them, row by row."""


BEST_PART = 0.65
"""The share of the nearest part in the cosine of a chunk that the model reads in several parts.

nDCG@10 of the questions for tuning, with 0.7, 0.65, 0.6: Cranfield .5787, .5790, .5790; k8s-ko-en .7256,
.7261, .7255; own page .8377, .8375, .8379. Parts of equal length, and 0.02 less for all but the first,
were worse.
"""


class Near(NamedTuple):
    """A chunk and its cosine with the query."""

    row: ChunkRow
    cosine: float


class PartCosines(NamedTuple):
    """The cosine of each part of a chunk with the query, and that of the sum of their vectors."""

    parts: tuple[float, ...]
    whole: float


class VectorIndex(Protocol):
    """The vectors of one model, as of some revision at or behind the corpus's.

    A long chunk has several vectors, one for each part that the model reads. Its cosine is then
    `BEST_PART * nearest part + (1 - BEST_PART) * whole`.
    """

    def nearest(self, query: Vector, k: int, among: Among | None = None) -> list[Near]:
        """The k chunks of highest cosine, ties by row; of every chunk with a vector if `among` is None.

        The filter goes into the search: fewer than k come back only when fewer pass.
        """
        ...

    def begin(self, query: Vector, k: int, among: Sequence[Among | None]) -> Callable[[], list[list[Near]]]:
        """Start `nearest` for each of `among` beside the caller's work; the function waits for the results.

        Storage is read, if at all, before this returns: it may belong to the caller's thread.
        """
        ...

    def cosines(self, query: Vector, rows: Sequence[ChunkRow]) -> Mapping[ChunkRow, float]:
        """The exact cosine of given chunks; chunks without a vector are absent."""
        ...

    def parts(self, query: Vector, row: ChunkRow) -> PartCosines | None:
        """What the cosine of a chunk is made of; None without a vector."""
        ...

    @property
    def count(self) -> int:
        """How many chunks have a vector."""
        ...


@dataclass(frozen=True, slots=True)
class NearestSentence:
    """Characters `start..end` (exclusive) of a chunk, and their cosine with the query."""

    start: int
    end: int
    cosine: float


class QueryEncoder(Protocol):
    """Encodes queries with the model that made the index's vectors."""

    def query(self, text: str) -> Vector: ...

    def understands(self, text: str) -> bool:
        """Whether the model knows any part of the text; most know no emoji."""
        ...

    def parts(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters `start..end` (exclusive) of each part of a passage that has a vector."""
        ...

    def nearest_sentence(self, text: str, query_vector: Vector) -> NearestSentence | None: ...


@dataclass(frozen=True, slots=True)
class Semantics:
    """The model and its vectors, ready to search. `version`: `vec-<model>-<dims>-<hash8>`."""

    encoder: QueryEncoder
    index: VectorIndex
    version: str
    knows_hangul: bool
    """False for an English-only model: it never gets a query in Hangul, since its results would be random."""
    floor: float
    """The minimum cosine of a hit, from the model's card."""

    @property
    def model(self) -> str:
        return self.version.removeprefix("vec-").rsplit("-", 2)[0]


class SemanticsSource(Protocol):
    def __call__(self) -> Semantics | Notice:
        """The semantics for the present corpus, or why they are not available."""
        ...


class Corpus(Protocol):
    def snapshot(self) -> AbstractContextManager[Snapshot]: ...


class FileProbe(Protocol):
    def __call__(self, found: FoundChunk) -> FileState:
        """Compare the file on disk with its indexed fingerprint, by one stat."""
        ...
