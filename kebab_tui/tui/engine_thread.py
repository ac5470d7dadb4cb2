"""One thread that asks the engine: the latest question wins, and the screen never waits.

The engine is opened here, after the first paint. Questions are numbered; an answer says
which one it is of, and whoever shows it drops all but the latest. Errands (the next page, the
place of a hit in its file, why a note is missing, what a filter costs) wait behind the search.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kebab_tui import memory
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.query import SearchFilters
from kebab_tui.tui.messages import (
    CompletionsReady,
    CorpusChanged,
    EngineReady,
    EngineWarm,
    Explained,
    HitLocated,
    HitsLocated,
    LiveChanged,
    MoreFound,
    PathsFound,
    PlacedHit,
    Refused,
    SearchDone,
    SourcesCounted,
    SuggestionsReady,
    WhyNotReady,
)

if TYPE_CHECKING:
    from textual.message import Message

    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.query import SearchQuery
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.search.query_language import ParsedQuery
    from kebab_tui.workspace import Workspace


# What each filter and word of a query costs: how many hits there would be without it. Pure.
#
# Makes the shorter queries, worth asking where the whole one finds nothing. Counts nothing
# itself.

MOST = 8
"""So many shorter queries are asked at most."""
_WORDS = ("word", "phrase", "prefix", "negation")


@dataclass(frozen=True, slots=True)
class RelaxedQuery:
    """Without `label` the query is `text`, and finds `total` hits."""

    label: str
    text: str
    is_filter: bool
    total: int = 0


def shorter(text: str, parsed: ParsedQuery) -> tuple[RelaxedQuery, ...]:
    """The query without each of its filters, then without each of its words."""
    made = [RelaxedQuery(chip.label, _without(text, chip.start, chip.end), True) for chip in parsed.chips]
    made += [
        RelaxedQuery(text[start:end], _without(text, start, end), False)
        for start, end in _words(text, parsed)
    ]
    whole = " ".join(text.split())
    return tuple(cost for cost in made if cost.text and cost.text != whole)[:MOST]


def ordered(costs: Iterable[RelaxedQuery]) -> tuple[RelaxedQuery, ...]:
    """Those that would help, filters before words: a word is what is looked for."""
    helpful = (cost for cost in costs if cost.total)
    return tuple(sorted(helpful, key=lambda cost: (not cost.is_filter, -cost.total)))


def _words(text: str, parsed: ParsedQuery) -> Iterator[tuple[int, int]]:
    """Where the words stand; what is negated goes with its sign, a phrase with its quotes."""
    for token in parsed.tokens:
        if token.role in _WORDS and any(char.isalnum() for char in text[token.start : token.end]):
            yield token.start, token.end


def _without(text: str, start: int, end: int) -> str:
    return " ".join(f"{text[:start]} {text[end:]}".split())


Post = Callable[["Message"], object]

_LOOK_AGAIN_S = 0.1
"""How often it is looked whether something was committed: part of how soon a saved note is seen."""
_LOOK_ANYWAY_S = 1.0
"""How often it is looked though no file has changed: a process may have died or been stopped."""
_REST_S = 0.7
"""No news while somebody types, and none faster than this while notes are read by the thousand."""
_OFFER_S = 5.0
"""What can be completed is read anew at most this often."""
_PAINTING_S = 0.05
"""What there is of a first answer is painted by then, or somebody will never tell."""
_UNKNOWN = -1
_PATHS = 50


class EngineThread:
    """Started after the first paint; `close` returns at once, whatever runs."""

    def __init__(
        self, open_workspace: Callable[[], Workspace], post: Post, *, by_meaning: bool = True
    ) -> None:
        """`by_meaning`: questions will be, so that what they need is loaded before the first."""
        self._open = open_workspace
        self._post = post
        self._by_meaning = by_meaning
        self._ready: EngineReady | None = None
        self._warming: Iterator[None] | None = None
        self._wake = threading.Condition()
        self._question: _QueryJob | None = None
        self._is_painted = False
        self._errands: deque[_Job] = deque()
        self._closing = False
        self._revision = 0
        self._live: LiveState | None = None
        self._may_have_changed: Callable[[], bool] = lambda: True
        self._look_anyway_at = 0.0
        self._is_read = False
        """Whether the corpus's revision was read since something may have changed."""
        self._rests_until = 0.0
        self._offers_until = 0.0
        self._thread = threading.Thread(target=self._run, name="asking", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self, generation: int, query: SearchQuery, explain: bool, again: bool = False) -> None:
        """Ask a question; a blank one is "what changed lately". Takes the place of one that waits.

        `again`: it has been answered before, and only an answer that is whole may replace that.
        """
        with self._wake:
            self._drop("more", "explain")
            self._question = _QueryJob(generation, query, explain, again)
            self._wake.notify()

    def ask_more(self, generation: int, query: SearchQuery) -> None:
        """Ask for another page of the answer to a question."""
        self._send(
            _Job("more", lambda workspace: MoreFound(generation, _found(workspace, query)), generation)
        )

    def explain(self, generation: int, query: SearchQuery) -> None:
        """What are the figures behind a page? Only the last page asked about matters."""
        with self._wake:
            self._drop("explain")
        self._send(
            _Job("explain", lambda workspace: Explained(generation, workspace.explain(query)), generation)
        )

    def locate(self, hit: SearchHit) -> None:
        """Where does the passage of a hit stand now? Only the last hit asked about matters."""
        with self._wake:
            self._drop("locate")
        self._send(_Job("locate", lambda workspace: HitLocated(hit, workspace.locate(hit))))

    def place(self, number: int, hits: Sequence[SearchHit]) -> None:
        """Where do these passages stand now? Asked before something is done with them."""
        self._send(_Job("place", lambda workspace: HitsLocated(number, _places(workspace, hits))))

    def weigh(self, generation: int, query: SearchQuery) -> None:
        """What would be found without each filter and each word?"""
        self._send(
            _Job("weigh", lambda workspace: SuggestionsReady(generation, self._costs(workspace, query)))
        )

    def painted(self) -> None:
        """The first answer stands on the screen: the better one can be looked for."""
        with self._wake:
            self._is_painted = True
            self._wake.notify()

    def forget(self) -> None:
        """Leave a question that waits unanswered."""
        with self._wake:
            self._question = None

    def rescan(self, paths: Sequence[str] = (), *, retry: bool = False) -> None:
        """Have files, or all of them, looked at by whoever keeps the index in step."""
        self._send(_Job("rescan", lambda workspace: workspace.request_rescan(paths, retry=retry)))

    def find_paths(self, part: str) -> None:
        self._send(_Job("paths", lambda workspace: PathsFound(part, _paths(workspace, part))))

    def judge(self, query: SearchQuery, path: str) -> None:
        """Why is the note at `path` not among the hits?"""
        self._send(_Job("judge", lambda workspace: _judged(workspace, query, path)))

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify()

    def _drop(self, *names: str) -> None:
        self._errands = deque(errand for errand in self._errands if errand.name not in names)

    def _send(self, errand: _Job) -> None:
        with self._wake:
            self._errands.append(errand)
            self._wake.notify()

    def _run(self) -> None:
        try:
            workspace = self._open()
        except KebabError as error:
            number = self._question.generation if self._question else -1
            self._post(Refused(number, error.code, error.message, error.hint))
            return
        memory.keep_large_blocks_apart()
        self._may_have_changed = workspace.change_check()
        self._announce(workspace)
        while not self._closing:
            question, errand = self._next()
            if question is not None:
                self._attempt(question.generation, partial(self._answer, workspace, question))
            elif errand is not None:
                self._attempt(errand.generation, partial(self._run_errand, workspace, errand))
            else:
                self._warm_up()
                self._attempt(-1, partial(self._look_for_news, workspace))

    def _tell(self, message: Message) -> None:
        """Post; that the engine is there is told with the first answer: both are painted at once."""
        if self._ready is not None:
            self._post(self._ready)
            self._ready = None
        self._post(message)

    def _next(self) -> tuple[_QueryJob | None, _Job | None]:
        """The question first, then errands in order; neither when it is time to look for news."""
        with self._wake:
            if self._question is None and not self._errands and not self._closing:
                self._wake.wait(_LOOK_AGAIN_S)
            question, self._question = self._question, None
            if question is not None or not self._errands:
                return question, None
            if self._errands[0].name == "offers":
                self._errands.rotate(-1)  # what can be completed comes after what is to be seen
            return None, self._errands.popleft()

    def _attempt(self, generation: int, action: Callable[[], None]) -> None:
        """An engine's error becomes a word on the screen; the thread goes on."""
        try:
            action()
        except KebabError as error:
            self._revision = _UNKNOWN  # what can be read again is news
            if generation >= 0 or error.code != "not_indexed":
                self._tell(Refused(generation, error.code, error.message, error.hint))
        except Exception as error:  # noqa: BLE001 - a defect must not leave the screen without answers
            self._tell(Refused(generation, "internal", f"{type(error).__name__}: {error}", ""))

    def _announce(self, workspace: Workspace) -> None:
        """Say that the engine is there; what takes its time waits for the answer to the first question."""
        # What is wrong with the index is said when it is asked something.
        with contextlib.suppress(KebabError):
            if workspace.has_index:
                self._revision = workspace.revision()
        self._ready = EngineReady(workspace)
        self._warming = workspace.warm_up(by_meaning=self._by_meaning)
        with self._wake:
            self._errands.extendleft((_Job("offers", _offers), _Job("sources", _sources)))

    def _answer(self, workspace: Workspace, question: _QueryJob) -> None:
        query, generation = question.query, question.generation
        if not question.again:
            self._rests_until = time.monotonic() + _REST_S
        if query.text.strip() and query.mode == "hybrid" and not question.again:
            first = workspace.search(replace(query, mode="lexical"), first_answer=True)
            self._show_first(SearchDone(generation, first, final=False))
            if self._is_superseded():
                return
        if question.explain:
            explained = workspace.explain(query)
            self._tell(SearchDone(generation, explained.response, final=True, explained=explained))
        else:
            self._tell(SearchDone(generation, _found(workspace, query), final=True))

    def _show_first(self, answer: SearchDone) -> None:
        """Let the answer be painted before the search goes on: both want the interpreter."""
        self._is_painted = False
        self._tell(answer)
        with self._wake:
            self._wake.wait_for(
                lambda: self._is_painted or self._question is not None or self._closing, _PAINTING_S
            )

    def _is_superseded(self) -> bool:
        with self._wake:
            return self._question is not None or self._closing

    def _run_errand(self, workspace: Workspace, errand: _Job) -> None:
        if (message := errand.run(workspace)) is not None:
            self._tell(message)

    def _warm_up(self) -> None:
        """Load one bit more while nobody asks anything."""
        if self._warming is not None:
            try:
                next(self._warming)
            except Exception:  # noqa: BLE001 - its end, or what is said to whoever asks a question
                self._warming = None
                self._tell(EngineWarm())

    def _look_for_news(self, workspace: Workspace) -> None:
        now = time.monotonic()
        if self._may_have_changed() or now >= self._look_anyway_at:
            self._look_anyway_at = now + _LOOK_ANYWAY_S
            self._is_read = False
            if (live := workspace.live()) != self._live:
                self._live = live
                self._tell(LiveChanged(live))
        if now < self._rests_until:
            return
        is_known = self._is_read and self._revision != _UNKNOWN
        if not is_known and not self._reads_the_same(workspace, now):
            return
        if self._offers_until and now > self._offers_until:
            self._offers_until = 0.0
            self._tell(CompletionsReady(workspace.completions()))

    def _reads_the_same(self, workspace: Workspace, now: float) -> bool:
        """Read the corpus's revision; tell when it is another one."""
        if not workspace.has_index:
            return False
        try:
            revision = workspace.revision()
        except KebabError:
            self._revision = _UNKNOWN  # whoever asks a question is told
            return False
        self._is_read = True
        if revision == self._revision:
            return True
        self._revision = revision
        self._tell(CorpusChanged())
        self._rests_until = now + _REST_S
        self._offers_until = self._offers_until or now + _OFFER_S
        return False

    def _costs(self, workspace: Workspace, query: SearchQuery) -> tuple[RelaxedQuery, ...]:
        """The shorter queries that find something; none once a new question waits."""
        found = []
        for cost in shorter(query.text, workspace.parse(query.text)):
            if self._is_superseded():
                return ()
            # As the box would ask it, were it taken up: with a last word that may be unfinished.
            response = workspace.search(replace(query, text=cost.text, k=1, typing=True))
            found.append(replace(cost, total=response.total_matches))
        return ordered(found)


