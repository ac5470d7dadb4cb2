"""The thread that asks the engine: when it tells of news, and what it asks again."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.message import Message

from kebab_tui.domain.document import Source
from kebab_tui.domain.errors import FilterError, KebabError, RawQueryError, StoreError
from kebab_tui.domain.hit import RetrievalDetail, SearchHit, SearchResponse
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.indexing.data_watch import DataFolderWatch
from kebab_tui.indexing.status import LiveState, Phase
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.ports import Request, Rescan
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.storage.sqlite.snapshot import StoreSnapshot
from kebab_tui.tui import engine_thread
from kebab_tui.tui.engine_thread import EngineThread
from kebab_tui.tui.messages import (
    CompletionsReady,
    CorpusChanged,
    EngineReady,
    EngineWarm,
    LiveChanged,
    MoreFound,
    NotesFound,
    PathsFound,
    Refused,
    SearchDone,
    SourcesCounted,
)
from kebab_tui.workspace import Workspace
from tests.tui.hits import BOTH, answer, hit
from tests.vault import Vault

_PATIENCE_S = 60.0
RUST = SearchQuery("rust", "hybrid")


@dataclass
class Engine:
    """The workspace as seen by the engine thread; a test sets the answers."""

    number: int = 1
    kept: LiveState | None = None
    error: StoreError | None = None
    invalid: KebabError | None = None
    """Why a query is wrong."""
    asked: list[tuple[str, bool]] = field(default_factory=list)
    first: list[list[int]] = field(default_factory=list)
    """The rows that were to be embedded first."""
    found: RetrievalDetail = BOTH
    has_index: bool = True
    looked: int = 0
    steady: bool = False
    bits: Sequence[Callable[[], None]] = ()
    changed: Callable[[], None] = lambda: None
    """What the watch of the data folder calls."""

    def warm_up(self, *, by_meaning: bool) -> Iterator[None]:
        for bit in self.bits:
            yield bit()

    def sources(self) -> list[Source]:
        return [Source(SourceId("notes"), "notes", "/notes")]

    def completions(self) -> str:
        return f"as of {self.number}"

    def revision(self) -> int:
        if self.error is not None:
            raise self.error
        return self.number

    def live(self) -> LiveState | None:
        self.looked += 1
        return self.kept

    def change_check(self) -> Callable[[], bool]:
        return lambda: not self.steady

    def watch_changes(self, changed: Callable[[], None]) -> DataFolderWatch:
        self.changed = changed
        return DataFolderWatch((), changed)

    def embed_first(self, hits: Sequence[SearchHit]) -> None:
        self.first.append([hit.row for hit in hits])

    def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        self.asked.append((query.mode, first_answer))
        if (error := self.error or self.invalid) is not None:
            raise error
        return answer(hit(1, retrieval=self.found), query=query.text)


class Asking:
    """An engine thread, and the messages that it posts."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._posted: queue.Queue[Message] = queue.Queue()
        self.thread = EngineThread(lambda: engine)

    def start(self) -> None:
        self.thread.start(self._posted.put)

    def next(self) -> Message:
        return self._posted.get(timeout=_PATIENCE_S)

    def until(self, wanted: type[Message]) -> list[Message]:
        """What is posted, to the first of a kind."""
        posted = [self.next()]
        while not isinstance(posted[-1], wanted):
            posted.append(self.next())
        return posted

    def silence(self) -> list[Message]:
        """What is posted during three more polls."""
        before = self.engine.looked
        wait_until(lambda: self.engine.looked >= before + 3)
        return [self._posted.get() for _ in range(self._posted.qsize())]

    def kinds_until_silence(self) -> list[type[Message]]:
        return [type(message) for message in self.silence()]


def wait_until(seen: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.001)


Begin = Callable[..., Asking]


class Clock:
    """Time goes on when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(engine_thread, "time", made)
    return made


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Start an engine thread that polls all the time; returns it once the engine is open."""
    monkeypatch.setattr(engine_thread, "_POLL_S", 0.005)
    monkeypatch.setattr(engine_thread, "_REST_S", 0.005)
    begun: list[Asking] = []

    def start(engine: Any, *, rest_s: float = 0.0) -> Asking:
        monkeypatch.setattr(engine_thread, "_QUIET_S", rest_s)
        begun.append(made := Asking(engine))
        made.start()
        offered = [CompletionsReady] if engine.has_index else []
        for kind in (EngineReady, SourcesCounted, *offered, EngineWarm):
            assert isinstance(made.next(), kind)
        return made

    yield start
    for made in begun:
        made.thread.close()
        made.thread._thread.join(_PATIENCE_S)


