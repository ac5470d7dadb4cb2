"""Public API of the engine; the CLI and the TUI call nothing else.

It keeps no state but the settings and the components of its two indexes: that of the notes, and that of
the versions. Heavy modules are imported by the operation that needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from kebab_tui import own_files
from kebab_tui.domain.errors import (
    NotFoundError,
    NotIndexedError,
    StoreDamagedError,
    StoreLostError,
    UsageError,
)
from kebab_tui.domain.facets import FACETS
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.engines import Engine, VersionEngine
from kebab_tui.indexing.callbacks import Callbacks as Callbacks
from kebab_tui.indexing.callbacks import WatchCallbacks as WatchCallbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import IndexStatus, Pending, VectorState
    from kebab_tui.domain.citation import Located, TextPosition
    from kebab_tui.domain.document import Document, DocumentState, OtherFiles, PageText, Source, SourceUse
    from kebab_tui.domain.hit import Highlight, SearchHit, SearchResponse
    from kebab_tui.domain.ids import SourceId
    from kebab_tui.domain.links import LinkDirection, NoteLinks, SimilarNote
    from kebab_tui.domain.scope import SourcePart
    from kebab_tui.domain.versions import Version
    from kebab_tui.indexing.data_watch import DataFolderWatch
    from kebab_tui.indexing.embed import EmbeddingReport
    from kebab_tui.indexing.folder_count import FolderCount
    from kebab_tui.indexing.lookup import CitedPlace, Inspection, ListedFile
    from kebab_tui.indexing.quote import QuotedHit, QuotedNote
    from kebab_tui.indexing.report import IngestReport
    from kebab_tui.indexing.status import LiveState, WatchSummary
    from kebab_tui.indexing.versions import VersionReport
    from kebab_tui.search.completions import Completions
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.search.libraries import FoundLibrary
    from kebab_tui.search.matching_line import MatchingLine
    from kebab_tui.search.query_language import Chip, ParsedQuery
    from kebab_tui.search.ranking import FusionSettings
    from kebab_tui.search.why_not import WhyNot
    from kebab_tui.settings.settings import Settings
    from kebab_tui.storage.ports import (
        CopyProgress,
        Finding,
        Published,
        SqlLimits,
        SqlResult,
        VersionWriter,
    )
    from kebab_tui.vector_search import ModelService


P = ParamSpec("P")
T = TypeVar("T")
Rebuild: TypeAlias = "Callable[[Workspace, StoreDamagedError], None]"
"""Ingests all notes with the progress of a front end; raises if the user stops it."""


def _healed(
    read: Callable[Concatenate[Workspace, P], T],
) -> Callable[Concatenate[Workspace, P], T]:
    """Read again from a damaged index: at once, then after a rebuild if the workspace has one."""

    @wraps(read)
    def healed(self: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(self, *args, **kwargs)
        except StoreDamagedError:
            self.close()  # one failed read of the disk looks the same
        try:
            return read(self, *args, **kwargs)
        except StoreDamagedError as error:
            if self._rebuild is None:
                raise
            self.close()
            self._rebuild(self, error)
        return read(self, *args, **kwargs)

    return healed


class Workspace:
    """One index and the folders it covers."""

    def __init__(self, settings: Settings, data_folder: str, rebuild: Rebuild | None = None) -> None:
        """`rebuild`: called when a search finds the index damaged, before it searches again."""
        self._rebuild = rebuild
        self.settings = settings
        self._data_folder = data_folder
        self._parts = Engine(settings, data_folder)

    def close(self) -> None:
        self._parts.close()
        if "_versions" in self.__dict__:
            self._versions.close()

    @property
    def has_index(self) -> bool:
        return self._parts.index.exists()

    @staticmethod
    def backends() -> list[tuple[str, str]]:
        """The URLs that the setting `index.url` accepts, each with a description."""
        from kebab_tui.storage.backends import BACKENDS

        return [(backend.example, backend.help) for backend in BACKENDS.values()]

    @staticmethod
    def is_shared(url: str) -> bool:
        """Whether an index at this URL is on servers, and only read."""
        from kebab_tui.storage.backends import is_shared

        return is_shared(url)

    # Operations that need no index. Pure, except for the clock that resolves `7d`.

    @staticmethod
    def parse(text: str) -> ParsedQuery:
        """Tokens, filters and meaning of a query."""
        from datetime import datetime

        from kebab_tui.search.query_language import parse

        return parse(text, datetime.now())  # noqa: DTZ005 - the machine's own time zone is meant

    @staticmethod
    def document_types() -> tuple[str, ...]:
        """The types that a note can have."""
        from kebab_tui.formats.registry import document_types

        return document_types()

    @staticmethod
    def code_language(document: Document) -> str:
        """The language of a file of code; empty for other types."""
        from kebab_tui.formats.code_languages import code_language

        return code_language(document.path, document.type)

    @staticmethod
    def note_extensions() -> tuple[str, ...]:
        """The ends of the names of all files that are read."""
        from kebab_tui.formats.registry import extensions

        return extensions()

    @staticmethod
    def has_pages(path: str) -> bool:
        """Whether a file of this name is shown and opened by page."""
        from kebab_tui.formats.registry import format_of

        kind = format_of(path)
        return kind is not None and kind.paged

    @staticmethod
    def remove_chip(text: str, chip: Chip) -> str:
        """Remove one filter from the text of a query."""
        from kebab_tui.search.query_language import remove_chip

        return remove_chip(text, chip)

    @staticmethod
    def scope_chip(label: str) -> Chip:
        """A chip for what is searched; it has no place in the text of the query."""
        from kebab_tui.search.query_language import Chip

        return Chip(-1, -1, f"in: {label}")

    @staticmethod
    def filter_of(key: str, value: str, spelled: Callable[[str, str], str]) -> SearchFilters:
        """The filter of an option that does the same as `key:value`; raises FilterError for a bad value."""
        from datetime import datetime

        from kebab_tui.search.filter_keys import check_option

        now = datetime.now()  # noqa: DTZ005 - the machine's own time zone is meant
        return check_option(key, value, spelled, now)

    @staticmethod
    def merge_filters(a: SearchFilters, b: SearchFilters) -> SearchFilters:
        """Both filters together."""
        from kebab_tui.search.query_language import merge

        return merge(a, b)

    @staticmethod
    def marks(text: str, query: str) -> tuple[Highlight, ...]:
        """Highlights for the words of a query in any text, by the rules of the index."""
        from kebab_tui.search.snippet import highlight, highlight_phrases

        return highlight(text, highlight_phrases(query))

    @staticmethod
    def decode(data: bytes) -> tuple[str, ...]:
        """The lines that citations count; raises UnsuitableFileError if the bytes are not text."""
        from kebab_tui.formats.decode import decode

        return decode(data).lines

    @staticmethod
    def rescore(explained: ExplainedResponse, settings: FusionSettings) -> ExplainedResponse:
        """The same hits under other settings of the fusion, without a search."""
        from kebab_tui.search.explanation import with_fusion
        from kebab_tui.search.ranking import rescore

        return with_fusion(explained, rescore(explained.candidates, settings), settings)

    # Search

    def warm_up(self, *, by_meaning: bool) -> Iterator[None]:
        """Load, step by step, the components that the first query and the first action need."""
        query = SearchQuery("kebab", "lexical", k=1)
        self.search(query)
        yield
        if by_meaning:
            yield from self._parts.semantics.open_by_steps()
            self.search(replace(query, mode="hybrid"))
            yield
        for hit in self.recent(1).hits:
            self.locate(hit)

    @_healed
    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        """One page of hits; `first_answer` allows a quick preview of the full ranking."""
        parts, query = self._asked(query)
        with parts.reading():
            return parts.engine.search(query, first_answer)

    @_healed
    def recent(self, count: int, offset: int = 0, filters: SearchFilters | None = None) -> SearchResponse:
        """The latest changed notes, as hits without a query."""
        return self._parts.engine.recent(count, offset, filters or SearchFilters())

    def revision(self) -> int:
        """The revision of the last commit."""
        with self._parts.index.reader.snapshot() as snapshot:
            return snapshot.revision

    @_healed
    def explain(self, query: SearchQuery) -> ExplainedResponse:
        """The result of `search` with the explanation of every hit."""
        parts, query = self._asked(query)
        with parts.reading():
            return parts.engine.explain(query)

    @_healed
    def why_not(self, query: SearchQuery, target: str) -> WhyNot:
        """Why a note or a cited passage is missing from the result, or its rank and why it is not higher."""
        from kebab_tui.indexing.lookup import named_passages, why_not_indexed

        if (error := self.parse(query.text).error) is not None:
            raise error
        parts, asked = self._asked(query)
        if parts is not self._parts:
            labels = (*query.filters.versions, *self.parse(query.text).filters.versions)
            targets = (self._in_version(f"{label}:{target.removeprefix(f'{label}:')}") for label in labels)
            found = next(filter(None, targets), None)
            if found is None:
                raise NotFoundError(f"not in the index: {target}", "name the note by its path")
            return parts.engine.why_not(asked, found.document)
        with self._parts.index.reader.catalogue() as catalogue:
            document, rows = named_passages(catalogue, target, self._find)
            if document is None or document.chunks == 0:
                return why_not_indexed(catalogue.sources(), target, document, self._parts.recipe)
        return self._parts.engine.why_not(query, document, rows)

    def respelled(self, text: str) -> list[tuple[str, str]]:
        """The corrected parts of a query, each with the query that has them; also those not searched."""
        return self._parts.engine.respelled(text)

    def completions(self) -> Completions:
        """Values to complete after filter keys."""
        from kebab_tui.search.completions import MOST_READ, completions_of

        try:
            with self._parts.index.reader.catalogue() as catalogue:
                facets = {
                    kind.id: catalogue.values(kind.id, MOST_READ)
                    for kind in FACETS.values()
                    if kind.key is not None
                }
                sources = [(source.source_id, source.documents) for source in catalogue.sources()]
                versions = [(one.label, one.notes) for one in self.stored_versions()]
                return completions_of(facets, sources, catalogue.paths(), catalogue.note_counts(), versions)
        except NotIndexedError:
            return completions_of({}, (), (), {})

    @_healed
    def find(
        self, text: str, limit: int = 20, offset: int = 0, filters: SearchFilters | None = None
    ) -> list[FoundNote]:
        """The notes whose names resemble `text`, best first; without text the latest changed ones."""
        return self._find(text, limit, offset, filters)

    def _find(
        self, text: str, limit: int, offset: int = 0, filters: SearchFilters | None = None
    ) -> list[FoundNote]:
        from kebab_tui.search.find_names import FoundNote, find_names

        parts, filters = self._among(filters)
        reader = parts.index.reader
        with reader.catalogue() as catalogue, reader.snapshot() as snapshot:
            found = []
            for note, name in find_names(snapshot, text, self._resolved(filters, parts), offset + limit)[
                offset:
            ]:
                document = catalogue.document(note.doc)
                assert document is not None  # of the same snapshot
                found.append(FoundNote(document, catalogue.root_of(document.source), name))
        return found if parts is self._parts else self._versions.named(found, filters)

    # Read

    @_healed
    def sources(self) -> list[Source]:
        try:
            with self._parts.index.reader.catalogue() as catalogue:
                return catalogue.sources()
        except NotIndexedError:
            return []
        except StoreLostError:
            return self._parts.index.known_sources() or []

    def removed_sources(self) -> list[Source]:
        """The sources that were removed and can still be watched again."""
        try:
            with self._parts.index.reader.catalogue() as catalogue:
                return catalogue.removed_sources()
        except NotIndexedError:
            return []

    @_healed
    def find_libraries(
        self, name: str, query: str = "", limit: int = 10, filters: SearchFilters | None = None
    ) -> list[FoundLibrary]:
        """The indexed sources called or described so, or with passages that match, best first.

        `query`: what their passages are counted by instead of the name. `filters` decide which passages
        count, and, by `within`, which sources are listed.
        """
        from kebab_tui.search.libraries import content_query, rank_libraries
        from kebab_tui.search.ports import Among

        filters = filters or SearchFilters()
        try:
            with self._parts.index.reader.catalogue() as catalogue:  # the count is of the same moment
                hits = self._parts.engine.count_by_source(content_query(name, query, filters))
                sources = catalogue.sources()
                if filters.shareable:
                    with self._parts.index.reader.snapshot() as snapshot:
                        passages = snapshot.count_by_source(Among(SearchFilters(shareable=True)))
                    sources = [
                        replace(source, chunks=passages.get(source.source_id, 0)) for source in sources
                    ]
        except NotIndexedError:
            return []
        if filters.within:
            sources = [source for source in sources if source.source_id in filters.within]
        return rank_libraries(sources, name, hits, limit, self.source_score)

    @staticmethod
    def source_score(source: Source) -> float:
        """How established a source is, from 0 to 10. Looks for its git repository."""
        from kebab_tui.doctor import rated

        return rated(source)

    def source_ids(self) -> list[str]:
        """The names of the sources, without counting their notes."""
        with self._parts.index.reader.snapshot() as snapshot:
            return snapshot.sources()

    def count_folder(
        self,
        folder: str,
        progress: Callable[[FolderCount], None] = lambda _: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> FolderCount | None:
        """Count the notes of a folder that is not in the index yet, else None; with an estimate if many.

        Raises SourceError for a folder that cannot be read.
        """
        from kebab_tui.indexing.folder_count import count_folder
        from kebab_tui.indexing.session import relation

        root = os.path.abspath(os.path.expanduser(folder))
        if relation(root, self._known_sources()) is not None:
            return None
        most, scratch = self.settings.index.ask_notes, self._parts.index.folder
        own_files.make_folder(scratch)
        return count_folder(root, self._parts.recipe, most, progress, stopping, scratch)

    def must_ask(self, count: FolderCount) -> bool:
        """Whether to ask the user before this folder is indexed."""
        return count.must_ask(self.settings.index.ask_notes)

    @_healed
    def source_around(self, folder: str) -> SourcePart | None:
        """The innermost source that contains a folder, and which part of it; None if there is none."""
        from kebab_tui.domain.scope import source_around

        return source_around(os.path.realpath(folder), self._searched_roots())

    def scope_of(self, folder: str) -> tuple[SourcePart, ...]:
        """The source around a folder, else the sources in it; empty if there are none."""
        from kebab_tui.domain.scope import source_around, sources_below

        real, roots = os.path.realpath(folder), self._searched_roots()
        around = source_around(real, roots)
        return (around,) if around is not None else sources_below(real, roots)

    def other_files(self, sources: Sequence[SourceId] = ()) -> OtherFiles:
        """How many files of these sources, or of all, are of types that no format reads."""
        try:
            with self._parts.index.reader.catalogue() as catalogue:
                return catalogue.other_files(sources)
        except NotIndexedError:
            from kebab_tui.domain.document import OtherFiles

            return OtherFiles()

    def _searched_roots(self) -> list[tuple[SourceId, str]]:
        try:
            found = self._parts.index.reader.roots()
        except NotIndexedError:
            return []
        return [(source, os.path.realpath(root)) for source, root in found]

    def check_folder(self, folder: str) -> None:
        """Raise if a folder is missing, unless it is a source already: sources may come back."""
        from kebab_tui.files.root import check_root
        from kebab_tui.indexing.session import relation

        if not folder:
            raise UsageError("a folder has an empty name", "is a shell variable unset?")
        root = os.path.abspath(os.path.expanduser(folder))
        related = relation(root, self._known_sources())
        if related is None or related[0] != "same":
            check_root(root)

    def _known_sources(self) -> list[Source]:
        try:
            return self.sources()
        except StoreDamagedError:  # the caller rebuilds the index from this list
            return self._parts.index.known_sources() or []

    @_healed
    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        parts, filters = self._among(filters)
        with parts.index.reader.catalogue() as catalogue:
            found, total = catalogue.documents(self._resolved(filters, parts), states, limit, offset)
        return found if parts is self._parts else self._versions.listed(found, filters), total

    def file_states(self) -> Iterator[ListedFile]:
        """Every file of every source with its current state; failed files come first."""
        from kebab_tui.indexing.lookup import file_states

        return file_states(self._parts.index.reader, self._parts.recipe)

    @_healed
    def inspect(self, target: str) -> Inspection:
        """Look up a note or a chunk by path, citation, id or name, with the state of its file."""
        from kebab_tui.indexing.lookup import inspect

        try:
            with self._parts.index.reader.catalogue() as catalogue:
                return inspect(catalogue, target, self._parts.recipe, self._find)
        except NotFoundError:
            if (found := self._in_version(target)) is None:
                raise
            return found

    def _inspected(self, target: str, filters: SearchFilters) -> Inspection:
        """What a target names: for an agent, only among the notes that it may see."""
        if not filters.shareable:
            return self.inspect(target)
        from kebab_tui.indexing.quote import inspect_shared

        with self._parts.index.reader.catalogue() as catalogue:
            return inspect_shared(
                catalogue, target, filters, lambda name, limit: self._find(name, limit, 0, filters)
            )

    @_healed
    def links(
        self,
        target: str,
        direction: LinkDirection,
        filters: SearchFilters | None = None,
        limit: int = -1,
        offset: int = 0,
    ) -> NoteLinks:
        """The links of a note by path, citation, id or name; of all notes if `target` is empty.

        `filters`: which notes may be at either end; others count as not indexed.
        """
        from kebab_tui.indexing.related import note_links

        reader = self._parts.index.reader
        with reader.catalogue():  # one snapshot
            filters = self._resolved(filters)
            found = self._inspected(target, filters) if target else None
            return note_links(reader, found, direction, filters, limit, offset)

    @_healed
    def similar(
        self, target: str, limit: int = 10, filters: SearchFilters | None = None
    ) -> list[SimilarNote]:
        """The notes nearest in meaning to a note, or to a passage by citation or id, in any language."""
        from kebab_tui.indexing.related import similar_notes

        reader = self._parts.index.reader
        with reader.catalogue():
            filters = self._resolved(filters)
            found = self._inspected(target, filters)
            return similar_notes(reader, found, self._parts.semantics.vectors(), limit, filters)

    @_healed
    def sql(self, statement: str, limits: SqlLimits | None = None) -> SqlResult:
        """The rows of one SELECT; raises SqlError."""
        from kebab_tui.storage.ports import SqlLimits

        return self._parts.index.sql(statement, limits or SqlLimits())

    @staticmethod
    def sql_limits(rows: int, seconds: float) -> SqlLimits:
        """The limits of a process that runs one statement and ends."""
        from kebab_tui.storage.ports import SqlLimits

        return SqlLimits(rows=rows, seconds=seconds, heap_bytes=512 << 20)

    def _resolved(self, filters: SearchFilters | None, parts: Engine | None = None) -> SearchFilters:
        """The filters with the notes that `links:` stands for."""
        filters = filters or SearchFilters()
        if filters.versions:
            raise UsageError("versions have no links and no similar notes", "leave out the version")
        from kebab_tui.search.links import resolved

        with (parts or self._parts).index.reader.snapshot() as snapshot:
            if removed := snapshot.removed_sources():
                filters = replace(filters, without=removed)
            return resolved(snapshot, filters)

    def locate(self, hit: SearchHit) -> Located:
        """Locate the chunk of a hit in the current file."""
        from kebab_tui.indexing.lookup import locate_hit

        return locate_hit(hit, self._parts.recipe)

    def page(self, hit: SearchHit, number: int) -> PageText:
        """The present text of a page of the hit's document; the last one for a larger number.

        Takes some tens of milliseconds, at most a few seconds for a hostile file. Raises
        UnreadableFileError with the reason, VanishedFileError if there is no file. Of a shared index, a page
        of a file that is not on this machine is as the index has it.
        """
        from kebab_tui.indexing.lookup import page_of
        from kebab_tui.indexing.quote import is_elsewhere

        if self.is_shared(self.settings.index.url) and is_elsewhere(hit.root, hit.raw_path):
            return self.indexed_text(hit, number)
        return page_of(hit.root, hit.raw_path, number, self._parts.recipe)

    def indexed_text(self, hit: SearchHit, page: int | None) -> PageText:
        """A note, or one of its pages, as the index has it; lines that it does not have are empty.

        Of a shared index, it takes one exchange with its servers.
        """
        from kebab_tui.domain.document import PageText
        from kebab_tui.domain.pages import page_count
        from kebab_tui.indexing.quote import indexed_lines

        with self._parts.index.reader.catalogue() as catalogue:
            document = catalogue.document(hit.doc_id) if page is not None else None
            pages = page_count(document.facets) if document is not None else 0
            lines = indexed_lines(catalogue, hit.doc_id, page)
        return PageText(page or 1, 0 if page is None else max(page, pages), "", tuple(lines))

    def matching_position(self, hit: SearchHit, located: Located, query: str) -> TextPosition:
        """Where an editor begins in the located passage of a hit: at its best match."""
        from kebab_tui.indexing.lookup import matching_position

        return matching_position(hit, located, query, self._parts.recipe)

    def matching_line(self, hit: SearchHit, query: str) -> MatchingLine:
        """The line of a hit that matches best: of the file as it is now, if it can still be found there."""
        from kebab_tui.search.matching_line import matching_line

        span, text = hit.citation.span, hit.text
        if hit.stale and not hit.gone and span.page is None:
            from kebab_tui.indexing.lookup import present_passage

            located = self.locate(hit)
            if (present := present_passage(hit, located, self._parts.recipe)) is not None:
                span, text = located.span, present
        return matching_line(hit, text, span.first, query)

    @_healed
    def locate_citation(self, target: str) -> CitedPlace:
        """Locate a citation, a chunk id, a path or a name in the current file."""
        from kebab_tui.indexing.lookup import locate_citation

        try:
            with self._parts.index.reader.catalogue() as catalogue:
                return locate_citation(catalogue, target, self._parts.recipe, self._find)
        except NotFoundError:
            if (found := self._in_version(target)) is None:
                raise
            return self._cited_place(found)

    def file_of(self, root: str, raw_path: bytes, *, as_copy: bool = False) -> str:
        """The path of a file to show or open; of a version in git, that of a read-only copy.

        `as_copy`: of a folder, too. Raises UnreadableFileError. Reads no index: for any thread.
        """
        from kebab_tui.files.copies import file_at

        return file_at(root, raw_path, os.path.join(self._versions_folder, "copies"), as_copy=as_copy)

    def quote(self, hit: SearchHit) -> QuotedHit | None:
        """A hit with its present text; None if its file is gone, is no text any more, or is private now."""
        from kebab_tui.indexing.quote import is_elsewhere, quote_hit, quote_indexed

        if self.is_shared(self.settings.index.url) and is_elsewhere(hit.root, hit.raw_path):
            return quote_indexed(hit)
        return quote_hit(hit, self._parts.recipe)

    @_healed
    def quote_target(self, target: str, filters: SearchFilters) -> QuotedNote:
        """The present lines of a path, a citation, a chunk id or a name; if not private."""
        from kebab_tui.indexing.quote import quote_found, quote_target

        def find(name: str, limit: int) -> list[FoundNote]:
            return self._find(name, limit, 0, filters)

        try:
            with self._parts.index.reader.catalogue() as catalogue:
                is_shared = self.is_shared(self.settings.index.url)
                return quote_target(catalogue, target, filters, self._parts.recipe, find, is_shared=is_shared)
        except NotFoundError:
            if (found := self._in_version(target, filters)) is None:
                raise
            return quote_found(found, target, self._parts.recipe)

    def last_indexed_ns(self) -> int:
        """When the last ingest or embedding ended; 0 if none did."""
        with self._parts.index.reader.catalogue() as catalogue:
            return max((run.finished_ns for run in catalogue.runs(1)), default=0)

    def may_share(self, root: str, raw_path: bytes) -> bool:
        """Whether a note is not private at this moment, whatever the index knows; False if unreadable.

        A note of a shared index whose file is not on this machine may: private ones are not published.

        To be asked about each note right before its text leaves; `SearchFilters.shareable` finds only
        notes that were not private when they were indexed. `root`: of the source, as in a hit.
        """
        from kebab_tui.indexing.lookup import may_share
        from kebab_tui.indexing.quote import is_elsewhere

        if self.is_shared(self.settings.index.url) and is_elsewhere(root, raw_path):
            return True
        return may_share(root, raw_path)

    def status(self) -> IndexStatus:
        from kebab_tui.doctor import index_status

        return index_status(self._parts)

    def vectors(self) -> VectorState:
        """The number of chunks with a vector, and the state of the vector file."""
        from kebab_tui.doctor import vector_state

        return vector_state(self._parts.semantics, self._parts.index)

    def pending(self) -> Pending:
        """The number of chunks without a vector, with an estimate from earlier runs."""
        from kebab_tui.doctor import pending

        return pending(self._parts.semantics, self._parts.index.reader)

    @property
    def models(self) -> ModelService:
        """List, check, add and compare models."""
        return self._parts.models

    def doctor(self) -> Iterator[Finding]:
        from kebab_tui.doctor import check_vectors

        yield from self._parts.index.check(self._parts.recipe.chunker)
        yield from check_vectors(self._parts.semantics, self._parts.index)
        if self.is_shared(self.settings.index.url):
            from msgspec import structs

            from kebab_tui.doctor import check_same_answers

            index = structs.replace(self.settings.index, url="")
            own = structs.replace(self.settings, index=index)
            local = Workspace(own, self._parts.index.folder)
            try:
                yield from check_same_answers(self, local)
            finally:
                local.close()
        if self._has_versions:
            yield from self._versions.findings(self._parts.recipe.chunker)

    # Write

    def add_source(self, source: Source, callbacks: Callbacks) -> Source:
        with self._parts.refilled_session("source add", callbacks) as session:
            return session.add(source)

    def new_source_id(self, root: str) -> SourceId:
        from kebab_tui.indexing.session import source_id_for

        return source_id_for(root, {source.source_id for source in self.sources()})

    def edit_source(
        self, source: SourceId, edited: Callable[[Source], Source], callbacks: Callbacks
    ) -> Source:
        """Change the details of a source, unless the configuration file states them."""
        from kebab_tui.indexing.ingest import declared_sources

        if source in {declared.source_id for declared in declared_sources(self.settings.sources)}:
            raise UsageError(
                f"the source {source} is declared in the configuration file",
                "change its entry under [[sources]] there, then run `kebab ingest`",
            )
        with self._parts.refilled_session("source edit", callbacks) as session:
            return session.edit(source, edited)

    def set_source_use(self, source: SourceId, use: SourceUse, callbacks: Callbacks | None = None) -> None:
        """Watch, pause or hide a source.

        A removed source is not searched any more, and deleted by the next writer; until then it can be
        watched again. `keeping_removed` delays the deletion.
        """
        from kebab_tui.indexing.ingest import declared_sources

        declared = {source.source_id for source in declared_sources(self.settings.sources)}
        if use == "removed" and source in declared:
            raise UsageError(
                f"the source {source} is declared in the configuration file",
                "remove its entry under [[sources]] there",
            )
        with self._parts.refilled_session(f"source {use}", callbacks or Callbacks()) as session:
            session.set_use(source, use)

    def keeping_removed(self) -> AbstractContextManager[None]:
        """Keep removed sources from being deleted while the context lasts, and this process lives."""
        return self._parts.index.requests().undoing()

    def remove_source(self, source: SourceId, callbacks: Callbacks) -> None:
        from kebab_tui.domain.versions import source_of

        for version in self._version_sources():
            if source_of(version.source_id) == source:
                self.remove_version(version.source_id, callbacks)
        with self._parts.refilled_session("source remove", callbacks) as session:
            session.writer.remove_source(source)

    def ingest(self, folders: Sequence[str], callbacks: Callbacks) -> IngestReport:
        """Index the named folders, or every source.

        A damaged database is set aside and all sources are indexed again. After a transient read
        error of the disk the database stays in use.
        """
        from kebab_tui.indexing.session import read_error

        try:
            return self._ingest(folders, callbacks)
        except StoreDamagedError:
            self.close()
            timeout = self.settings.index.lock_timeout_s
            aside = self._parts.index.recheck("ingest", timeout, callbacks.waiting)
        try:
            return self._ingest(folders, callbacks, healed=aside, read_error=not aside)
        except StoreDamagedError as error:
            if aside:
                raise
            raise read_error(self._parts.index) from error

    def embed(self, callbacks: Callbacks) -> EmbeddingReport:
        """Embed all chunks without a vector, then write the vector file; of versions, too."""
        report = self._embed(self._parts, callbacks)
        if report.cancelled or not self._has_versions:
            return report
        self._copy_vectors(callbacks)
        more = self._embed(self._versions, callbacks)
        return replace(
            more,
            embedded=report.embedded + more.embedded,
            seconds=report.seconds + more.seconds,
            not_saved=report.not_saved or more.not_saved,
        )

    def _embed(self, parts: Engine, callbacks: Callbacks) -> EmbeddingReport:
        from kebab_tui.indexing.embed import embed

        return embed(
            parts.semantics,
            lambda timeout_s, waiting: parts.refilled_session(
                "index --embed", replace(callbacks, waiting=waiting), timeout_s
            ),
            parts.index,
            callbacks,
            self.settings.index.lock_timeout_s,
        )

    def use_model(self, model: str, callbacks: Callbacks) -> None:
        """Switch to another model; `embed` creates its missing vectors."""
        from kebab_tui.indexing.embed import use

        card = self.models.find(model)
        with self._parts.refilled_session("model use", callbacks) as session:
            use(self._parts.semantics, session.writer, card.model_id)

    def rebuild_vectors(self, callbacks: Callbacks) -> int:
        """Rebuild the vector file; returns the number of vectors dropped because of damage."""
        from kebab_tui.indexing.embed import rebuild

        with self._parts.refilled_session("index --rebuild-vectors", callbacks) as session:
            return rebuild(self._parts.semantics, session.writer)

    def rebuild_full_text(self, callbacks: Callbacks) -> None:
        with self._parts.refilled_session("index --rebuild-fts", callbacks) as session:
            session.writer.rebuild_full_text()

    def publish(
        self,
        url: str,
        *,
        shards: Sequence[str] = (),
        grants: Sequence[str] = (),
        hnsw: bool = False,
        progress: Callable[[CopyProgress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Published | None:
        """Copy this index to PostgreSQL, without private notes; None if cancelled.

        `grants`: roles that may read it, `ROLE` or `ROLE:SOURCE`. `hnsw`: search vectors approximately.
        """
        from kebab_tui.domain.errors import ModelError
        from kebab_tui.storage.backends import load_publish

        if self.settings.index.url:
            raise UsageError("only an index on this machine can be copied", "leave --index out")
        module = load_publish((url, *shards))
        module.servers_of(url, shards)  # refuses a URL first of all
        try:
            card = self._parts.semantics.card()
            model = {"model": card.model_id, "fingerprint": card.fingerprint, "dims": card.dims}
        except ModelError:
            model = {}
        options = module.PublishOptions(
            tuple(shards), tuple(grants), hnsw, may_share=self.may_share, progress=progress,
            cancelled=cancelled, **model,
        )  # fmt: skip
        published: Published | None = module.publish(self._parts.index.folder, url, options)
        return published

    # Versions

    @property
    def _versions_folder(self) -> str:
        return os.path.join(self._parts.index.folder, "versions")

    @cached_property
    def _versions(self) -> VersionEngine:
        """The index of versions, beside that of the present notes; with the same model."""
        return VersionEngine(self.settings, self._versions_folder, self._parts)

    @property
    def _has_versions(self) -> bool:
        return self._versions.index.exists()

    def _version_sources(self) -> list[Source]:
        if not self._has_versions:
            return []
        with self._versions.catalogue() as catalogue:
            return catalogue.sources(counted=False)

    def stored_versions(self, source: str = "") -> list[Version]:
        """The versions of a source, or of all; not compared with their repositories."""
        from kebab_tui.domain.versions import source_of
        from kebab_tui.files.tree_root import version_of

        if not self._has_versions:
            return []
        with self._versions.catalogue() as catalogue:
            counts = catalogue.version_counts()
            return [
                version_of(one, counts.get(one.source_id, (0, 0)))
                for one in catalogue.sources(counted=False)
                if source in ("", source_of(one.source_id))
            ]

    def named_versions(self, source: SourceId, labels: Sequence[str]) -> list[Version]:
        """The versions of a source with these labels; raises NotFoundError."""
        from kebab_tui.files.tree_root import version_of
        from kebab_tui.indexing.versions import chosen

        self.known_source(source)
        return [version_of(one) for one in chosen(self._version_sources(), source, labels)]

    def versions(self, source: str = "") -> list[Version]:
        """The same, with what has become of their tags, branches and folders. Runs git."""
        return self.compared_versions(self.stored_versions(source))

    @staticmethod
    def compared_versions(versions: Sequence[Version]) -> list[Version]:
        """These versions, with what has become of their tags, branches and folders. Runs git."""
        from kebab_tui.indexing.versions import compared

        return compared(versions)

    def add_versions(
        self, source: SourceId, names: Sequence[str], glob: str, last: int, callbacks: Callbacks
    ) -> Iterator[VersionReport]:
        """Index tags, branches or commits of the repository of a source, one after the other."""
        from kebab_tui.indexing.versions import new_versions

        yield from self._index_versions(new_versions(self.known_source(source), names, glob, last), callbacks)

    def add_version_folder(
        self, source: SourceId, folder: str, label: str, callbacks: Callbacks
    ) -> Iterator[VersionReport]:
        """Index a folder as a version of a source."""
        from kebab_tui.indexing.versions import of_folder

        yield from self._index_versions([of_folder(self.known_source(source), folder, label)], callbacks)

    def refresh_versions(
        self, source: SourceId, labels: Sequence[str], callbacks: Callbacks
    ) -> Iterator[VersionReport | tuple[str, str]]:
        """Read moved and unfinished versions again; a label with the reason for one that cannot be."""
        from kebab_tui.domain.errors import SourceError
        from kebab_tui.indexing.versions import chosen, refreshed

        parent = self.known_source(source)
        if self._has_versions:
            with self._versions.session("source version refresh", callbacks):
                pass  # heals a damaged index: its versions are then unfinished
        for known in chosen(self._version_sources(), source, labels):
            try:
                now = refreshed(known, parent)
                yield from self._index_versions([now], callbacks)
            except SourceError as error:
                yield known.version_label, f"{error.message}; {error.hint}" if error.hint else error.message

    def remove_version(self, version: SourceId, callbacks: Callbacks) -> None:
        """Remove a version from the index; raises NotFoundError."""
        with self._versions.session("source version remove", callbacks) as session:
            cast("VersionWriter", session.writer).remove_version(version)

    def known_source(self, source: SourceId) -> Source:
        """The source of this name; raises NotFoundError."""
        known = {one.source_id: one for one in self.sources()}
        if source not in known:
            names = ", ".join(known) or "none"
            raise NotFoundError(f"there is no source named {source!r}", f"the sources are: {names}")
        return known[source]

    def _index_versions(self, sources: Sequence[Source], callbacks: Callbacks) -> Iterator[VersionReport]:
        from kebab_tui.indexing.versions import add_version

        for source in sources:
            with self._versions.session("source version add", callbacks) as session:
                report = add_version(session, source, self._parts.recipe, callbacks)
                if not report.cancelled:
                    session.writer.set_made_by(self._parts.recipe.all_made_by)
                session.writer.merge_full_text(callbacks.cancelled)
            self._copy_vectors(callbacks)
            yield report
            if report.cancelled:
                return

    def _copy_vectors(self, callbacks: Callbacks) -> int:
        """Give the texts of versions the vectors that the present notes have for them."""
        from kebab_tui.domain.errors import ModelError

        try:
            model = self._parts.semantics.card().fingerprint
        except (ModelError, NotIndexedError):
            return 0
        with self._versions.session("source version add", callbacks) as session:
            return cast("VersionWriter", session.writer).copy_vectors(self._parts.index.location, model)

    def versions_pending(self) -> int:
        """The number of texts of versions without a vector."""
        from kebab_tui.domain.errors import ModelError

        try:
            return self._versions.semantics.counts(self._versions.semantics.card())[0].texts
        except (ModelError, NotIndexedError):
            return 0

    def _asked(self, query: SearchQuery) -> tuple[Engine, SearchQuery]:
        """The index that a query is about: that of the present notes, or that of versions."""
        if not query.filters.versions and "version:" not in query.text.lower():
            return self._parts, query
        parsed = self.parse(query.text)
        if parsed.error is not None or not (query.filters.versions or parsed.filters.versions):
            return self._parts, query
        typed = SearchFilters(versions=parsed.filters.versions, sources=parsed.filters.sources)
        begun = query.text if query.typing else ""
        parts, filters = self._among(self.merge_filters(query.filters, typed), begun)
        return parts, replace(query, filters=filters)

    def _among(self, filters: SearchFilters | None, begun: str = "") -> tuple[Engine, SearchFilters]:
        """The index that filters are about, and the filters with the versions that are meant."""
        from kebab_tui.domain.versions import with_versions

        filters = filters or SearchFilters()
        if not filters.versions:
            return self._parts, filters
        return self._versions, with_versions(filters, self._version_sources(), begun=begun)

    def _in_version(self, target: str, filters: SearchFilters | None = None) -> Inspection | None:
        """What a target names in a version; None if it names no version."""
        from kebab_tui.indexing.version_lookup import inspect_version

        if not self._has_versions:
            return None
        with self._versions.catalogue() as catalogue:
            return inspect_version(catalogue, target, filters or SearchFilters())

    def _cited_place(self, found: Inspection) -> CitedPlace:
        """A place in a read-only copy."""
        from kebab_tui.domain.citation import Located
        from kebab_tui.indexing.lookup import CitedPlace

        span = found.cited or found.document.beginning
        path = self.file_of(found.root, found.document.raw_path, as_copy=True)
        return CitedPlace(found.cite(span), path, Located(span, "same"), is_copy=True)

    # Watch

    def watch(
        self, folders: Sequence[str], callbacks: WatchCallbacks, command: str, *, once: bool = False
    ) -> WatchSummary:
        """Index changes until stopped; while another process does so, wait to take over.

        `once`: only until everything is indexed and embedded; leave that to a process that watches.
        """
        from kebab_tui.indexing.daemon import IndexDaemon

        return IndexDaemon(replace(self._parts.worker_config(command), once=once), callbacks).run(folders)

    def live(self) -> LiveState | None:
        """The status of the indexing process; None if none runs."""
        return self._parts.live.read()

    def change_check(self) -> Callable[[], bool]:
        """A check, two `stat` calls cheap, whether the index or the live state may have changed.

        The death of the indexing process changes no file: poll `live` as well.
        """
        return self._parts.index.change_check()

    def watch_changes(self, changed: Callable[[], None]) -> DataFolderWatch:
        """A watch that calls `changed`, in a thread of its own, when `change_check` is worth a call.

        Start it with `keep`, and call that again now and then.
        """
        from kebab_tui.indexing.data_watch import DataFolderWatch

        return DataFolderWatch((self._parts.index.folder,), changed, contents=True)

    def request_rescan(self, paths: Sequence[str] = (), *, retry: bool = False) -> None:
        """Ask the indexing process to rescan files or folders, or everything.

        `retry`: also retry failed paths at once, without the usual delay.
        """
        from kebab_tui.storage.ports import Rescan

        asked = tuple(os.path.abspath(path) for path in paths)
        self._parts.index.requests().ask(Rescan(asked, retry))

    def embed_first(self, hits: Sequence[SearchHit]) -> None:
        """Ask the indexing process to embed the passages of these hits before others."""
        from kebab_tui.storage.ports import EmbedFirst

        if rows := tuple(hit.row for hit in hits if not hit.version):
            self._parts.index.requests().ask(EmbedFirst(rows))

    def _ingest(
        self, folders: Sequence[str], callbacks: Callbacks, healed: str = "", *, read_error: bool = False
    ) -> IngestReport:
        from kebab_tui.indexing.ingest import declared_sources, run_ingest

        with self._parts.session("ingest", callbacks) as session:
            session.declare(declared_sources(self.settings.sources))
            return run_ingest(session, self._parts.recipe, callbacks, folders, healed, read_error)