@dataclass(frozen=True, slots=True)
class _QueryJob:
    generation: int
    query: SearchQuery
    explain: bool
    again: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """Something small to ask besides, answered by one message or none."""

    name: str
    run: Callable[[Workspace], Message | None]
    generation: int = -1
    """The question that it is part of, if any."""


def _found(workspace: Workspace, query: SearchQuery) -> SearchResponse:
    return workspace.search(query) if query.text.strip() else workspace.recent(query.k, query.offset)


def _sources(workspace: Workspace) -> Message | None:
    with contextlib.suppress(KebabError):
        return SourcesCounted(len(workspace.sources()))
    return None


def _offers(workspace: Workspace) -> Message | None:
    with contextlib.suppress(KebabError):
        return CompletionsReady(workspace.completions()) if workspace.has_index else None
    return None


def _places(workspace: Workspace, hits: Sequence[SearchHit]) -> tuple[PlacedHit, ...]:
    return tuple(_placed(workspace, hit) for hit in hits)


def _placed(workspace: Workspace, hit: SearchHit) -> PlacedHit:
    try:
        return PlacedHit(hit, workspace.locate(hit))
    except KebabError as error:
        return PlacedHit(hit, None, error.message)


def _paths(workspace: Workspace, part: str) -> tuple[str, ...]:
    # Without a slash it may stand anywhere in a path; with one it is the beginning of some parts.
    globs = (f"{part}*", f"**/{part}*") if "/" in part else (part,)
    documents, _ = workspace.documents(SearchFilters(paths=globs if part else ()), limit=_PATHS)
    return tuple(document.path for document in documents)


def _judged(workspace: Workspace, query: SearchQuery, path: str) -> WhyNotReady:
    try:
        return WhyNotReady(path, workspace.why_not(query, path))
    except KebabError as error:
        return WhyNotReady(path, None, error.message, error.hint)