def test_the_first_question_is_answered_before_anything_else_is_read(begin: Begin) -> None:
    made = Asking(Engine())
    made.thread.ask(1, RUST, False)
    made.start()
    kinds = [type(made.next()) for _ in range(5)]
    made.thread.close()
    assert kinds == [EngineReady, SearchDone, SearchDone, SourcesCounted, CompletionsReady]


def test_a_new_question_takes_the_place_of_pages_that_wait() -> None:
    made = Asking(Engine())
    made.thread.load_page(1, RUST)
    made.thread.explain(1, RUST)
    made.thread.ask(2, replace(RUST, mode="lexical"), False)
    made.thread.load_page(2, replace(RUST, offset=50))
    made.start()
    *_, more = made.until(MoreFound)
    made.thread.close()
    assert isinstance(more, MoreFound) and more.generation == 2
    assert made.engine.asked == [("lexical", False), ("hybrid", False)]


def test_a_first_answer_is_painted_before_the_search_goes_on(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_thread, "_PAINT_S", _PATIENCE_S)
    at_work = begin(Engine())
    at_work.thread.ask(1, RUST, False)
    assert isinstance(at_work.next(), SearchDone)
    assert at_work.engine.asked == [("lexical", True)]
    at_work.thread.painted()
    assert isinstance(at_work.next(), SearchDone)


def test_a_newer_question_does_not_wait_for_the_painting_of_an_older_answer(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_thread, "_PAINT_S", _PATIENCE_S)
    at_work = begin(Engine())
    at_work.thread.ask(1, RUST, False)
    at_work.next()
    at_work.thread.ask(2, SearchQuery("rust", "lexical"), False)
    newer = at_work.next()
    assert isinstance(newer, SearchDone) and newer.generation == 2 and newer.final


def test_a_query_waits_for_one_step_of_the_warm_up_only(begin: Begin) -> None:
    engine = Engine()
    made = Asking(engine)
    engine.bits = (lambda: made.thread.ask(1, RUST, False), lambda: engine.asked.append(("bit", False)))
    made.start()
    made.until(EngineWarm)
    made.thread.close()
    assert engine.asked == [("lexical", True), ("hybrid", False), ("bit", False)]


def test_a_failed_warm_up_is_no_error_before_a_query(begin: Begin) -> None:
    def fail() -> None:
        raise StoreError("no", "why")

    begin(Engine(bits=(fail,)))


