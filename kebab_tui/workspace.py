"""The one door: opens the parts, wires them, offers them to the command line and the screen.

Everything heavy is imported by the method that needs it: a search never pays for
reading, and nothing pays for a model it does not ask. Holds no state of its own but
the settings and the reading connections.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import NotIndexedError, StoreDamagedError
from kebab_tui.domain.query import SearchFilters, SearchQuery

if TYPE_CHECKING:  # a name `as` itself is a type that the faces may take from here
    from kebab_tui.domain.document import Document, DocumentState
    from kebab_tui.domain.hit import SearchResponse
    from kebab_tui.domain.identity import SourceId
    from kebab_tui.domain.source import Source
    from kebab_tui.embedding.catalogue import ListedModel as ListedModel
    from kebab_tui.indexing.embedding_job import EmbeddingProgress as EmbeddingProgress
    from kebab_tui.indexing.embedding_job import EmbeddingReport as EmbeddingReport
    from kebab_tui.indexing.inspection import Inspection as Inspection
    from kebab_tui.indexing.pipeline import Recipe
    from kebab_tui.indexing.report import IngestReport as IngestReport
    from kebab_tui.indexing.report import Progress as Progress
    from kebab_tui.indexing.report import SourceReport as SourceReport
    from kebab_tui.indexing.session import Session
    from kebab_tui.search.engine import SearchEngine
    from kebab_tui.search.explanation import ExplainedHit as ExplainedHit
    from kebab_tui.search.explanation import ExplainedResponse as ExplainedResponse
    from kebab_tui.search.explanation import LexicalExplanation as LexicalExplanation
    from kebab_tui.search.explanation import SemanticExplanation as SemanticExplanation
    from kebab_tui.search.fusion import Fused as Fused
    from kebab_tui.search.fusion import FusionSettings as FusionSettings
    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.search.why_not import WhyNot as WhyNot
    from kebab_tui.semantics.half import SemanticHalf
    from kebab_tui.semantics.health import Pending as Pending
    from kebab_tui.semantics.health import VectorState as VectorState
    from kebab_tui.semantics.shelf import ModelShelf
    from kebab_tui.semantics.shelf import Shelved as Shelved
    from kebab_tui.semantics.shelf import Switch as Switch
    from kebab_tui.settings.model import Settings
    from kebab_tui.store.catalogue import Figures
    from kebab_tui.store.catalogue import Run as Run
    from kebab_tui.store.health import Finding as Finding
    from kebab_tui.store.lock import Holder as Holder
    from kebab_tui.store.reader import StoreReader


@dataclass(frozen=True, slots=True)
class Callbacks:
    """How a long verb talks to whoever started it."""

    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    waiting: Callable[[Holder | None], None] = lambda _: None
    embedding: Callable[[EmbeddingProgress], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Status:
    """The index at a glance."""

    figures: Figures
    expected_lexical_version: str
    vectors: VectorState
    sources: list[Source]
    runs: list[Run]
    database: str
    database_bytes: int
    holder: Holder | None


class Workspace:
    """One index and the folders it covers."""

    def __init__(self, settings: Settings, data_folder: str) -> None:
        from kebab_tui.store.folder import DataFolder

        self.settings = settings
        self.folder = DataFolder(data_folder)

    def close(self) -> None:
        if "_semantics" in self.__dict__:
            self._semantics.close()
        if "_reader" in self.__dict__:
            self._reader.close()

    @property
    def has_index(self) -> bool:
        return os.path.exists(self.folder.database)

    # Searching

    def search(self, query: SearchQuery) -> SearchResponse:
        return self._engine.search(query)

    def explain(self, query: SearchQuery) -> ExplainedResponse:
        """The same answer, with the figures behind every hit."""
        return self._engine.explain(query)

    def why_not(self, query: SearchQuery, path: str) -> WhyNot:
        """What keeps a note out of the answer, or where in it the note stands."""
        from kebab_tui.indexing.inspection import find_document, why_not_indexed

        with self._reader.catalogue() as catalogue:
            document = find_document(catalogue, path)
            if document is None or document.chunks == 0:
                return why_not_indexed(catalogue.sources(), path, document)
        return self._engine.why_not(query, document)

    def instant(self, date: str) -> int | None:
        """A date as it may be typed in a filter (`2026-01`, `7d`), in nanoseconds; None when it is none."""
        from datetime import datetime

        from kebab_tui.search.dates import instant

        return instant(date, datetime.now())  # noqa: DTZ005 - the machine's own time zone is meant

    # Looking around

    def sources(self) -> list[Source]:
        try:
            with self._reader.catalogue() as catalogue:
                return catalogue.sources()
        except NotIndexedError:
            return []

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        with self._reader.catalogue() as catalogue:
            return catalogue.documents(filters, states, limit, offset)

    def inspect(self, target: str) -> Inspection:
        """A note or a chunk by path, citation or id, with the state of its file."""
        from kebab_tui.indexing.inspection import inspect

        with self._reader.catalogue() as catalogue:
            return inspect(catalogue, target)

    def status(self) -> Status:
        from kebab_tui.store import schema
        from kebab_tui.store.lock import WriterLock

        with self._reader.catalogue() as catalogue:
            return Status(
                figures=catalogue.figures(),
                expected_lexical_version=schema.lexical_version(schema.fts_signature(), self._recipe.made_by),
                vectors=self.vectors(),
                sources=catalogue.sources(),
                runs=catalogue.runs(5),
                database=self.folder.database,
                database_bytes=self.folder.database_bytes(),
                holder=WriterLock(self.folder.lock).holder(),
            )

    def vectors(self) -> VectorState:
        """How many passages have a vector, and how the file of them is."""
        from kebab_tui.semantics.health import vector_state

        return vector_state(self._semantics, self._reader, self.folder)

    def pending(self) -> Pending:
        """How many passages have no vector yet, and how long the last run says they take."""
        from kebab_tui.semantics.health import pending

        return pending(self._semantics, self._reader)

    @property
    def models(self) -> ModelShelf:
        """The models that this index can use."""
        from kebab_tui.semantics.shelf import ModelShelf

        threads = self.settings.index.embed_threads
        return ModelShelf(self.folder, self._reader, self._semantics, threads)

    def doctor(self) -> Iterator[Finding]:
        from kebab_tui.semantics.health import examine_semantics
        from kebab_tui.store.health import examine

        yield from examine(self.folder, self._recipe.made_by)
        yield from examine_semantics(self._semantics, self._reader, self.folder)

    # Writing

    def add_source(self, source: Source, callbacks: Callbacks) -> Source:
        with self._refilled_session("source add", callbacks) as session:
            return session.add(source)

    def new_source_id(self, root: str) -> SourceId:
        from kebab_tui.indexing.source_names import source_id_for

        return source_id_for(root, {source.source_id for source in self.sources()})

    def remove_source(self, source: SourceId, callbacks: Callbacks) -> None:
        with self._refilled_session("source remove", callbacks) as session:
            session.writer.remove_source(source)

    def ingest(self, folders: Sequence[str], callbacks: Callbacks) -> IngestReport:
        """Bring the named folders, or every source, up to date.

        A database that turns out to be damaged is set aside and all sources are read anew.
        """
        from kebab_tui.indexing.session import start_over

        try:
            return self._ingest(folders, callbacks)
        except StoreDamagedError:
            self.close()
            timeout = self.settings.index.lock_timeout_s
            aside = start_over(self.folder, timeout, "ingest", callbacks.waiting)
            return self._ingest(folders, callbacks, healed=aside)

    def embed(self, callbacks: Callbacks) -> EmbeddingReport:
        """Give every passage that has none its vector, and write the vectors' file."""
        from kebab_tui.semantics.work import embed

        with self._refilled_session("index --embed", callbacks) as session:
            return embed(
                self._semantics, session.writer, self._reader, callbacks.embedding, callbacks.cancelled
            )

    def use_model(self, model: str, callbacks: Callbacks) -> None:
        """Answer with another model from now on; vectors that it lacks are for `embed` to make."""
        from kebab_tui.semantics.work import use

        card = self.models.find(model)
        with self._refilled_session("model use", callbacks) as session:
            use(self._semantics, session.writer, card.model_id)

    def rebuild_vectors(self, callbacks: Callbacks) -> int:
        """Make the vectors' file anew; gives how many vectors were dropped because some were damaged."""
        from kebab_tui.semantics.work import rebuild

        with self._refilled_session("index --rebuild-vectors", callbacks) as session:
            return rebuild(self._semantics, session.writer, self._reader)

    def rebuild_full_text(self, callbacks: Callbacks) -> None:
        with self._refilled_session("index --rebuild-fts", callbacks) as session:
            session.writer.rebuild_full_text()

    def _ingest(self, folders: Sequence[str], callbacks: Callbacks, healed: str = "") -> IngestReport:
        from kebab_tui.indexing.configured import declared_sources

        with self._session("ingest", callbacks) as session:
            session.declare(declared_sources(self.settings.sources))
            return self._bring_up_to_date(session, folders, callbacks, healed)

    def _bring_up_to_date(
        self, session: Session, folders: Sequence[str], callbacks: Callbacks, healed: str = ""
    ) -> IngestReport:
        from kebab_tui.indexing.ingest import Watchers
        from kebab_tui.indexing.run import run_ingest

        watchers = Watchers(callbacks.progress, callbacks.cancelled)
        return run_ingest(session, self._recipe, watchers, folders, healed)

    @contextmanager
    def _refilled_session(self, command: str, callbacks: Callbacks) -> Iterator[Session]:
        """A database that was lost or set aside is empty: its notes are read before anything else is done."""
        with self._session(command, callbacks) as session:
            if session.begun_anew:
                self._bring_up_to_date(session, (), callbacks)
            yield session

    def _session(self, command: str, callbacks: Callbacks) -> AbstractContextManager[Session]:
        from kebab_tui.indexing.session import open_session

        index = self.settings.index
        return open_session(
            self.folder, self._reader, command, index.lock_timeout_s, callbacks.waiting, index.bulk_chunks
        )

    @cached_property
    def _engine(self) -> SearchEngine:
        from kebab_tui.search.engine import SearchEngine, SearchOptions
        from kebab_tui.search.hybrid_options import HybridOptions
        from kebab_tui.store.file_state import file_state

        search = self.settings.search
        fusion = HybridOptions(
            search.rrf_k, search.vector_weight, search.vector_weight_hangul, search.second_look
        )
        return SearchEngine(
            self._reader,
            lambda found: file_state(found.root, found.document.raw_path, found.document.fingerprint),
            SearchOptions(self._weights, search.snippet_chars, fusion),
            self._semantics,
        )

    @cached_property
    def _semantics(self) -> SemanticHalf:
        from kebab_tui.semantics.half import SemanticHalf

        return SemanticHalf(self.folder, self._reader, self.settings.index.embed_threads)

    @cached_property
    def _weights(self) -> FieldWeights:
        from kebab_tui.search.ports import FieldWeights

        weights = self.settings.search.weights
        return FieldWeights(weights.heading, weights.text, weights.title, weights.grams)

    @cached_property
    def _reader(self) -> StoreReader:
        from kebab_tui.store.reader import StoreReader

        return StoreReader(self.folder, self._weights)

    @cached_property
    def _recipe(self) -> Recipe:
        from kebab_tui.indexing.configured import recipe_of

        return recipe_of(self.settings)
