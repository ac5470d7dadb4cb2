"""The thread that talks to the engine: the latest query wins, and the screen never waits.

It opens the engine after the first paint. Every query has a generation, its results carry it,
and the application drops all but the latest. Jobs (the next page, locating a hit, why
not, suggestions) wait behind the query, and one long job works in steps behind all of
them. In between and when idle, the thread polls for commits. Documents with pages are read in
another thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from kebab_tui import memory
from kebab_tui.domain.citation import Located
from kebab_tui.domain.errors import (
    Failure,
    KebabError,
    NotFoundError,
    NotIndexedError,
    RawQueryError,
    UsageError,
    defect,
    failure_of,
)
from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkRow, DocId, SourceId
from kebab_tui.domain.interruption import Superseded, interruptible
from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.tui.messages import (
    CompletionsReady,
    CorpusChanged,
    EngineReady,
    EngineWarm,
    Explained,
    FolderCounted,
    HitLocated,
    HitsLocated,
    LinkFollowed,
    LinksCounted,
    LinkSection,
    LinksFound,
    LinksPart,
    LiveChanged,
    LocatedHit,
    MoreFound,
    NotesFound,
    PathsFound,
    Refused,
    ScopeFound,
    SearchDone,
    SourceChanged,
    SourcesCounted,
    SuggestionsReady,
    WhyNotReady,
)
from kebab_tui.tui.note_hits import hit_of, is_whole, path_of
from kebab_tui.tui.page_thread import PageThread
from kebab_tui.tui.samples import SAMPLE_FOLDER
from kebab_tui.tui.scope import Scope, scope_of
from kebab_tui.tui.suggestions import Suggestion, ordered, shorter

if TYPE_CHECKING:
    from kebab_tui.domain.document import SourceUse
    from kebab_tui.domain.links import LinkDirection, NoteLink
    from kebab_tui.indexing.data_watch import DataFolderWatch
    from kebab_tui.indexing.folder_count import FolderCount
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.search.find_names import FoundNote
    from kebab_tui.workspace import Workspace

Post = Callable[[Message], object]

_PATHS = 50
"""How many paths the why-not prompt offers."""

_POLL_S = 0.1
"""Interval of polls for commits until the watch of the data folder has been started."""
_REST_S = 1.0
"""The same afterwards: the system may have no events to give."""
_POLL_UNCHANGED_S = 1.0
"""Interval of polls without a changed file: a process may have died."""
_TICK_S = 0.001
_QUIET_S = 0.7
"""Pause between polls for commits while the user types and after each commit."""
_PAINT_S = 0.05
"""How long the semantic search waits until the keyword hits are painted."""
_STEPS_S = 0.03
"""A long job works this long between two polls; a request interrupts it after one step."""
_UNKNOWN = -1
_OF_QUERY = ("page", "explain", "suggest")
"""Jobs that are of no use once there is another query."""

FIRST_LINKS = 300
"""Links of each direction that are shown at once."""
_LINKS = 2_000
"""Links that are read between two requests."""
MOST_LINKS = 20_000
COUNTED_LINKS = 1_000
"""From this number on, links are not counted exactly."""
MOST_SIMILAR = 10
LEAST_COSINE = 0.4
"""Notes of a lower cosine do not count as similar."""


@dataclass(frozen=True, slots=True)
class _QueryJob:
    generation: int
    query: SearchQuery
    explain: bool
    again: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """A small request beside the query, answered by one message or none."""

    name: str
    run: Callable[[Workspace], Message | None]
    generation: int = -1
    """The query that it belongs to, if any."""


class EngineThread:
    """Started after the first paint; `close` returns at once, even during a search."""

    def __init__(
        self,
        open_workspace: Callable[[], Workspace],
        *,
        loads_model: bool = True,
        folders: tuple[str, ...] | None = (),
    ) -> None:
        """`loads_model`: expect semantic queries, so load the model before the first.

        `folders`: search only these; None: the source around the current folder, else everything.
        """
        self._open = open_workspace
        self._post: Post = lambda _: None
        self._loads_model = loads_model
        self._ready: EngineReady | None = None
        self._warming: Iterator[None] | None = None
        self._wake = threading.Condition()
        self._folders = folders
        self._scope: Scope | None = None
        """Unknown after a change of the folders or of the index."""
        self._scope_shown = Scope()
        self._query: _QueryJob | None = None
        self._cancelled = False
        """Whether nobody waits for the running query any more."""
        self._is_painted = False
        self._jobs: deque[_Job] = deque()
        self._long_job: Callable[[Workspace], Iterator[bool]] | None = None
        self._steps: Iterator[bool] | None = None
        self._has_steps = False
        """Whether the next step of the long job need not wait for the next poll."""
        self._closing = False
        self._revision = 0
        self._live: LiveState | None = None
        self._asked: set[ChunkRow] = set()
        """The hits on the screen, whose vectors the indexing process was asked for."""
        self._watch: DataFolderWatch | None = None
        self._has_heard = False
        """Whether the watch has reported a change that is not looked at yet."""
        self._may_have_changed: Callable[[], bool] = lambda: True
        self._poll_anyway_at = 0.0
        self._is_read = False
        """Whether the revision was read since a file may have changed."""
        self._quiet_until = 0.0
        self._has_completions = True
        """Whether the completions were read, or will be, since the last commit."""
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._workspace: Workspace | None = None
        self._pages = PageThread()
        self._removed = contextlib.ExitStack()
        self._keeps_removed = False

    def start(self, post: Post) -> None:
        """Open the engine, and post all results from now on."""
        self._post = post
        self._thread.start()

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._removed.close()
        if (watch := self._watch) is not None:
            watch.close()

    # Requests, from the application

    def ask(self, generation: int, query: SearchQuery, explain: bool, again: bool = False) -> None:
        """Search; a blank query lists recent changes. Replaces a waiting query.

        `again`: only a complete response may replace the one on the screen.
        """
        with self._wake:
            if self._jobs:
                self._drop(*_OF_QUERY)
            self._query = _QueryJob(generation, query, explain, again)
            self._wake.notify()

    def search_in(self, folders: tuple[str, ...]) -> None:
        """Search only these folders, everything without any, from the next query on."""
        with self._wake:
            self._folders, self._scope = folders, None
            self._wake.notify()

    def update_completions(self) -> None:
        """Read the values for completion again if a commit may have changed them."""
        with self._wake:
            if not self._has_completions:
                self._has_completions = True
                self._jobs.append(_Job("completions", self._read_completions))
                self._wake.notify()

    def cancel(self) -> None:
        """Drop the waiting query, and end the one that runs."""
        with self._wake:
            self._query = None
            self._cancelled = True

    def painted(self) -> None:
        """The first response is on the screen: the semantic search can go on."""
        with self._wake:
            self._is_painted = True
            self._wake.notify()

    def load_page(self, generation: int, query: SearchQuery) -> None:
        """Load another page of a query."""
        self._send(
            _Job(
                "page",
                lambda workspace: MoreFound(generation, _search(workspace, self._scoped(query))),
                generation,
            )
        )

    def explain(self, generation: int, query: SearchQuery) -> None:
        """Load the scores of one page; replaces an earlier request."""
        job = _Job(
            "explain",
            lambda workspace: Explained(generation, workspace.explain(self._scoped(query))),
            generation,
        )
        self._send(job, replaces=True)

    def suggest(self, generation: int, query: SearchQuery) -> None:
        """Count the hits with other spellings, without each filter and without each word."""

        def run(workspace: Workspace) -> Message:
            found = []
            others = [Suggestion("instead", part, text) for part, text in workspace.respelled(query.text)]
            if self._filters.active:
                others.append(Suggestion("everywhere", "", query.text))
            for other in (*others, *shorter(query.text, workspace.parse(query.text))):
                if self._query is not None or self._closing:
                    return SuggestionsReady(generation, ())
                # Count as the box would search if the suggestion were typed.
                asked = replace(query, text=other.text, k=1, typing=True)
                response = workspace.search(asked if other.kind == "everywhere" else self._scoped(asked))
                found.append(replace(other, total=response.total_matches))
            return SuggestionsReady(generation, ordered(found))

        self._send(_Job("suggest", run))

    def locate(self, hit: SearchHit) -> None:
        """Locate the passage of a hit in its file; replaces an earlier request."""
        job = _Job("locate", lambda workspace: HitLocated(hit, _locate(workspace, hit)))
        self._send_located((hit,), job, replaces=True)

    def locate_all(
        self, number: int, hits: Sequence[SearchHit], query: str, *, context: bool = False
    ) -> None:
        """Locate these passages, and their best matches of `query`, before an action on them.

        `context`: write them as context for a model, too.
        """

        def run(workspace: Workspace) -> Message:
            located = []
            for hit in hits:
                try:
                    place = _locate(workspace, hit)
                    position = workspace.matching_position(hit, place, query)
                    copy = workspace.file_of(hit.root, hit.raw_path, as_copy=True) if hit.version else ""
                    located.append(LocatedHit(hit, place, position=position, copy=copy))
                except KebabError as error:
                    located.append(LocatedHit(hit, None, failure_of(error)))
            text = _context(workspace, located) if context else ""
            return HitsLocated(number, tuple(located), text)

        self._send_located(hits, _Job("locate_all", run))

    def find_paths(self, part: str) -> None:
        """Find notes for the why-not prompt."""

        def run(workspace: Workspace) -> Message:
            found = [note for note in workspace.find(part, _PATHS) if not part or note.is_near]
            paths = [note.document.path for note in found]
            unique = (  # a path that two folders have names neither of its notes
                note.location if paths.count(path) > 1 else path
                for note, path in zip(found, paths, strict=True)
            )
            return PathsFound(part, tuple(unique))

        self._send(_Job("paths", run), replaces=True)

    def find_notes(
        self, typed: str, limit: int, recent: tuple[DocId, ...], home: tuple[DocId, ...] | None
    ) -> None:
        """Find notes by name; replaces an earlier request. Without a name, `recent` notes come first.

        `home`: notes whose folder is the one for new notes, if they exist; None if it is known.
        """

        def run(workspace: Workspace) -> Message:
            try:
                place = None if home is None else _home(workspace, home)
                filters = self._filters
                if typed.strip():
                    named = workspace.find(typed, limit, filters=filters)
                    found = [note for note in named if note.matched is not None]
                    return NotesFound(typed, limit, tuple(found), place)
                notes = {note.document.doc_id: note for note in _notes(workspace, recent, filters)}
                for note in workspace.find("", limit, filters=filters):
                    notes.setdefault(note.document.doc_id, note)
                return NotesFound(typed, limit, tuple(notes.values())[:limit], place)
            except Exception as error:  # noqa: BLE001 - the page shows a defect, too
                return NotesFound(typed, limit, failure_of(error) or defect(error))

        self._send(_Job("notes", run), replaces=True)
        if not typed.strip():
            self._send(_Job("names", _read_names))

    def find_links(self, number: int, note: SearchHit) -> None:
        """Find all that a note is related to; replaces an earlier request."""
        self.run_in_steps(lambda workspace: _links_by_steps(workspace, number, note, self._post_result))

    def count_links(self, note: SearchHit) -> None:
        """Count what a note is related to; by meaning too, if the vectors are open."""
        by_meaning = self._loads_model and self._warming is None
        self.run_in_steps(lambda workspace: _count_by_steps(workspace, note, by_meaning, self._post_result))

    def follow(self, hit: SearchHit) -> None:
        """Find the first link in the lines of a hit; in the whole note if it is one."""

        def run(workspace: Workspace) -> Message:
            try:
                return LinkFollowed(hit, _first_link(workspace, hit))
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                return LinkFollowed(hit, failure_of(error) or defect(error))

        self._send(_Job("follow", run), replaces=True)

    def why_not(self, query: SearchQuery, path: str) -> None:
        """Find out why the note at `path` is not among the hits."""

        def run(workspace: Workspace) -> Message:
            try:
                verdict = workspace.why_not(self._scoped(query), path)
                note = None
                if verdict.passage is None and verdict.stage != "not indexed":
                    document = workspace.inspect(path).document
                    note = next((hit_of(one) for one in _notes(workspace, (document.doc_id,))), None)
                return WhyNotReady(path, verdict, note)
            except Exception as error:  # noqa: BLE001 - the prompt shows a defect, too
                return WhyNotReady(path, failure_of(error) or defect(error))

        self._send(_Job("why_not", run))

    def rescan(self, paths: Sequence[str] = (), *, retry: bool = False) -> None:
        """Ask the indexing process to check some files, or all."""
        self._send(_Job("rescan", lambda workspace: workspace.request_rescan(paths, retry=retry)))

    def count_folder(self, folder: str, is_unwanted: Callable[[], bool]) -> None:
        """Count the notes of a new folder, in a thread of its own; posts `FolderCounted` again and again."""

        def progress(count: FolderCount) -> None:
            self._post(FolderCounted(folder, count, workspace.must_ask(count)))

        def stopping() -> bool:
            return self._closing or is_unwanted()

        workspace = self._open()

        def run() -> Message:
            try:
                count = workspace.count_folder(folder, progress, stopping)
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                return FolderCounted(folder, None, done=True, failure=failure_of(error) or defect(error))
            finally:
                workspace.close()
            return FolderCounted(folder, count, count is not None and workspace.must_ask(count), done=True)

        self._beside("count", run)

    def change_source(self, source: SourceId, use: SourceUse) -> None:
        """Watch, pause or remove a source, in a thread of its own; a removal can be undone until the end."""
        workspace = self._open()

        def run() -> Message:
            try:
                if use == "removed" and not self._keeps_removed:
                    self._keeps_removed = True
                    self._removed.enter_context(workspace.keeping_removed())
                workspace.set_source_use(source, use)
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                return SourceChanged(source, use, failure_of(error) or defect(error))
            finally:
                workspace.close()
            return SourceChanged(source, use)

        self._beside("source", run)

    def _beside(self, name: str, run: Callable[[], Message]) -> None:
        def post() -> None:
            message = run()
            if not self._closing:
                self._post(message)

        threading.Thread(target=post, name=name, daemon=True).start()

    def run_in_steps(self, job: Callable[[Workspace], Iterator[bool]]) -> None:
        """Run a long job while there is nothing else to do; replaces an earlier one.

        It ends each step with `yield`: True if the next one can follow at once.
        """
        with self._wake:
            self._long_job, self._steps, self._has_steps = job, None, True
            self._wake.notify()

    def stop_steps(self) -> None:
        """End the long job after its present step."""
        with self._wake:
            self._long_job = self._steps = None
            self._has_steps = False

    def _send(self, job: _Job, *, replaces: bool = False) -> None:
        with self._wake:
            if replaces and self._jobs:
                self._drop(job.name)
            self._jobs.append(job)
            self._wake.notify()

    def _send_located(self, hits: Sequence[SearchHit], job: _Job, *, replaces: bool = False) -> None:
        """Send a job that reads the files of these hits."""
        if self._workspace is None or all(hit.citation.span.page is None for hit in hits):
            self._send(job, replaces=replaces)
        else:
            self._pages.run(job.name, partial(self._answer, self._workspace, job))

    def _answer(self, workspace: Workspace, job: _Job) -> None:
        """Run a job in the other thread."""
        try:
            message = job.run(workspace)
        except Exception as error:  # noqa: BLE001 - a defect is shown, too
            message = Refused(-1, failure_of(error) or defect(error))
        if message is not None and not self._closing:
            self._post(message)

    def _drop(self, *names: str) -> None:
        self._jobs = deque(job for job in self._jobs if job.name not in names)

    # The thread

    def _run(self) -> None:
        try:
            workspace = self._open()
        except Exception as error:  # noqa: BLE001 - a defect is shown, too
            number = self._query.generation if self._query else -1
            self._post(Refused(number, failure_of(error) or defect(error)))
            return
        self._workspace = workspace
        memory.keep_large_blocks_apart()
        self._may_have_changed = workspace.change_check()
        with contextlib.suppress(KebabError):  # the first query reports it
            if workspace.has_index:
                self._revision = workspace.revision()
        self._ready = EngineReady(workspace)
        self._warming = workspace.warm_up(by_meaning=self._loads_model)
        with self._wake:
            self._jobs.extendleft((_Job("completions", self._read_completions), _Job("sources", _sources)))
        while not self._closing:
            query, job = self._next()
            self._find_scope(workspace)
            generation = query.generation if query else job.generation if job else -1
            try:
                if query is not None:
                    with interruptible(lambda: self._query is not None or self._cancelled or self._closing):
                        self._search(workspace, query)
                elif job is not None:
                    with interruptible(lambda: self._query is not None or self._closing):
                        message = job.run(workspace)
                    if message is not None:
                        self._post_result(message)
                else:
                    self._prepare(workspace)
                    self._poll(workspace)
                    if self._long_job is not None:
                        self._step(workspace)
            except Superseded:
                if job is not None and job.name not in _OF_QUERY:
                    with self._wake:
                        self._jobs.appendleft(job)  # it begins anew after the query
            except Exception as error:  # noqa: BLE001 - a defect must not end the thread
                if not isinstance(error, UsageError | RawQueryError):
                    self._revision = _UNKNOWN  # once the index is readable again, that is a change
                failure = failure_of(error) or defect(error)
                if generation >= 0 or failure.code != "not_indexed":
                    self._post_result(Refused(generation, failure))

    def _next(self) -> tuple[_QueryJob | None, _Job | None]:
        """The query first, then jobs in order; neither when it is time to poll."""
        with self._wake:
            if not (self._query or self._jobs or self._closing or self._has_steps or self._has_heard):
                self._wake.wait(self._rest())
            query, self._query, self._cancelled = self._query, None, False
            if query is not None or not self._jobs:
                return query, None
            if self._jobs[0].name == "completions":
                self._jobs.rotate(-1)  # visible results first
            return None, self._jobs.popleft()

    def _find_scope(self, workspace: Workspace) -> None:
        """Find out what the folders are in the index; a folder that was removed from it is dropped."""
        with self._wake:
            folders, scope = self._folders, self._scope
        if scope is not None:
            return
        try:
            scope = scope_of(workspace, folders)
        except KebabError:  # the next query reports the error
            scope = self._scope_shown
        shown = self._scope_shown
        if shown.parts and shown.folders == scope.folders and not scope.parts:
            scope = Scope()
        with self._wake:
            if folders == self._folders:
                self._folders, self._scope = scope.folders, scope
        if scope != shown:
            self._scope_shown = scope
            self._post_result(ScopeFound(scope))

    @property
    def _filters(self) -> SearchFilters:
        return (self._scope or self._scope_shown).filters

    def _scoped(self, query: SearchQuery) -> SearchQuery:
        return replace(query, filters=self._filters)

    def _read_completions(self, workspace: Workspace) -> Message | None:
        with contextlib.suppress(KebabError):
            if workspace.has_index:
                return CompletionsReady(workspace.completions())
        return None

    def _rest(self) -> float:
        """How long to wait for a request or a change."""
        if self._watch is None or self._long_job is not None:
            return _POLL_S
        now = time.monotonic()
        if not self._is_read and self._quiet_until > now:
            return min(_REST_S, self._quiet_until - now + _TICK_S)
        return _REST_S

    def _hear(self) -> None:
        with self._wake:
            self._has_heard = True
            self._wake.notify()

    def _search(self, workspace: Workspace, job: _QueryJob) -> None:
        query = self._scoped(job.query)
        if not job.again:
            self._quiet_until = time.monotonic() + _QUIET_S
        if query.text.strip() and query.mode == "hybrid" and not job.again:
            first = workspace.search(replace(query, mode="lexical"), first_answer=True)
            if first.hits:  # else the hits on the screen stay until the semantic search is done
                self._is_painted = False
                self._post_result(SearchDone(job.generation, first, final=False))
                with self._wake:
                    # Painting and searching compete for the interpreter: let the response be painted first.
                    self._wake.wait_for(
                        lambda: self._is_painted or self._query is not None or self._closing, _PAINT_S
                    )
            if self._query is not None or self._closing:
                return
        if job.explain:
            explained = workspace.explain(query)
            response = explained.response
            self._post_result(SearchDone(job.generation, response, final=True, explained=explained))
        else:
            response = _search(workspace, query)
            self._post_result(SearchDone(job.generation, response, final=True))
        self._embed_first(workspace, response.hits)

    def _embed_first(self, workspace: Workspace, hits: Sequence[SearchHit]) -> None:
        """Have the passages on the screen embedded before others."""
        if self._live is None or self._live.phase.kind != "embedding":
            return
        new = [hit for hit in hits if hit.retrieval.vector_rank is None and hit.row not in self._asked]
        if new:
            self._asked = {hit.row for hit in hits}
            with contextlib.suppress(KebabError):  # a full disk: they are embedded in their turn
                workspace.embed_first(new)

    def _post_result(self, message: Message) -> None:
        """Post; `EngineReady` goes with the first result, to paint both at once."""
        if self._ready is not None:
            self._post(self._ready)
            self._ready = None
        self._post(message)

    def _prepare(self, workspace: Workspace) -> None:
        """Load one more part of the engine; in the end, watch the data folder."""
        if self._warming is not None:
            self._warm_up(self._warming)
        elif self._watch is None:
            self._watch = workspace.watch_changes(self._hear)
            self._watch.keep()

    def _warm_up(self, warming: Iterator[None]) -> None:
        """Load one more part of the engine while idle."""
        try:
            next(warming)
        except Exception:  # noqa: BLE001 - the end, or an error that a query will report
            self._warming = None
            memory.give_back()
            self._post_result(EngineWarm())

    def _step(self, workspace: Workspace) -> None:
        """Work on the long job until a request comes, or for a moment."""
        with self._wake:
            if self._steps is None and self._long_job is not None:
                self._steps = self._long_job(workspace)
            if (steps := self._steps) is None:
                return
        end, has_more = time.monotonic() + _STEPS_S, True
        is_done = False
        while has_more and time.monotonic() < end:
            step = next(steps, None)
            is_done, has_more = step is None, bool(step)
            if self._query is not None or self._jobs or self._closing or self._steps is not steps:
                break
        with self._wake:
            if self._steps is steps:
                self._has_steps = has_more
                if is_done:
                    self._long_job = self._steps = None

    def _poll(self, workspace: Workspace) -> None:
        """Report a changed status of the indexing process, and commits."""
        now = time.monotonic()
        has_heard, self._has_heard = self._has_heard, False
        if self._may_have_changed() or has_heard or now >= self._poll_anyway_at:
            self._poll_anyway_at = now + _POLL_UNCHANGED_S
            if self._watch is not None:
                self._watch.keep()
            self._is_read = False
            if (live := workspace.live()) != self._live:
                self._live = live
                self._post_result(LiveChanged(live))
        if now < self._quiet_until:
            return
        if not self._is_read or self._revision == _UNKNOWN:
            try:
                revision = workspace.revision()
            except NotIndexedError:
                return
            except KebabError:
                self._revision = _UNKNOWN  # the next query reports the error
                return
            self._is_read = True
            if revision != self._revision:
                self._revision = revision
                self._scope = None
                self._has_completions = False
                self._post_result(CorpusChanged())
                self._quiet_until = now + _QUIET_S


_PRESENT = "they lead to present notes: open the present one with ctrl+g"


def _search(workspace: Workspace, query: SearchQuery) -> SearchResponse:
    if query.text.strip():
        return workspace.search(query)
    return workspace.recent(query.k, query.offset, query.filters)


def _notes(
    workspace: Workspace, ids: tuple[DocId, ...], among: SearchFilters | None = None
) -> list[FoundNote]:
    """The notes with these ids, in their order, as far as they exist and pass the filters."""
    filters = replace(among or SearchFilters(), doc_ids=ids)
    found = workspace.find("", len(ids), filters=filters) if ids else []
    return sorted(found, key=lambda note: ids.index(note.document.doc_id))


def _locate(workspace: Workspace, hit: SearchHit) -> Located:
    """The present lines of a hit; by the index if it has no text of its own."""
    if is_whole(hit):
        return Located(hit.citation.span, "same" if os.path.isfile(path_of(hit)) else "gone")
    if hit.text:
        return workspace.locate(hit)
    try:
        cited = replace(hit.citation, path=path_of(hit))
        return workspace.locate_citation(str(cited)).located
    except NotFoundError:  # the note or the line is not there any more
        return Located(hit.citation.span, "changed" if os.path.isfile(path_of(hit)) else "gone")


def _context(workspace: Workspace, places: Sequence[LocatedHit]) -> str:
    """The passages as `kebab search --format context` prints them, cited at their present lines."""
    from kebab_tui.wire.llm_text import passages  # not loaded before the first paint

    hits = [
        replace(place.hit, citation=replace(place.hit.citation, span=place.located.span))
        if place.located
        else place.hit
        for place in places
    ]
    return passages([hit for hit in hits if hit.text], workspace.sources())


def _links_by_steps(
    workspace: Workspace, number: int, note: SearchHit, post: Callable[[Message], object]
) -> Iterator[bool]:
    """Post the first links of each direction at once, then broken links, similar notes, and the rest."""
    path = path_of(note)
    if note.version:
        failure = Failure("no_links", f"links are not followed in {note.version}", _PRESENT)
        post(LinksFound(number, (LinksPart("out", 0, (), 0, failure),)))
        return

    def part(section: LinkDirection, first: int = 0, most: int = FIRST_LINKS) -> LinksPart:
        found = workspace.links(path, section, None, most, first)
        return LinksPart(section, first, found.links, found.total)

    try:
        parts = [part("out"), part("in"), part("external")]
        if parts[0].total <= FIRST_LINKS:
            parts.append(part("broken"))
        post(LinksFound(number, tuple(parts)))
        yield True
        post(LinksFound(number, (_similar(workspace, path),)))
        yield True
        if parts[0].total > FIRST_LINKS:
            post(LinksFound(number, (part("broken", most=MOST_LINKS),)))
            yield True
        for begun in parts[:3]:
            assert begun.section != "similar"
            for first in range(FIRST_LINKS, min(begun.total, MOST_LINKS), _LINKS):
                post(LinksFound(number, (part(begun.section, first, _LINKS),)))
                yield True
    except Exception as error:  # noqa: BLE001 - the page shows a defect, too
        failure = failure_of(error) or defect(error)
        post(LinksFound(number, (LinksPart("out", 0, (), 0, failure),)))


def _similar(workspace: Workspace, path: str) -> LinksPart:
    try:
        found = [one for one in workspace.similar(path, MOST_SIMILAR) if one.cosine >= LEAST_COSINE]
    except KebabError as error:
        return LinksPart("similar", 0, (), 0, failure_of(error))
    return LinksPart("similar", 0, tuple(found), len(found))


def _count_by_steps(
    workspace: Workspace, note: SearchHit, by_meaning: bool, post: Callable[[Message], object]
) -> Iterator[bool]:
    path, counts = path_of(note), dict[LinkSection, int]()
    if note.version:  # links lead to present notes
        post(LinksCounted(note.doc_id, counts))
        return
    with contextlib.suppress(KebabError):  # the page shows why
        for section in ("out", "in"):
            counts[section] = workspace.links(path, section, None, 0).total
            yield True
        if 0 < counts["out"] < COUNTED_LINKS:  # broken ones take long to find
            counts["broken"] = workspace.links(path, "broken", None, 0).total
            counts["out"] -= counts["broken"]
            yield True
        if by_meaning and (similar := _similar(workspace, path)).failure is None:
            counts["similar"] = similar.total
    post(LinksCounted(note.doc_id, counts))


def _first_link(workspace: Workspace, hit: SearchHit) -> NoteLink | None:
    """The first link to a note in the lines of a hit, else the first broken one or a file."""
    span, other = hit.citation.span, None
    if hit.version:
        return None
    for link in workspace.links(path_of(hit), "out").links:
        if is_whole(hit) or span.first <= link.link.line <= span.last:
            if link.place is not None:
                return link
            other = other or link
    return other


def _home(workspace: Workspace, notes: tuple[DocId, ...]) -> tuple[str, str] | None:
    """The folder of the first of these notes, else of the first source."""
    for note in _notes(workspace, notes):
        return note.root, os.fsdecode(os.path.dirname(note.document.raw_path))
    return next(((source.root, "") for source in workspace.sources() if source.state != "paused"), None)


def _read_names(workspace: Workspace) -> None:
    """Load the names of all notes: the first typed letter need not wait for it."""
    with contextlib.suppress(KebabError):
        workspace.find("a", 1)


def _sources(workspace: Workspace) -> Message | None:
    with contextlib.suppress(KebabError):
        sources = workspace.sources()
        samples = [source.source_id for source in sources if os.path.basename(source.root) == SAMPLE_FOLDER]
        return SourcesCounted(len(sources), samples[0] if samples and len(sources) > 1 else None)
    return None
