"""What stands behind the one door: the parts of an index, wired by the settings.

Each is made when it is first asked for, and imported only then: a search never pays for
reading, and nothing pays for a model it does not ask. Answers no question itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.indexing.pipeline import Recipe
    from kebab_tui.indexing.report import Callbacks
    from kebab_tui.indexing.session import Session
    from kebab_tui.indexing.status import LiveReader
    from kebab_tui.indexing.worker import WorkerConfig
    from kebab_tui.search.engine import SearchEngine
    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.settings.settings import Settings
    from kebab_tui.storage.lock import DataFolder
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.vector_search import ModelService, VectorSearch


class Parts:
    def __init__(self, settings: Settings, folder: DataFolder) -> None:
        self._settings = settings
        self._folder = folder

    def close(self) -> None:
        """Let go of what was opened; whatever is asked again opens anew."""
        if "semantics" in self.__dict__:
            self.semantics.close()
        if "reader" in self.__dict__:
            self.reader.close()

    @cached_property
    def reader(self) -> StoreReader:
        from kebab_tui.storage.sqlite.reader import StoreReader

        return StoreReader(self._folder, self._weights)

    @cached_property
    def live(self) -> LiveReader:
        from kebab_tui.indexing.status import LiveReader

        return LiveReader(self._folder)

    @cached_property
    def engine(self) -> SearchEngine:
        from kebab_tui.domain import document
        from kebab_tui.search.engine import SearchEngine, SearchOptions
        from kebab_tui.search.limits import HybridOptions
        from kebab_tui.storage.sqlite import schema
        from kebab_tui.storage.sqlite.rows import file_state

        search, chunking = self._settings.search, self._settings.chunking
        # What `recipe` says, too; but that would load all that reads notes.
        made_by = document.made_by(document.chunker(chunking.target, chunking.cap))
        fusion = HybridOptions(
            search.rrf_k, search.vector_weight, search.vector_weight_hangul, search.second_look
        )
        return SearchEngine(
            self.reader,
            lambda found: file_state(found.root, found.document.raw_path, found.document.fingerprint),
            SearchOptions(self._weights, search.snippet_chars, fusion, schema.current_versions(made_by)),
            self.semantics,
        )

    @cached_property
    def semantics(self) -> VectorSearch:
        return self._new_semantics()

    def _new_semantics(self) -> VectorSearch:
        from kebab_tui.vector_search import VectorSearch

        return VectorSearch(self._folder, self.reader, self._settings.index.embed_threads)

    @property
    def models(self) -> ModelService:
        from kebab_tui.vector_search import ModelService

        return ModelService(self._folder, self.reader, self.semantics, self._settings.index.embed_threads)

    @cached_property
    def recipe(self) -> Recipe:
        from kebab_tui.indexing.ingest import recipe_of

        return recipe_of(self._settings)

    @contextmanager
    def session(
        self, command: str, callbacks: Callbacks, timeout_s: float | None = None
    ) -> Iterator[Session]:
        """A time of writing, for the command of that name. `timeout_s`: else the settings say it."""
        from kebab_tui.indexing.session import open_session

        index = self._settings.index
        timeout_s = index.lock_timeout_s if timeout_s is None else timeout_s
        with open_session(
            self._folder, self.reader, command, timeout_s, callbacks.waiting, index.bulk_chunks
        ) as session:
            if session.unrestored:
                callbacks.notice(f"{session.unrestored}; see `kebab source list`")
            yield session

    @contextmanager
    def refilled_session(
        self, command: str, callbacks: Callbacks, timeout_s: float | None = None
    ) -> Iterator[Session]:
        """The same, and a database that was lost, and so is empty, has its notes read before all else."""
        with self.session(command, callbacks, timeout_s) as session:
            if session.begun_anew:
                from kebab_tui.indexing.ingest import run_ingest

                run_ingest(session, self.recipe, callbacks)
            yield session

    def charge(self, command: str) -> WorkerConfig:
        """What a keeper of this index has to know."""
        from kebab_tui.indexing.embed import ModelEmbedding
        from kebab_tui.indexing.ingest import declared_sources
        from kebab_tui.indexing.worker import WorkerConfig
        from kebab_tui.storage.lock import WriterLock

        return WorkerConfig(
            self._folder,
            self.reader,
            self.recipe,
            declared_sources(self._settings.sources),
            ModelEmbedding(self._new_semantics, self.reader, WriterLock(self._folder.embedding_lock)),
            self._settings.index.bulk_chunks,
            command,
        )

    @cached_property
    def _weights(self) -> FieldWeights:
        from kebab_tui.search.ports import FieldWeights

        weights = self._settings.search.weights
        return FieldWeights(weights.heading, weights.text, weights.title, weights.grams)