# A statement that takes for ever


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[tuple[Engine, threading.Event]]:
    """An engine that searches for `stuck` by an endless statement, and an event once it runs."""
    vault = Vault(tmp_path)
    vault.write("a.md", "# A\n\nsome words")
    vault.ingest()
    runs = threading.Event()
    reader = vault.workspace._parts.index.reader

    class Stuck(Engine):
        def search(self, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
            if query.text == "stuck":
                self.run_endless()
            return super().search(query, first_answer)

        def run_endless(self) -> None:
            with reader.snapshot() as snapshot:
                assert isinstance(snapshot, StoreSnapshot)
                snapshot._connection.create_function("runs", 0, runs.set)
                snapshot._connection.execute(
                    "WITH RECURSIVE n(x) AS (SELECT runs() IS NULL UNION ALL SELECT 1 FROM n) "
                    "SELECT count(*) FROM n"
                ).fetchone()

        def completions(self) -> str:
            if self.number == 2 and not runs.is_set():
                self.run_endless()
            return super().completions()

    yield Stuck(), runs
    vault.workspace.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_newer_question_ends_a_running_statement(
    begin: Begin, stuck: tuple[Engine, threading.Event], mode: SearchMode
) -> None:
    engine, runs = stuck
    at_work = begin(engine)
    at_work.thread.ask(1, SearchQuery("stuck", mode), False)
    assert runs.wait(_PATIENCE_S)
    at_work.thread.ask(2, SearchQuery("words", "lexical"), False)
    newer = at_work.next()
    assert isinstance(newer, SearchDone) and newer.generation == 2


def test_a_stopped_question_ends_and_nothing_is_said(
    begin: Begin, stuck: tuple[Engine, threading.Event]
) -> None:
    engine, runs = stuck
    at_work = begin(engine)
    at_work.thread.ask(1, SearchQuery("stuck", "lexical"), False)
    assert runs.wait(_PATIENCE_S)
    at_work.thread.cancel()
    assert at_work.kinds_until_silence() == []


def test_a_question_comes_before_a_job_that_runs_and_the_job_begins_anew(
    begin: Begin, stuck: tuple[Engine, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, runs = stuck
    at_work = begin(engine)
    engine.number = 2
    changed = [type(message) for message in at_work.until(CorpusChanged)]
    at_work.thread.update_completions()
    assert runs.wait(_PATIENCE_S)
    at_work.thread.ask(1, SearchQuery("words", "lexical"), False)
    kinds = [type(message) for message in at_work.until(CompletionsReady)]
    assert [*changed, *kinds] == [CorpusChanged, SearchDone, CompletionsReady]


# A long job


def test_a_query_comes_before_the_next_step_of_a_long_job(begin: Begin) -> None:
    at_work = begin(Engine())
    searched: list[int] = []

    def steps(_workspace: Workspace) -> Iterator[bool]:
        for generation in (1, 2, 3):
            at_work.thread.ask(generation, replace(RUST, mode="lexical"), False)
            yield True
            searched.append(len(at_work.engine.asked))
        at_work.thread.load_page(3, RUST)
        yield False

    at_work.thread.run_in_steps(steps)
    at_work.until(MoreFound)
    assert searched == [1, 2, 3]


def test_a_long_job_ends_when_it_is_stopped_replaced_or_broken(begin: Begin) -> None:
    at_work = begin(Engine())
    begun: list[str] = []

    def steps(name: str) -> Iterator[bool]:
        begun.append(name)
        while True:
            yield True

    def broken(_workspace: Workspace) -> Iterator[bool]:
        yield True
        raise ValueError("no such thing")

    at_work.thread.run_in_steps(lambda _: steps("first"))
    wait_until(lambda: begun == ["first"])
    at_work.thread.run_in_steps(lambda _: steps("second"))
    wait_until(lambda: begun == ["first", "second"])
    at_work.thread.run_in_steps(broken)
    refused = at_work.until(Refused)[-1]
    assert isinstance(refused, Refused) and "no such thing" in refused.failure.message
    at_work.thread.stop_steps()
    at_work.silence()
    assert begun == ["first", "second"]


# News


def test_no_message_before_a_commit(begin: Begin) -> None:
    at_work = begin(Engine())
    assert at_work.silence() == []
    at_work.engine.number = 2
    assert isinstance(at_work.next(), CorpusChanged)
    assert at_work.silence() == [], "it is told once"


def test_nothing_is_read_while_no_file_changes(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    beats = 0

    class Steady(Engine):
        def change_check(self) -> Callable[[], bool]:
            def may_have_changed() -> bool:
                nonlocal beats
                beats += 1
                return not self.steady

            return may_have_changed

    monkeypatch.setattr(engine_thread, "_POLL_UNCHANGED_S", 3600.0)
    at_work = begin(engine := Steady())
    at_work.silence()
    engine.steady = True
    before = beats
    wait_until(lambda: beats > before + 3)
    looked = engine.looked
    wait_until(lambda: beats > before + 25)
    assert engine.looked == looked
    engine.number, engine.kept, engine.steady = 2, LiveState(1), False
    assert {type(at_work.next()), type(at_work.next())} == {LiveChanged, CorpusChanged}


def test_a_process_that_dies_changes_no_file_and_is_missed_all_the_same(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_thread, "_POLL_UNCHANGED_S", 0.02)
    at_work = begin(Engine(kept=LiveState(1)))
    at_work.until(LiveChanged)
    at_work.engine.steady = True
    at_work.engine.kept = None
    changed = at_work.next()
    assert isinstance(changed, LiveChanged)
    assert changed.live is None


def test_commits_are_not_reported_while_the_user_types(begin: Begin, clock: Clock) -> None:
    at_work = begin(Engine(), rest_s=60)
    at_work.thread.ask(1, RUST, explain=False)
    at_work.until(SearchDone)
    at_work.engine.number = 2
    clock.now += 59
    assert CorpusChanged not in at_work.kinds_until_silence()
    clock.now += 2
    at_work.until(CorpusChanged)


def test_a_repeated_query_does_not_delay_news(begin: Begin) -> None:
    at_work = begin(Engine(), rest_s=60)
    at_work.thread.ask(1, RUST, explain=False, again=True)
    at_work.until(SearchDone)
    at_work.engine.number = 2
    at_work.until(CorpusChanged)


def test_news_is_rate_limited_during_bulk_indexing(begin: Begin, clock: Clock) -> None:
    at_work = begin(Engine(), rest_s=60)
    at_work.engine.number = 2
    at_work.until(CorpusChanged)
    at_work.engine.number = 3
    clock.now += 59
    assert CorpusChanged not in at_work.kinds_until_silence()
    clock.now += 2
    at_work.until(CorpusChanged)


def test_an_index_readable_again_after_an_error_is_news(begin: Begin) -> None:
    at_work = begin(Engine())
    at_work.engine.error = StoreError("no such disk", "")
    assert at_work.silence() == [], "the next query reports it"
    at_work.engine.error = None
    at_work.until(CorpusChanged)


def test_a_question_that_failed_is_asked_again_when_the_index_can_be_read(begin: Begin) -> None:
    at_work = begin(Engine())
    at_work.engine.error = StoreError("no such disk", "")
    at_work.thread.ask(7, RUST, explain=False)
    refused = at_work.until(Refused)[-1]
    assert isinstance(refused, Refused)
    assert refused.generation == 7
    at_work.engine.error = None
    at_work.until(CorpusChanged)


@pytest.mark.parametrize(
    "error", [FilterError("type: expects note", ""), RawQueryError("no such column", "")]
)
def test_a_wrong_query_is_not_asked_again_while_nothing_changes(begin: Begin, error: KebabError) -> None:
    at_work = begin(Engine(invalid=error))
    at_work.thread.ask(7, RUST, explain=False)
    at_work.until(Refused)
    assert at_work.silence() == []


# The same question again


def test_a_question_by_both_is_answered_by_words_first(begin: Begin) -> None:
    at_work = begin(Engine())
    at_work.thread.ask(1, RUST, explain=False)
    first, last = at_work.until(SearchDone)[-1], at_work.until(SearchDone)[-1]
    assert isinstance(first, SearchDone) and isinstance(last, SearchDone)
    assert (first.final, last.final) == (False, True)
    assert at_work.engine.asked == [("lexical", True), ("hybrid", False)]


def test_asked_again_only_the_whole_answer_takes_the_place_of_the_last(begin: Begin) -> None:
    at_work = begin(Engine())
    at_work.thread.ask(1, RUST, explain=False, again=True)
    answered = at_work.until(SearchDone)[-1]
    assert isinstance(answered, SearchDone)
    assert answered.final
    assert at_work.engine.asked == [("hybrid", False)]


# What can be completed


def test_completions_are_read_again_on_request_if_something_was_committed(begin: Begin) -> None:
    at_work = begin(Engine())
    at_work.thread.update_completions()
    assert CompletionsReady not in at_work.kinds_until_silence()
    at_work.engine.number = 2
    at_work.until(CorpusChanged)
    at_work.engine.number = 3
    assert CompletionsReady not in at_work.kinds_until_silence()
    at_work.thread.update_completions()
    at_work.thread.update_completions()
    completed = at_work.until(CompletionsReady)[-1]
    assert isinstance(completed, CompletionsReady)
    assert str(completed.completions) == "as of 3"
    assert CompletionsReady not in at_work.kinds_until_silence()


# Who keeps the index


def test_a_changed_indexing_status_is_posted(begin: Begin) -> None:
    at_work = begin(Engine())
    for state in (LiveState(1), LiveState(1, pending=3), LiveState(2), None):
        at_work.engine.kept = state
        posted = at_work.next()
        assert isinstance(posted, LiveChanged)
        assert posted.live == state
        assert at_work.silence() == []


def test_the_indexing_status_is_posted_while_the_user_types(begin: Begin) -> None:
    at_work = begin(Engine(), rest_s=60)
    at_work.thread.ask(1, RUST, explain=False)
    at_work.until(SearchDone)
    at_work.engine.kept = LiveState(1)
    at_work.until(LiveChanged)


def test_a_rescan_is_a_request_to_the_indexing_process(begin: Begin, tmp_path: Path) -> None:
    workspace = Workspace(Settings(), str(tmp_path / "data"))
    thread = begin(workspace).thread
    thread.rescan((str(tmp_path / "a.md"),))
    thread.rescan(retry=True)
    taken: list[Request] = []
    end = time.monotonic() + _PATIENCE_S
    while len(taken) < 2:
        assert time.monotonic() < end
        taken += RequestFolder(str(tmp_path / "data")).look()[1]
    assert taken == [Rescan((str(tmp_path / "a.md"),)), Rescan(retry=True)]


def test_what_is_on_the_screen_is_embedded_first_while_vectors_are_made(begin: Begin) -> None:
    at_work = begin(Engine(found=RetrievalDetail("hybrid", lexical_rank=1)))
    at_work.thread.ask(1, RUST, explain=False)
    at_work.until(SearchDone)
    at_work.engine.kept = LiveState(1, phase=Phase("embedding", 1, 10))
    at_work.until(LiveChanged)
    for number in (2, 3):
        at_work.thread.ask(number, RUST, explain=False, again=True)
        at_work.until(SearchDone)
    at_work.silence()
    assert at_work.engine.first == [[hit(1).row]], "asked for once, and not before"
    at_work.engine.found = BOTH
    at_work.thread.ask(4, RUST, explain=False, again=True)
    at_work.until(SearchDone)
    at_work.silence()
    assert len(at_work.engine.first) == 1, "it has a vector"


# Names


def found_note(number: int, *, matched: bool) -> Any:
    doc = DocId(f"{number:032x}")
    return SimpleNamespace(document=SimpleNamespace(doc_id=doc), root="/notes", matched=matched or None)


@dataclass
class Names(Engine):
    """Five notes; the first three resemble every name."""

    names: list[str] = field(default_factory=list)

    def find(self, text: str, limit: int, offset: int = 0, filters: SearchFilters | None = None) -> list[Any]:
        self.names.append(text)
        wanted = filters.doc_ids if filters is not None and filters.doc_ids else None
        notes = [found_note(number, matched=bool(text) and number < 3) for number in range(5)]
        return [note for note in notes if wanted is None or note.document.doc_id in wanted][:limit]


def notes_found(asking: Asking) -> list[int]:
    message = asking.until(NotesFound)[-1]
    assert isinstance(message, NotesFound)
    assert isinstance(message.result, tuple)
    return [int(note.document.doc_id, 16) for note in message.result]


def test_without_a_name_recent_notes_come_first_and_missing_ones_are_skipped(begin: Begin) -> None:
    asking = begin(Names())
    asking.thread.find_notes("", 4, tuple(DocId(f"{number:032x}") for number in (3, 9, 1)), None)
    assert notes_found(asking) == [3, 1, 0, 2]


def test_only_notes_that_resemble_the_name_are_found_and_the_latest_name_wins() -> None:
    engine = Names()
    asking = Asking(engine)
    for typed in ("d", "do", "doc"):
        asking.thread.find_notes(typed, 4, (), None)
    asking.start()
    assert notes_found(asking) == [0, 1, 2]
    assert engine.names == ["doc"]
    asking.thread.close()


class Paths(Engine):
    def find(self, text: str, limit: int) -> list[Any]:
        locations = ("/here/same.md", "/there/same.md", "/here/one.md")
        return [
            SimpleNamespace(document=SimpleNamespace(path=Path(at).name), location=at) for at in locations
        ]


def test_a_path_that_two_folders_have_is_offered_with_its_folder(begin: Begin) -> None:
    asking = begin(Paths())
    asking.thread.find_paths("")
    message = asking.until(PathsFound)[-1]
    assert isinstance(message, PathsFound)
    assert message.paths == ("/here/same.md", "/there/same.md", "one.md")


# What the watch of the data folder reports


@pytest.mark.parametrize("is_told", [True, False])
def test_a_change_is_looked_at_when_the_watch_reports_it_or_else_at_the_next_poll(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    at_work = begin(Engine())
    monkeypatch.setattr(engine_thread, "_REST_S", 3600.0 if is_told else 0.5)
    at_work.silence() if not is_told else wait_until(lambda: at_work.engine.looked >= 1)
    at_work.engine.number = 2
    if is_told:
        at_work.engine.changed()
    assert isinstance(at_work.next(), CorpusChanged)
