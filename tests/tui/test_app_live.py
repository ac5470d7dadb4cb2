"""The screen and the indexing beside it: real files, and the screen after a note is saved.

The index is kept up to date by a thread of the test, except in tests about processes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.domain.errors import Failure, StoreError
from kebab_tui.domain.hit import Notice, SearchResponse
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.query import SearchQuery
from kebab_tui.editor import Launch, OpenResult
from kebab_tui.indexing.status import FolderState, LiveState, Phase, read_live
from kebab_tui.settings.settings import IndexSettings, Settings
from kebab_tui.storage.ports import Request, Rescan
from kebab_tui.storage.requests import RequestFolder
from kebab_tui.tui import hand_off, results
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.indexer import Indexing
from kebab_tui.tui.launch import Options
from kebab_tui.tui.messages import CorpusChanged, IndexingEnded, LiveChanged
from kebab_tui.tui.screens.file_states import FileStatesScreen
from kebab_tui.workspace import Workspace
from tests.indexing.keeping import Kept
from tests.indexing.keeping import until as until_seen
from tests.tui.screen import WIDE, Idle, Proxy, Screen, found, has_keys, kebab, painted, paths, until
from tests.vault import Vault, index_in

pytestmark = pytest.mark.slow

CLOCK_TICK_S = 0.05
"""A file's time may be that much older than the moment of its writing; and figures are rounded."""
FOLDER = FolderState(SourceId("notes"), "/notes", "live", "", 3)


class Beside(Idle):
    """Keeps the index in step beside the screen, in its process."""

    def __init__(self, vault: Vault) -> None:
        super().__init__()
        self._kept = Kept(vault)

    @property
    def watcher_pid(self) -> int:
        return os.getpid() if self._kept.is_running else 0

    def watch(self, folders: Sequence[str]) -> None:
        self._kept.start()

    def close(self) -> None:
        if self._kept.is_running:
            self._kept.stop()


