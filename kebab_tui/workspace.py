"""The one door: all that the command line and the screen ask of an index.

What is heavy is imported by the verb that needs it. Holds no state of its own but the
settings and the parts behind the door.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kebab_tui import rules
from kebab_tui.domain.errors import NotIndexedError, StoreDamagedError, StoreLostError, UsageError
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.indexing.report import Callbacks as Callbacks
from kebab_tui.indexing.report import WatchCallbacks as WatchCallbacks

if TYPE_CHECKING:
    from kebab_tui.doctor import IndexStatus, Pending, VectorState
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.document import Document, DocumentState, Source
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import SourceId
    from kebab_tui.indexing.embed import EmbeddingReport
    from kebab_tui.indexing.lookup import CitedPlace, Inspection, ListedFile
    from kebab_tui.indexing.pipeline import Recipe
    from kebab_tui.indexing.report import Callbacks, IngestReport
    from kebab_tui.indexing.session import Session
    from kebab_tui.indexing.status import LiveReader, LiveState, WatchSummary
    from kebab_tui.indexing.worker import WorkerConfig
    from kebab_tui.search.engine import SearchEngine
    from kebab_tui.search.explanation import ExplainedResponse
    from kebab_tui.search.filter_keys import Completions
    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.search.why_not import WhyNot
    from kebab_tui.settings.settings import Settings
    from kebab_tui.storage.lock import DataFolder
    from kebab_tui.storage.sqlite.health import Finding
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.vector_search import ModelService, VectorSearch


# What stands behind the one door: the parts of an index, wired by the settings.
#
# Each is made when it is first asked for, and imported only then: a search never pays for
# reading, and nothing pays for a model it does not ask. Answers no question itself.


class Engine:
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
        fusion = HybridOptions(search.rrf_k, search.vector_weight, search.vector_weight_hangul, search.rerank)
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


class Workspace:
    """One index and the folders it covers."""

    def __init__(self, settings: Settings, data_folder: str) -> None:
        from kebab_tui.storage.lock import DataFolder

        self.settings = settings
        self.folder = DataFolder(data_folder)
        self._parts = Engine(settings, self.folder)

    def close(self) -> None:
        self._parts.close()

    @property
    def has_index(self) -> bool:
        return os.path.exists(self.folder.database)

    # What needs no index

    parse = staticmethod(rules.parse)
    remove_chip = staticmethod(rules.remove_chip)
    instant = staticmethod(rules.instant)
    marks = staticmethod(rules.marks)
    decode = staticmethod(rules.decode)
    refuse = staticmethod(rules.refuse)

    # Searching

    def warm_up(self, *, by_meaning: bool) -> Iterator[None]:
        """Load, a bit at each step, what the first question would wait for otherwise."""
        query = SearchQuery("kebab", "lexical", k=1)
        self.search(query)
        yield
        if by_meaning:
            yield from self._parts.semantics.open_by_steps()
            self.search(replace(query, mode="hybrid"))

    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        """The page of hits; a first answer may be a quick preview of the full ranking."""
        return self._parts.engine.search(query, first_answer)

    def recent(self, count: int, offset: int = 0) -> SearchResponse:
        """The notes that changed last, as hits without a query."""
        return self._parts.engine.recent(count, offset)

    def revision(self) -> int:
        """The number of the last commit."""
        with self._parts.reader.snapshot() as snapshot:
            return snapshot.revision

    def explain(self, query: SearchQuery) -> ExplainedResponse:
        """The same answer, with the figures behind every hit."""
        return self._parts.engine.explain(query)

    def why_not(self, query: SearchQuery, path: str) -> WhyNot:
        """What keeps a note out of the answer, or where in it the note stands."""
        from kebab_tui.indexing.lookup import find_document, why_not_indexed

        with self._parts.reader.catalogue() as catalogue:
            document = find_document(catalogue, path)
            if document is None or document.chunks == 0:
                return why_not_indexed(catalogue.sources(), path, document)
        return self._parts.engine.why_not(query, document)

    def completions(self) -> Completions:
        """What can be typed after the keys of a filter."""
        from kebab_tui.search.filter_keys import completions_of

        try:
            with self._parts.reader.catalogue() as catalogue:
                tags = [tag for tag, _ in catalogue.tags()]
                sources = [source.source_id for source in catalogue.sources()]
                return completions_of(tags, sources, catalogue.paths())
        except NotIndexedError:
            return completions_of((), (), ())

    # Looking around

    def sources(self) -> list[Source]:
        try:
            with self._parts.reader.catalogue() as catalogue:
                return catalogue.sources()
        except NotIndexedError:
            return []
        except StoreLostError:
            from kebab_tui.storage.sqlite import recovery

            return recovery.read(self.folder.sources)

    def check_folder(self, folder: str) -> None:
        """Raise where a folder is not there and was not a source before, which may come back."""
        from kebab_tui.files.walk import check_root
        from kebab_tui.indexing.session import relation
        from kebab_tui.storage.sqlite import recovery

        if not folder:
            raise UsageError("a folder has an empty name", "is a variable of your shell not set?")
        root = os.path.abspath(os.path.expanduser(folder))
        try:
            known = self.sources()
        except StoreDamagedError:  # who goes on from here sets it aside and reads the folders of the list
            known = recovery.read(self.folder.sources)
        related = relation(root, known)
        if related is None or related[0] != "same":
            check_root(root)

    def documents(
        self, filters: SearchFilters, states: Sequence[DocumentState] = (), limit: int = -1, offset: int = 0
    ) -> tuple[list[Document], int]:
        with self._parts.reader.catalogue() as catalogue:
            return catalogue.documents(filters, states, limit, offset)

    def file_states(self) -> Iterator[ListedFile]:
        """Every file of every source with its state, as the folders are now; what failed comes first."""
        from kebab_tui.indexing.lookup import file_states

        return file_states(self._parts.reader, self._parts.recipe.made_by)

    def inspect(self, target: str) -> Inspection:
        """A note or a chunk by path, citation or id, with the state of its file."""
        from kebab_tui.indexing.lookup import inspect

        with self._parts.reader.catalogue() as catalogue:
            return inspect(catalogue, target)

    def locate(self, hit: SearchHit) -> Located:
        """Where the passage of a hit stands in its file by now."""
        from kebab_tui.indexing.lookup import locate_hit

        return locate_hit(hit, self._parts.recipe)

    def locate_citation(self, target: str) -> CitedPlace:
        """Where the lines stand by now that a citation, a chunk's id or a path names."""
        from kebab_tui.indexing.lookup import locate_citation

        with self._parts.reader.catalogue() as catalogue:
            return locate_citation(catalogue, target, self._parts.recipe)

    def status(self) -> IndexStatus:
        from kebab_tui.doctor import index_status

        return index_status(self._parts, self.folder)

    def vectors(self) -> VectorState:
        """How many passages have a vector, and how the file of them is."""
        from kebab_tui.doctor import vector_state

        return vector_state(self._parts.semantics, self._parts.reader, self.folder)

    def pending(self) -> Pending:
        """How many passages have no vector yet, and how long the last run says they take."""
        from kebab_tui.doctor import pending

        return pending(self._parts.semantics, self._parts.reader)

    @property
    def models(self) -> ModelService:
        """The models that this index can use."""
        return self._parts.models

    def doctor(self) -> Iterator[Finding]:
        from kebab_tui.doctor import examine_semantics
        from kebab_tui.storage.sqlite.health import examine

        yield from examine(self.folder, self._parts.recipe.made_by)
        yield from examine_semantics(self._parts.semantics, self._parts.reader, self.folder)

    # Writing

    def add_source(self, source: Source, callbacks: Callbacks) -> Source:
        with self._parts.refilled_session("source add", callbacks) as session:
            return session.add(source)

    def new_source_id(self, root: str) -> SourceId:
        from kebab_tui.indexing.session import source_id_for

        return source_id_for(root, {source.source_id for source in self.sources()})

    def remove_source(self, source: SourceId, callbacks: Callbacks) -> None:
        with self._parts.refilled_session("source remove", callbacks) as session:
            session.writer.remove_source(source)

    def ingest(self, folders: Sequence[str], callbacks: Callbacks) -> IngestReport:
        """Bring the named folders, or every source, up to date.

        A database that turns out to be damaged is set aside and all sources are read anew; one that
        only seemed to be, as the disk failed to read once, is used again.
        """
        from kebab_tui.indexing.session import look_again
        from kebab_tui.storage.sqlite.connection import read_error

        try:
            return self._ingest(folders, callbacks)
        except StoreDamagedError:
            self.close()
            timeout = self.settings.index.lock_timeout_s
            aside = look_again(self.folder, timeout, "ingest", callbacks.waiting)
        try:
            return self._ingest(folders, callbacks, healed=aside, read_error=not aside)
        except StoreDamagedError as error:
            if aside:
                raise
            raise read_error(self.folder.database) from error

    def embed(self, callbacks: Callbacks) -> EmbeddingReport:
        """Give every passage that has none its vector, and write the vectors' file."""
        from kebab_tui.indexing.embed import embed

        return embed(
            self._parts.semantics,
            lambda timeout_s, waiting: self._parts.refilled_session(
                "index --embed", replace(callbacks, waiting=waiting), timeout_s
            ),
            self.folder,
            self._parts.reader,
            callbacks,
            self.settings.index.lock_timeout_s,
        )

    def use_model(self, model: str, callbacks: Callbacks) -> None:
        """Answer with another model from now on; vectors that it lacks are for `embed` to make."""
        from kebab_tui.indexing.embed import use

        card = self.models.find(model)
        with self._parts.refilled_session("model use", callbacks) as session:
            use(self._parts.semantics, session.writer, card.model_id)

    def rebuild_vectors(self, callbacks: Callbacks) -> int:
        """Make the vectors' file anew; gives how many vectors were dropped because some were damaged."""
        from kebab_tui.indexing.embed import rebuild

        with self._parts.refilled_session("index --rebuild-vectors", callbacks) as session:
            return rebuild(self._parts.semantics, session.writer)

    def rebuild_full_text(self, callbacks: Callbacks) -> None:
        with self._parts.refilled_session("index --rebuild-fts", callbacks) as session:
            session.writer.rebuild_full_text()

    # Keeping watch

    def watch(self, folders: Sequence[str], callbacks: WatchCallbacks, command: str) -> WatchSummary:
        """Keep the index in step until asked to stop; while another process does so, follow it."""
        from kebab_tui.indexing.daemon import IndexDaemon

        return IndexDaemon(self._parts.charge(command), callbacks).run(folders)

    def live(self) -> LiveState | None:
        """What the process that keeps the index in step tells of itself; None when there is none."""
        return self._parts.live.read()

    def change_check(self) -> Callable[[], bool]:
        """Asks at the cost of two `stat` whether something may have changed in the index or the live state.

        That the indexing process died or was stopped changes no file: ask `live` now and then, too.
        """
        from kebab_tui.storage.requests import ChangeCheck

        # A commit changes the log; the live state and the database are replaced, which changes the folder.
        return ChangeCheck(self.folder.root, self.folder.database + "-wal").may_have_changed

    def request_rescan(self, paths: Sequence[str] = (), *, retry: bool = False) -> None:
        """Have files or folders looked at again, or everything, by whoever keeps the index in step.

        `retry`: also what is set aside until later because it went wrong.
        """
        from kebab_tui.storage.requests import RequestFolder, Rescan

        asked = tuple(os.path.abspath(path) for path in paths)
        RequestFolder(self.folder.root).ask(Rescan(asked, retry))

    def _ingest(
        self, folders: Sequence[str], callbacks: Callbacks, healed: str = "", *, read_error: bool = False
    ) -> IngestReport:
        from kebab_tui.indexing.ingest import declared_sources, run_ingest

        with self._parts.session("ingest", callbacks) as session:
            session.declare(declared_sources(self.settings.sources))
            return run_ingest(session, self._parts.recipe, callbacks, folders, healed, read_error)
