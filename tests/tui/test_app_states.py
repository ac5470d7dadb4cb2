"""What the screen does where there is nothing to show, where it takes long, and where something broke."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from textual.message import Message

from kebab_tui.domain.errors import Failure
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchQuery
from kebab_tui.indexing.status import LiveState, Phase
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.tui.messages import IndexingEnded, LiveChanged
from kebab_tui.tui.widgets.hits_list import HitsList
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.screen import (
    WIDE,
    Proxy,
    SharedScreen,
    focus,
    found,
    has_keys,
    kebab,
    painted,
    paths,
    settled,
    until,
)

pytestmark = pytest.mark.slow

# Nothing found


async def test_without_hits_filters_show_their_cost_and_one_key_drops_the_worst(shared: SharedScreen) -> None:
    async with shared(query="ownership tag:요리") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "without tag:요리" in painted(app))
        dropped = next(line for line in painted(app).splitlines() if "without tag:요리" in line)
        assert "F8" in dropped and "hits" in dropped
        await pilot.press("f8")
        await found(pilot)
        assert app.box.value == "ownership" and paths(app)


async def test_a_word_that_keeps_the_hits_away_can_be_dropped_as_well(shared: SharedScreen) -> None:
    async with shared(query="xyzzyq tag:요리") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "without xyzzyq" in painted(app))
        await pilot.press("f8")
        await found(pilot)
        assert app.box.value == "tag:요리" and paths(app)


async def test_the_cost_of_a_filter_is_counted_as_the_box_would_search(data: Path) -> None:
    app = kebab(data, query="tag:nosuch worksp", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "without tag:nosuch" in painted(app))
        await pilot.press("f8")
        await found(pilot)
        assert app.hits.selected is not None


async def test_a_text_is_shown_when_no_shorter_query_helps(shared: SharedScreen) -> None:
    async with shared(query="xyzzyq wxqqz") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "would not help" in painted(app))
        await pilot.press("f8")
        assert app.box.value == "xyzzyq wxqqz"


# A filter without a valid value


async def test_while_a_value_is_typed_the_hits_stay_and_its_form_is_shown(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        before = paths(app)
        await pilot.press(*" type:")
        await found(pilot)
        assert paths(app) == before and "type: expects one of" in painted(app)
        for key in "mark":
            await pilot.press(key)
            await until(pilot, lambda: not app.current_query.is_waiting)
            assert paths(app) == before and app.hits.display
            screen = painted(app)
            assert "error: " not in screen.splitlines()[-2]
            assert "type: expects one of" in screen and "hits for rust type:" in screen
            assert "passages" not in screen, "no count that belongs to another query"
        await pilot.press(*"down")
        assert app.box.value.endswith("markdown")
        await found(pilot)
        assert "expects" not in painted(app) and "passages" in painted(app)


async def test_a_value_that_is_wrong_is_explained_and_no_hits_are_shown(shared: SharedScreen) -> None:
    async with shared(query="rust tag:rust") as pilot:
        app = await found(pilot)
        before = paths(app)
        app.box.write("rust tag:rust after:lastweek ")
        await until(pilot, lambda: "tab  after:7d" in painted(app))
        screen = painted(app)
        assert "invalid after:lastweek; expected a date" in screen
        assert not app.hits.display and "tag:rust ×" in screen and "passages" not in screen
        assert "✗ after:lastweek ×" in screen
        assert screen.count("invalid after:lastweek") == 1, "on the page, and not in the status line, too"
        await pilot.press("enter")
        assert app.is_running and not app.hits.selected
        assert "without after:lastweek" in screen
        await pilot.press("f8")
        await until(pilot, lambda: app.box.value == "rust tag:rust")
        await found(pilot)
        assert paths(app) == before and "error: " not in painted(app).splitlines()[-2]


async def test_a_wrong_value_is_explained_also_before_any_hits(data: Path) -> None:
    app = kebab(data, query="type:nte", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "tab  type:note" in painted(app))
        await pilot.press("backspace", "backspace")
        await until(pilot, lambda: app.completion_list.is_open and "invalid" not in painted(app))
        assert "✗" not in painted(app), "an unfinished filter is not wrong"
        await pilot.press("escape")
        assert "type: expects one of" in painted(app)


async def test_a_wrong_value_at_the_start_is_offered_corrected_once_the_values_are_known(
    shared: SharedScreen,
) -> None:
    async with shared(query="type:markdwon") as pilot:
        app = await settled(pilot)
        await until(pilot, lambda: [one.kind for one in app.words.suggestions][:1] == ["instead"])
        await pilot.press("tab")
        assert app.box.value == "type:markdown"


async def test_tab_writes_the_nearest_valid_value(shared: SharedScreen) -> None:
    async with shared(query="rust type:markdwon ") as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: "tab  type:markdown" in painted(app))
        await pilot.press("tab")
        assert app.box.value == "rust type:markdown "
        await found(pilot)
        assert paths(app)


async def test_a_source_that_is_not_there_can_be_replaced_or_dropped(shared: SharedScreen) -> None:
    async with shared(query="rust in:nots ") as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: "✗ in:nots ×" in painted(app) and "tab  in:notes" in painted(app))
        await pilot.press("f8")
        assert app.box.value == "rust"


async def test_a_wrong_raw_query_can_be_searched_as_words(shared: SharedScreen) -> None:
    async with shared(query="'rust AND'") as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: "tab  rust AND" in painted(app))
        await pilot.press("tab")
        await found(pilot)
        assert app.box.value == "rust AND" and paths(app)


async def test_a_clicked_hit_keeps_the_cursor_as_a_key_does(shared: SharedScreen) -> None:
    async with shared() as pilot:
        app = await found(pilot)
        assert not app.preview.display, "the start page is in its place"
        await pilot.click(HitsList, offset=(10, 4))
        await until(pilot, lambda: app.preview.display)
        chosen = app.hits.selected
        assert app.hits.cursor == 1
        app.ask()
        await until(pilot, lambda: not app.current_query.is_waiting)
        assert app.hits.selected == chosen


# Suggestions in place of the hits


async def test_down_and_enter_choose_another_suggestion(shared: SharedScreen) -> None:
    async with shared(query="ownership tag:요리") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.words.suggestions)
        second = app.words.suggestions[1].text
        await pilot.press("enter")
        assert app.box.value == "ownership tag:요리", "nothing was chosen yet"
        await pilot.press("down", "down", "up", "down")
        assert "▌" in painted(app)
        await pilot.press("enter")
        assert app.box.value == second
        await found(pilot)
        await pilot.press("tab")
        assert app.box.value == second and has_keys(app.hits), "with hits, tab goes to the next pane"


async def test_suggestions_stay_while_the_query_is_repeated(shared: SharedScreen) -> None:
    async with shared(query="ownership tag:요리") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.words.suggestions)
        await pilot.press("down", "down")
        second = app.words.suggestions[1].text
        app.engine.suggest = lambda *_: None  # type: ignore[method-assign]
        app.ask(again=True)
        await until(pilot, lambda: not app.current_query.is_waiting)
        await pilot.press("enter")
        assert app.box.value == second


async def test_suggestions_are_keys_for_their_own_query_only(shared: SharedScreen) -> None:
    go_on = threading.Event()

    def search(real: Workspace, query: SearchQuery, **options: bool) -> SearchResponse:
        assert not query.text.startswith("x") or go_on.wait(20)
        return real.search(query, **options)

    async with shared(query="ownership tag:요리", verbs={"search": search}) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.words.suggestions)
        await pilot.press("down", "home", "x")
        typed = "xownership tag:요리"
        await until(pilot, lambda: app.current_query.query.text == typed)
        await pilot.press("enter")
        assert app.box.value == typed
        go_on.set()
        await found(pilot)
        app.box.write("rust")
        await found(pilot)
        assert paths(app) and not app.facts.filters


async def test_a_click_takes_a_suggestion(shared: SharedScreen) -> None:
    async with shared(query="ownership tag:요리") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "without ownership" in painted(app))
        y = next(y for y, line in enumerate(painted(app).splitlines()) if "without ownership" in line)
        await pilot.click(offset=(20, y))
        await until(pilot, lambda: app.box.value == "tag:요리")


async def test_a_word_searched_as_typed_is_offered_corrected(shared: SharedScreen) -> None:
    async with shared(query="ownershpi") as pilot:
        app = await found(pilot)
        await pilot.press("alt+x")
        await until(pilot, lambda: "tab  ownership" in painted(app))
        await pilot.press("tab")
        await found(pilot)
        assert app.box.value == "ownership" and paths(app)


async def test_an_unknown_key_is_offered_corrected(shared: SharedScreen) -> None:
    async with shared(query="paht:rust ") as pilot:
        app = await found(pilot)
        if not paths(app):
            await until(pilot, lambda: "tab  path:" in painted(app))
        app.box.write("paht:rus")
        await pilot.press("t")
        await until(pilot, lambda: "instead of paht:" in painted(app))
        await pilot.press("tab")
        await found(pilot)
        assert app.box.value == "path:rust" and paths(app)


# The completion list over the panes


async def test_a_filter_is_written_with_tab_and_the_hits_stay_until_it_means_something(
    shared: SharedScreen,
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        before = paths(app)
        await pilot.press("space", *"ta")
        await until(pilot, lambda: app.completion_list.is_open)
        await pilot.press("tab", *"ca")
        await until(pilot, lambda: not app.current_query.is_waiting)
        assert paths(app) == before and app.hits.display
        await until(pilot, lambda: "hits for rust" in painted(app))
        await pilot.press("down", "enter")
        await found(pilot)
        assert app.box.value == "rust tag:cargo" and app.hits.selected
        assert "tag:cargo ×" in painted(app).splitlines()[0]


async def test_esc_closes_the_list_before_anything_else(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await pilot.press(*" lang", "colon")
        await until(pilot, lambda: app.completion_list.is_open)
        await pilot.press("escape")
        assert not app.completion_list.is_open and app.box.value == "rust lang:"
        await pilot.press("escape")
        assert app.box.value == ""


# An empty box


async def test_an_empty_box_offers_earlier_queries_and_filters_beside_the_newest_notes(data: Path) -> None:
    (data / "queries.txt").write_text("docker\nownership\n")
    async with kebab(data).run_test(size=WIDE) as pilot:
        app = await found(pilot)
        screen = painted(app)
        assert paths(app) and "recently changed" in screen
        assert "ownership" in screen and "docker" in screen and "tag:rust" in screen
        await pilot.press("up")
        assert app.box.value == "ownership"


async def test_going_down_the_newest_notes_shows_them(shared: SharedScreen) -> None:
    async with shared() as pilot:
        app = await found(pilot)
        assert not app.preview.display
        await pilot.press("down")
        await until(pilot, lambda: app.preview.display and not app.words.display)


# A search that takes its time


async def test_a_slow_search_is_shown_and_esc_stops_it(data: Path) -> None:
    go_on = threading.Event()

    def slow(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        assert query.text == "rust" or go_on.wait(60)
        return real.search(query, first_answer)

    app = kebab(data, lambda: Proxy(data, search=slow), query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        before = paths(app)
        await pilot.press("y")
        await until(pilot, lambda: "searching" in painted(app))
        await focus(pilot, app.hits)
        await pilot.press("escape")
        assert has_keys(app.hits) and app.box.value == "rusty" and "searching" not in painted(app)
        assert "stopped" in painted(app)
        go_on.set()
        await until(pilot, lambda: not app.engine._query)
        await pilot.pause()
        assert paths(app) == before
        await pilot.press("escape", "escape")
        assert app.box.value == ""


async def test_a_quick_search_is_not_shown_as_slow(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        said: list[bool] = []
        app.current_query._show_searching = said.append
        await pilot.press("backspace")
        await found(pilot)
        assert not said


# What runs behind the screen


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (LiveChanged(LiveState(1, phase=Phase("reading", 312, 4031), once=True)), "reading 312 of 4,031"),
        (LiveChanged(LiveState(1, given_way_to="pid 4711 (ingest)")), "pid 4711 (ingest) is writing"),
        (IndexingEnded(failed=1), "warning: 1 file could not be read"),
        (IndexingEnded(failure=Failure("readonly", "cannot")), "read-only"),
        (IndexingEnded(failure=Failure("disk_full", "disk full")), "not indexed: disk full"),
    ],
)
async def test_background_indexing_is_in_the_status_line(
    shared: SharedScreen, message: Message, said: str
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        app.post_message(message)
        await until(pilot, lambda: said in painted(app).splitlines()[-2])
        assert paths(app), "and the hits stay"


async def test_a_folder_without_notes_is_named_with_the_files_that_are_no_notes(tmp_path: Path) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    for name in ("a.doc", "b.doc", "c.org"):
        (notes / name).write_text("x")
    app = KebabApp(Options(folders=(str(notes),)), Settings(data_dir=str(data)))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "Notes are files that end in .md, " in painted(app))
        await until(pilot, lambda: "3 other files not read: doc 2, org 1" in painted(app))
        assert f"in {notes}" in painted(app)
        assert "3 other files not read: doc 2, org 1 (F12)" in painted(app).splitlines()[-2]


# A broken index


@pytest.mark.parametrize("harm", ["damaged", "lost"])
async def test_a_damaged_index_is_reported_and_rebuilt(tmp_path: Path, harm: str) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    (notes / "a.md").write_text("# Wheel\n\nspindle\n")
    writer = Workspace(Settings(), str(data))
    writer.ingest([str(notes)], Callbacks())
    writer.close()
    for path in data.glob("kebab.sqlite*"):
        path.unlink()
    if harm == "damaged":
        (data / "kebab.sqlite").write_bytes(b"no database " * 4096)
    app = KebabApp(Options(query="spindle"), Settings(data_dir=str(data)))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "Your notes are safe" in painted(app) or paths(app))
        await until(pilot, lambda: paths(app) == ["a.md"])
        assert "error" not in painted(app)


async def test_a_folder_deleted_while_browsing_keeps_the_hits_marked_gone(tmp_path: Path) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    for number in range(4):
        (notes / f"{number}.md").write_text(f"# Wheel {number}\n\nspindle\n")
    writer = Workspace(Settings(), str(data))
    writer.ingest([str(notes)], Callbacks())
    writer.close()
    async with kebab(data, query="spindle", mode="lexical").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        shutil.rmtree(notes)
        await pilot.press("down", "down")
        await until(pilot, lambda: "gone" in painted(app))
        assert len(paths(app)) == 4


async def test_quitting_does_not_wait_for_a_search(data: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        asked.set()
        went_on.append(go_on.wait(60))
        return real.search(query, first_answer)

    went_on: list[bool] = []
    app = kebab(data, lambda: Proxy(data, search=slow), query="rust")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, asked.is_set)
        await pilot.press("ctrl+q")
    assert not went_on, "leaving waited for the search"
    go_on.set()


async def test_rescanning_a_read_only_folder_shows_a_notice(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        app.results.show_end(IndexingEnded(failure=Failure("readonly", "cannot")))
        await pilot.press("f5")
        await until(pilot, lambda: "cannot be indexed" in painted(app))