class Desk:
    """A folder of notes about quokkas with its index, and screens that watch it."""

    def __init__(self, place: Path) -> None:
        self.vault = Vault(place)
        self.notes, self.data = self.vault.root, self.vault.data
        for name in ("one", "two", "three"):
            self.write(f"{name}.md", f"# {name}\n\nThe quokka of note {name} sleeps.\n")
        self.vault.ingest()

    def write(self, name: str, text: str) -> None:
        (self.notes / name).write_text(text)

    def screen(self, query: str = "quokka", **options: object) -> KebabApp:
        return self.whole_screen(query, Beside(self.vault), **options)

    def whole_screen(
        self, query: str = "quokka", indexing: Indexing | None = None, **options: object
    ) -> KebabApp:
        """One that starts processes for its indexing."""
        asked: dict[str, object] = {"query": query, "mode": "lexical", "watch": True}
        made = Options(**(asked | options))  # type: ignore[arg-type]
        return KebabApp(made, Settings(data_dir=str(self.data)), indexing=indexing)

    @property
    def writer_pid(self) -> int:
        """The process that keeps the index up to date; 0 for none."""
        live = read_live(index_in(str(self.data)))
        return live.pid if live is not None and not live.given_way_to else 0

    def is_alive(self, pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    @asynccontextmanager
    async def open(self, app: KebabApp) -> AsyncIterator[Screen]:
        """The screen, once the index is up to date and watched."""
        async with app.run_test(size=WIDE) as pilot:
            await found(pilot)
            await until(pilot, lambda: "live" in app.status.status.index and not app.status.status.progress)
            yield pilot


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.vault.workspace.close()


def select(app: KebabApp, path: str) -> None:
    app.pin_cursor()
    app.hits.move_to(paths(app).index(path))


def hits_pane(app: KebabApp) -> str:
    return "\n".join(app.hits.render_line(y).text for y in range(app.hits.size.height))


def preview_pane(app: KebabApp) -> str:
    return "\n".join(app.preview.render_line(y).text for y in range(app.preview.size.height))


# A saved note


async def test_a_saved_note_appears_changes_and_goes_in_the_open_query(desk: Desk) -> None:
    app = desk.whole_screen()
    async with desk.open(app) as pilot:
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(pilot, lambda: "four.md" in paths(app))
        assert "1 new" in painted(app)
        desk.write("four.md", "# four\n\nA quokka that came later still.\n")
        await until(pilot, lambda: "later still" in hits_pane(app))
        assert "hits: 1 changed" in painted(app)
        os.remove(desk.notes / "four.md")
        await until(pilot, lambda: "four.md" not in paths(app))
        assert "1 gone" in painted(app)


async def test_the_selected_hit_stays_selected_while_others_come_and_go(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        select(app, "two.md")
        desk.write("best.md", "# quokka\n\nquokka quokka quokka\n")
        await until(pilot, lambda: "best.md" in paths(app))
        assert app.hits.selected is not None
        assert app.hits.selected.path == "two.md"
        os.remove(desk.notes / "one.md")
        await until(pilot, lambda: "one.md" not in paths(app))
        assert app.hits.selected is not None
        assert app.hits.selected.path == "two.md"


async def test_the_cursor_goes_with_a_passage_whose_text_changes(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        select(app, "two.md")
        desk.write("two.md", "# two\n\nA line above.\n\nThe quokka is awake by now.\n")
        await until(pilot, lambda: "awake by now" in hits_pane(app))
        assert app.hits.selected is not None
        assert app.hits.selected.path == "two.md"
        await until(pilot, lambda: "awake by now" in preview_pane(app))


async def test_the_preview_shows_the_file_as_saved_also_where_the_passage_is_as_it_was(desk: Desk) -> None:
    long = "# long\n\n## Quokka\n\nThe quokka is here.\n\n## Weather\n\n" + "Rain falls. " * 120
    desk.write("long.md", long)
    app = desk.screen("quokka is here")
    async with desk.open(app) as pilot:
        await until(pilot, lambda: "long.md" in paths(app))
        select(app, "long.md")
        await until(pilot, lambda: "Rain falls" in preview_pane(app))
        chunk = app.hits.selected and app.hits.selected.chunk_id
        desk.write("long.md", long.replace("Rain", "Hail"))
        await until(pilot, lambda: "Hail falls" in preview_pane(app))
        assert app.hits.selected is not None
        assert app.hits.selected.chunk_id == chunk
        assert "changed" not in preview_pane(app)


async def test_the_cited_lines_are_right_again_when_the_passage_moves(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        select(app, "two.md")
        desk.write("two.md", "# two\n\n" + "filler\n\n" * 300 + "## Deep\n\nThe quokka of note two sleeps.\n")
        await until(pilot, lambda: app.hits.selected and app.hits.selected.citation.span.first > 500)
        await until(pilot, lambda: "603▌" in preview_pane(app).replace(" ", ""))


async def test_the_explanation_is_of_the_notes_as_they_are(desk: Desk) -> None:
    app = desk.screen(explain=True)
    async with desk.open(app) as pilot:
        await until(pilot, lambda: app.results.explained)
        before = app.results.explained
        assert before is not None and before.response.total_matches == 3
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(pilot, lambda: "four.md" in paths(app))
        await until(
            pilot, lambda: app.results.explained and app.results.explained.response.total_matches == 4
        )


async def test_the_list_of_recent_changes_follows_the_notes(desk: Desk) -> None:
    app = desk.screen("")
    async with desk.open(app) as pilot:
        desk.write("four.md", "# four\n\nSomething else.\n")
        await until(pilot, lambda: paths(app)[:1] == ["four.md"])
        assert app.hits.cursor == 0


async def test_a_new_tag_is_offered_while_its_filter_is_typed(desk: Desk) -> None:
    app = desk.whole_screen()
    async with desk.open(app) as pilot:
        desk.write("four.md", "---\ntags: [zebra]\n---\n# four\n\nA quokka with stripes.\n")
        await until(pilot, lambda: "four.md" in paths(app))
        await pilot.press(*" tag:ze")
        await until(pilot, lambda: app.completion_list.is_open and "zebra" in painted(app))
        await pilot.press("ctrl+u", *"tag:zebra", "home")
        assert not app.completion_list.is_open


async def test_a_query_that_finds_nothing_finds_the_note_that_is_saved_for_it(desk: Desk) -> None:
    app = desk.screen("wombat")
    async with desk.open(app) as pilot:
        assert not paths(app)
        desk.write("four.md", "# four\n\nA wombat.\n")
        await until(pilot, lambda: paths(app) == ["four.md"])
        assert app.hits.display


async def test_news_does_not_move_the_cursor_while_typing(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await pilot.press(*"slee")
        await found(pilot)
        await until(pilot, lambda: app.box.value == "quokkaslee")
        assert has_keys(app.box)


# The status line


async def test_the_status_shows_the_changed_note_and_its_latency(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        began = time.time()
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(pilot, lambda: app.status.status.changed.startswith("four.md updated in "))
        changed = app.status.status.changed
        assert 0 < float(changed.split()[-2]) < time.time() - began + CLOCK_TICK_S + 0.1, "it is rounded"
        await until(pilot, lambda: changed in painted(app))


async def test_no_time_is_claimed_for_a_note_that_is_gone(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        os.remove(desk.notes / "one.md")
        await until(pilot, lambda: (last := app.results._last_change) and last.path == "one.md")
        assert not app.status.status.changed


async def test_many_notes_at_once_are_all_found(desk: Desk) -> None:
    app = desk.screen()
    async with desk.open(app) as pilot:
        for number in range(400):
            desk.write(f"many-{number}.md", f"# {number}\n\nA quokka of many, the {number}th.\n" * 30)
        await until(pilot, lambda: app.results.response and app.results.response.total_matches > 400)
        await until(pilot, lambda: app.status.status.index == "live")


# Who keeps the index


async def test_without_watching_no_process_starts_and_f5_indexes(desk: Desk) -> None:
    app = desk.whole_screen(watch=False)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await until(pilot, lambda: app.results._end is not None and not app.results.is_reading)
        await until(pilot, lambda: app.indexing.watcher_pid == 0)
        assert desk.writer_pid == 0
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await pilot.press("f5")
        await until(pilot, lambda: "four.md" in paths(app))
        assert "live" not in app.status.status.index


def test_the_setting_and_the_flag_both_keep_it_from_watching(desk: Desk) -> None:
    from kebab_tui.tui import launch

    def watches(*argv: str, watch: bool = True) -> bool:
        settings = Settings(data_dir=str(desk.data), index=IndexSettings(watch=watch))
        return launch.options_of(launch.build_parser().parse_args(argv), settings).watch

    assert watches()
    assert not watches("--no-watch")
    assert not watches(watch=False)


async def test_a_killed_indexing_process_restarts(desk: Desk) -> None:
    app = desk.whole_screen()
    async with desk.open(app) as pilot:
        killed = app.indexing.watcher_pid
        os.kill(killed, signal.SIGKILL)
        await until(pilot, lambda: app.status.status.index == "not watching")
        await until(pilot, lambda: app.status.status.index == "live")
        assert app.indexing.watcher_pid not in (0, killed)
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(pilot, lambda: "four.md" in paths(app))


async def test_a_second_screen_names_the_writer_follows_it_and_takes_over(desk: Desk) -> None:
    first, second = desk.whole_screen(), desk.whole_screen()
    async with desk.open(first) as one, second.run_test(size=WIDE) as two:
        await found(two)
        await until(two, lambda: f"indexed by pid {first.indexing.watcher_pid}" in painted(second))
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(one, lambda: "four.md" in paths(first))
        await until(two, lambda: "four.md" in paths(second))
        await until(two, lambda: second.indexing.watcher_pid)
        first.indexing.close()
        await until(two, lambda: desk.writer_pid == second.indexing.watcher_pid)
        await until(two, lambda: second.status.status.index == "live")
        desk.write("five.md", "# five\n\nA quokka at last.\n")
        await until(two, lambda: "five.md" in paths(second))


async def test_quitting_ends_the_indexing_process(desk: Desk) -> None:
    app = desk.whole_screen()
    async with desk.open(app):
        pid = app.indexing.watcher_pid
    until_seen(lambda: not desk.is_alive(pid), "the indexing process goes on")


# What is asked for


class Asked:
    """Takes the requests of a screen in place of an indexing process."""

    def __init__(self, data: Path) -> None:
        self._folder = RequestFolder(str(data))
        self.requests: list[Request] = []

    def has(self, request: Rescan) -> bool:
        self.requests += self._folder.look()[1]
        return request in self.requests


class Deaf(Idle):
    """Replaces an indexing process that takes no requests."""

    @property
    def watcher_pid(self) -> int:
        return 1


def only_asking(desk: Desk, **options: object) -> KebabApp:
    return desk.whole_screen(indexing=Deaf(), **options)  # type: ignore[arg-type]


async def test_f5_requests_a_scan_of_everything(desk: Desk) -> None:
    asked, app = Asked(desk.data), only_asking(desk)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: asked.has(Rescan(retry=True)))


async def test_retrying_on_the_file_states_page_requests_a_scan(desk: Desk) -> None:
    asked, app = Asked(desk.data), only_asking(desk)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await app.action_act("health")
        await until(pilot, lambda: isinstance(app.screen, FileStatesScreen))
        app.screen.post_message(FileStatesScreen.Retry())
        await until(pilot, lambda: asked.has(Rescan(retry=True)))


async def test_a_note_that_the_editor_changes_is_right_when_one_comes_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(_app: object, _made: Launch, path: str, *, is_new: bool) -> OpenResult:
        note = Path(path)
        note.write_text(note.read_text().replace("sleeps", "eats"))
        return OpenResult(True, "")

    monkeypatch.setattr(hand_off, "open_in_editor", edit)
    monkeypatch.setenv("KEBAB_EDITOR", "vi")
    app = desk.screen()
    async with desk.open(app) as pilot:
        select(app, "two.md")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "note two eats" in hits_pane(app))
        assert app.hits.selected is not None
        assert app.hits.selected.path == "two.md"
        await until(pilot, lambda: "note two eats" in preview_pane(app))


# What the screen makes of it


async def test_unreadable_notes_are_shown_until_they_are_readable(desk: Desk) -> None:
    app = kebab(desk.data, query="quokka", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.post_message(LiveChanged(LiveState(1, (FOLDER,), failed=2)))
        await until(pilot, lambda: "2 files could not be read" in painted(app))
        app.post_message(LiveChanged(LiveState(1, (FOLDER,))))
        await until(pilot, lambda: "could not be read" not in painted(app))


async def test_the_error_of_the_indexing_process_stays_on_the_screen(desk: Desk) -> None:
    app = kebab(desk.data, query="quokka", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.post_message(LiveChanged(LiveState(1, (FOLDER,))))
        failure = Failure("store", "the data folder was taken away")
        app.post_message(IndexingEnded(failure=failure))
        app.post_message(LiveChanged(None))
        await until(pilot, lambda: "not watching" in painted(app))
        assert "not indexed: the data folder was taken away" in painted(app)


async def test_while_a_folder_is_read_the_best_hit_stays_on_top_until_the_cursor_moves(desk: Desk) -> None:
    best_is_there = False

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        response = real.search(query, first_answer)
        return replace(response, hits=response.hits[0 if best_is_there else 1 :])

    app = kebab(desk.data, lambda: Proxy(desk.data, search=search), query="quokka", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.post_message(LiveChanged(LiveState(0, (FOLDER,), phase=Phase("reading", 3, 9))))
        for moved, cursor in ((False, 0), (True, 1)):
            best_is_there = False
            app.ask()
            await until(pilot, lambda: len(paths(app)) == 2)
            if moved:
                app.pin_cursor()
            best_is_there = True
            app.post_message(CorpusChanged())
            await until(pilot, lambda: len(paths(app)) == 3)
            assert app.hits.cursor == cursor


async def test_news_is_shown_for_a_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FRESH_S", 0.1)
    app = desk.screen()
    async with desk.open(app) as pilot:
        said: list[str] = []
        say = app.status.show_message

        def noting(notice: Notice, seconds: float | None = None) -> None:
            said.append(notice.text)
            say(notice, seconds)

        monkeypatch.setattr(app.status, "show_message", noting)
        desk.write("four.md", "# four\n\nA quokka that came late.\n")
        await until(pilot, lambda: said == ["hits: 1 new"])
        await until(pilot, lambda: "1 new" not in painted(app))


async def test_an_error_goes_when_the_index_can_be_read_again(desk: Desk) -> None:
    broken = [True]

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if broken:
            raise StoreError("the disk is on fire", "put it out")
        return real.search(query, first_answer)

    app = kebab(desk.data, lambda: Proxy(desk.data, search=search), query="quokka", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "the disk is on fire" in painted(app))
        broken.clear()
        await found(pilot)  # without a key more: what can be read again is news
        assert "on fire" not in painted(app)


async def test_a_commit_during_a_search_still_shows_the_file_as_saved(desk: Desk) -> None:
    app = kebab(desk.data, query="quokka", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        app.current_query.is_waiting = True
        app.post_message(CorpusChanged())
        await until(pilot, lambda: app._has_news)
        desk.write(paths(app)[0], "# rewritten\n\nfrom top to bottom\n")
        app.ask()
        await until(pilot, lambda: "from top to bottom" in preview_pane(app))
