"""The components of one index, wired by the settings.

Heavy modules are imported by the operation that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from kebab_tui.domain.errors import StoreDamagedError, StoreError

if TYPE_CHECKING:
    from kebab_tui.domain.document import Document
    from kebab_tui.domain.hit import SearchHit
    from kebab_tui.domain.ids import DocId
    from kebab_tui.domain.query import SearchFilters
    from kebab_tui.domain.versions import Version
    from kebab_tui.indexing.callbacks import Callbacks
    from kebab_tui.indexing.pipeline import Recipe
    from kebab_tui.indexing.session import Session
    from kebab_tui.indexing.status import LiveReader
    from kebab_tui.indexing.worker import WorkerConfig
    from kebab_tui.search.engine import SearchEngine
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.settings.settings import Settings
    from kebab_tui.storage.ports import Finding, Index, SharedOptions, VersionCatalogue
    from kebab_tui.vector_search import ModelService, VectorSearch


class Engine:
    """The components of one index, wired by the settings, each built at its first use."""

    def __init__(self, settings: Settings, data_folder: str, url: str | None = None) -> None:
        """`url`: of the index; None for the one of the settings."""
        from kebab_tui.storage.backends import open_index

        self._settings = settings
        self.index: Index = open_index(
            settings.index.url if url is None else url, data_folder, self._weights, self._shared
        )

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A read of this index: its errors say what to do."""
        yield

    def close(self) -> None:
        """Close open components; later use opens them again."""
        if "semantics" in self.__dict__:
            self.semantics.close()
        self.index.reader.close()

    @cached_property
    def live(self) -> LiveReader:
        from kebab_tui.indexing.status import LiveReader

        return LiveReader(self.index)

    @cached_property
    def engine(self) -> SearchEngine:
        from kebab_tui.domain import document
        from kebab_tui.files.file_state import file_state, shared_file_state
        from kebab_tui.formats import registry
        from kebab_tui.search.engine import SearchEngine, SearchOptions
        from kebab_tui.search.limits import HybridOptions
        from kebab_tui.storage.backends import is_shared

        search, chunking = self._settings.search, self._settings.chunking
        # Same value as `recipe.all_made_by`, but `recipe` imports all that reads notes.
        made_by = registry.all_made_by(document.chunker(chunking.target, chunking.cap))
        versions = frozenset({self.index.version(made_by), self.index.version("")})
        fusion = HybridOptions(search.rrf_k, search.vector_weight, search.vector_weight_hangul, search.rerank)
        state = shared_file_state if is_shared(self._settings.index.url) else file_state
        return SearchEngine(
            self.index.reader,
            lambda found: state(found.root, found.document.raw_path, found.document.fingerprint),
            SearchOptions(self._weights, search.snippet_chars, fusion, versions),
            self.semantics,
            knows_word=self.semantics.knows_word,
            of_versions=self._of_versions,
        )

    _of_versions: Callable[[Sequence[SearchHit], SearchFilters], tuple[SearchHit, ...]] | None = None
    """Names the versions of hits."""

    @cached_property
    def semantics(self) -> VectorSearch:
        return self._new_semantics()

    def _new_semantics(self) -> VectorSearch:
        from kebab_tui.vector_search import VectorSearch

        return VectorSearch(self.index, self._settings.index.embed_threads)

    @property
    def models(self) -> ModelService:
        from kebab_tui.vector_search import ModelService

        return ModelService(self.index, self.semantics, self._settings.index.embed_threads)

    @cached_property
    def recipe(self) -> Recipe:
        from kebab_tui.indexing.ingest import recipe_of

        return recipe_of(self._settings)

    @contextmanager
    def session(
        self, command: str, callbacks: Callbacks, timeout_s: float | None = None
    ) -> Iterator[Session]:
        """A write session for the named command. `timeout_s` defaults to the setting."""
        from kebab_tui.indexing.session import open_session

        index = self._settings.index
        timeout_s = index.lock_timeout_s if timeout_s is None else timeout_s
        with open_session(self.index, command, timeout_s, callbacks.waiting) as session:
            if session.unrestored:
                callbacks.notice(f"{session.unrestored}; see `kebab source list`")
            yield session

    @contextmanager
    def refilled_session(
        self, command: str, callbacks: Callbacks, timeout_s: float | None = None
    ) -> Iterator[Session]:
        """A session that first re-indexes all sources if the database was lost."""
        with self.session(command, callbacks, timeout_s) as session:
            if session.begun_anew:
                from kebab_tui.indexing.ingest import run_ingest

                run_ingest(session, self.recipe, callbacks)
            yield session

    def worker_config(self, command: str) -> WorkerConfig:
        """Configuration of an indexing process."""
        from kebab_tui.indexing.embed import ModelEmbedding
        from kebab_tui.indexing.ingest import declared_sources
        from kebab_tui.indexing.worker import WorkerConfig

        return WorkerConfig(
            self.index,
            self.recipe,
            declared_sources(self._settings.sources),
            ModelEmbedding(self._new_semantics, self.index),
            command,
        )

    @cached_property
    def _shared(self) -> SharedOptions | None:
        """How to read an index on servers; None for one on this machine."""
        index = self._settings.index
        if not index.url:
            return None
        from kebab_tui.storage.ports import SharedOptions

        roots = tuple((one.source, one.path) for one in index.roots)
        return SharedOptions(index.on_missing_shard or "fail", index.shard_deadline_s, roots)

    @cached_property
    def _weights(self) -> FieldWeights:
        from kebab_tui.search.ports import FieldWeights

        weights = self._settings.search.weights
        return FieldWeights(weights.heading, weights.text, weights.title, weights.grams)


_REFRESH = "`kebab source version refresh SRC` reads them again from git"


class VersionEngine(Engine):
    """The components of the index of versions; `main` has the model."""

    def __init__(self, settings: Settings, data_folder: str, main: Engine) -> None:
        super().__init__(settings, data_folder, url="")
        self._main = main

    def _new_semantics(self) -> VectorSearch:
        from kebab_tui.vector_search import VectorSearch

        return VectorSearch(self.index, self._settings.index.embed_threads, self._main.semantics)

    @contextmanager
    def refilled_session(
        self, command: str, callbacks: Callbacks, timeout_s: float | None = None
    ) -> Iterator[Session]:
        """Versions of a lost index are refreshed, not ingested."""
        with self.session(command, callbacks, timeout_s) as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Damage is not healed by `ingest`: that reads the present notes."""
        try:
            yield
        except StoreDamagedError as error:
            raise StoreError(f"the versions cannot be read: {error.message}", _REFRESH) from error

    @contextmanager
    def catalogue(self) -> Iterator[VersionCatalogue]:
        """The catalogue of an index of versions, which is one of this machine."""
        with self.reading(), self.index.reader.catalogue() as catalogue:
            yield cast("VersionCatalogue", catalogue)

    def findings(self, chunker: str) -> Iterator[Finding]:
        """What is wrong with the index of versions; one line if nothing is."""
        from kebab_tui.storage.ports import Finding

        wrong = [one for one in self.index.check(chunker) if one.level == "problem"]
        for one in wrong:
            yield replace(one, check=f"versions: {one.check}", fix=_REFRESH)
        if not wrong:
            with self.catalogue() as catalogue:
                counts = catalogue.version_counts()
            notes = sum(notes for notes, _ in counts.values())
            yield Finding("versions", "ok", f"{len(counts)} versions with {notes:,} notes")

    def _of_versions(self, hits: Sequence[SearchHit], filters: SearchFilters) -> tuple[SearchHit, ...]:
        from kebab_tui.domain.versions import labelled

        return labelled(hits, self._meant([hit.doc_id for hit in hits], filters))

    def named(self, notes: Sequence[FoundNote], filters: SearchFilters) -> list[FoundNote]:
        """The notes as notes of the versions that were asked for."""
        meant = self._meant([note.document.doc_id for note in notes], filters)
        return [
            replace(note, document=replace(note.document, source=version.source), root=root, version=version)
            for note in notes
            for root, version in (meant[note.document.doc_id],)
        ]

    def listed(self, notes: Sequence[Document], filters: SearchFilters) -> list[Document]:
        """The same without their roots."""
        meant = self._meant([note.doc_id for note in notes], filters)
        return [replace(note, source=meant[note.doc_id][1].version_id) for note in notes]

    def _meant(self, docs: Sequence[DocId], filters: SearchFilters) -> dict[DocId, tuple[str, Version]]:
        """For each note the root and the last of the versions asked for that have it."""
        from kebab_tui.files.tree_root import version_of

        with self.catalogue() as catalogue:
            known = {one.source_id: (one.root, version_of(one)) for one in catalogue.sources(counted=False)}
            having = catalogue.versions_of(docs)
        return {doc: known[one] for doc in docs for one in filters.version_ids if one in having.get(doc, ())}
