"""The whole screen, on the real engine and the sample vault."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import SearchHit, SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.messages import SearchDone
from kebab_tui.tui.screens.help import HelpSheet
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from kebab_tui.tui.widgets.query_text import LONGEST
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
    type_at_once,
    until,
)

pytestmark = pytest.mark.slow

# Typing


async def test_typing_shows_hits_and_the_note_of_the_first(shared: SharedScreen) -> None:
    async with shared(mode="hybrid") as pilot:
        await pilot.press(*"ownership")
        app = await found(pilot)
        assert paths(app)[0] == "rust/ownership.md"
        await until(pilot, lambda: "Every value has exactly one owner" in painted(app))


async def test_the_query_of_the_command_line_is_asked_at_once(shared: SharedScreen) -> None:
    async with shared(query="김치찌개") as pilot:
        app = await found(pilot)
        assert paths(app)[0] == "요리/김치찌개.md"
        assert app.current_query.mode == "lexical"


async def test_an_empty_box_shows_what_changed_lately(shared: SharedScreen) -> None:
    async with shared() as pilot:
        app = await found(pilot)
        assert paths(app)
        assert "nothing found" not in painted(app)


async def test_the_answer_to_an_older_question_never_shows(data: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        asked.set()
        assert query.text == "ownership" or go_on.wait(60)
        return real.search(query, first_answer)

    app = kebab(data, lambda: Proxy(data, search=slow), query="docker")
    shown = watched(app)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, asked.is_set)
        app.box.write("ownership")
        await pilot.pause()
        go_on.set()
        await found(pilot)
    assert "docker" not in shown and "ownership" in shown


def watched(app: KebabApp) -> list[str]:
    """The queries whose hits are shown, from now on."""
    shown: list[str] = []
    show = app.results._show_status

    def note(response: SearchResponse) -> None:
        shown.append(response.query)
        show(response)

    app.results._show_status = note  # type: ignore[method-assign]
    return shown


async def test_an_answer_with_an_older_number_is_dropped(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        shown = watched(app)
        assert app.results.response is not None
        app.post_message(SearchDone(app.current_query._generation - 1, app.results.response, final=True))
        await pilot.pause()
        assert not shown


async def test_a_passage_on_its_cited_lines_is_located_only_for_an_action(shared: SharedScreen) -> None:
    located: list[str] = []

    def locate(real: Workspace, hit: SearchHit) -> Located:
        located.append(hit.path)
        return real.locate(hit)

    async with shared(query="ownership", verbs={"locate": locate}) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.preview.is_certain and not app.typing.is_typing)
        await until(pilot, lambda: not app.engine._jobs)
        assert not located
        await pilot.press("ctrl+y")
        await until(pilot, lambda: located == paths(app)[:1])


@pytest.mark.parametrize(
    "text", ["line one\r\nline\ttwo\x1b[2J" * 50_000, "가" * 1_000_000], ids=["lines", "hangul"]
)
async def test_a_megabyte_that_is_pasted_becomes_a_query_of_the_longest_length(
    shared: SharedScreen, text: str
) -> None:
    async with shared() as pilot:
        app = await found(pilot)
        app.post_message(events.Paste(text))
        await until(pilot, lambda: app.box.value)
        assert len(app.box.value) <= LONGEST
        assert "\n" not in app.box.value and "\x1b" not in app.box.value
        await settled(pilot)
        await pilot.press("escape")
        assert app.box.value == ""


async def test_a_query_of_5000_characters_is_answered(shared: SharedScreen) -> None:
    async with shared(query="노트 search " * 500) as pilot:
        app = await settled(pilot)
        assert app.status.status.hits is not None


# The list under the cursor


async def test_the_list_does_not_jump_under_a_moved_cursor_when_notes_change(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(8):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\n{'common ' * (20 - number)}\n")
    writer = Workspace(Settings(), str(tmp_path / "data"))
    writer.ingest([str(notes)], Callbacks())
    async with kebab(tmp_path / "data", query="common", mode="lexical").run_test(size=WIDE) as pilot:
        app = await found(pilot)
        await pilot.press("down", "down", "down")
        assert app.hits.selected is not None
        kept = app.hits.selected.path
        before = paths(app)
        (notes / "new.md").write_text("# common\n\ncommon common common\n")
        writer.ingest([], Callbacks())
        await until(pilot, lambda: "new.md" in paths(app))
        assert paths(app).index(kept) != before.index(kept)
        assert app.hits.selected.path == kept
    writer.close()


async def test_another_query_starts_at_its_best_hit(shared: SharedScreen) -> None:
    async with shared(query="rust", mode="hybrid") as pilot:
        app = await found(pilot)
        await pilot.press("down", "down", "space", "o", "w", "n")
        await found(pilot)
        assert app.hits.cursor == 0


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (("down", "down"), 2),
        (("ctrl+n", "ctrl+n", "ctrl+p"), 1),
        (("down", "up", "up"), 0),
    ],
)
async def test_the_cursor_moves_from_the_query_box(
    shared: SharedScreen, keys: tuple[str, ...], cursor: int
) -> None:
    async with shared(query="rust", size=(120, 14)) as pilot:
        app = await found(pilot)
        await pilot.press(*keys)
        assert app.hits.cursor == cursor
        assert has_keys(app.box)


async def test_a_page_is_what_the_list_shows(shared: SharedScreen) -> None:
    async with shared(query="rust", size=(120, 14)) as pilot:
        app = await found(pilot)
        page = app.hits.size.height // 2
        await pilot.press("pagedown")
        assert app.hits.cursor == page
        await pilot.press("pageup")
        assert app.hits.cursor == 0


async def test_home_and_end_move_in_the_list(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("end")
        assert app.hits.is_at_end
        assert app.hits.cursor == app.hits.notes - 1
        await pilot.press("home")
        assert app.hits.cursor == 0


async def test_marks_are_counted_in_the_status_line(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@")
        await until(pilot, lambda: "2 marked" in painted(app))
        assert list(app.hits.marked) == [row.hit for row in app.hits._rows[:2]]


# Panes and modes


async def test_esc_goes_down_its_ladder(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("f1")
        assert isinstance(app.screen, HelpSheet)
        await pilot.press("escape")
        assert len(app.screen_stack) == 1 and has_keys(app.hits)
        await pilot.press("ctrl+@", "escape")
        assert has_keys(app.box) and any(app.hits.marked)
        await pilot.press("escape")
        assert not any(app.hits.marked) and app.box.value == "rust"
        await pilot.press("escape")
        assert app.box.value == ""
        await found(pilot)
        await pilot.press("escape")
        assert "Press Ctrl+Q to quit" in painted(app)


async def test_a_query_that_was_cleared_comes_back_with_up(shared: SharedScreen) -> None:
    async with shared(query="ownership") as pilot:
        app = await found(pilot)
        await pilot.press("escape", "up")
        assert app.box.value == "ownership"


async def test_the_mode_goes_round_and_the_hits_with_it(shared: SharedScreen) -> None:
    async with shared(query="rust", mode="hybrid") as pilot:
        app = await found(pilot)
        seen: list[SearchMode] = []
        for _ in range(3):
            await pilot.press("ctrl+t")
            await found(pilot)
            seen.append(mode := app.current_query.mode)
            word = {"lexical": "keyword", "vector": "semantic", "hybrid": "hybrid"}[mode]
            assert str(app.query_line.border_title).endswith(f" {word}")
            assert word not in painted(app).splitlines()[-2], "the status line does not repeat it"
            assert app.results.response is not None and app.results.response.mode == mode
        assert seen == ["lexical", "vector", "hybrid"]


async def test_a_key_searches_corrected_words_as_typed_until_the_text_changes(shared: SharedScreen) -> None:
    async with shared(query="owernship") as pilot:
        app = await found(pilot)
        assert paths(app)[0] == "rust/ownership.md"
        await until(
            pilot, lambda: "also searched: ownership (for owernship); alt+x: as typed" in painted(app)
        )
        await until(pilot, lambda: app.preview._marked_query == "ownership")
        await pilot.press("alt+x")
        await until(pilot, lambda: not app.results.has_hits)
        await until(pilot, lambda: "searched as typed; alt+x: corrected" in painted(app))
        await pilot.press("alt+x")
        await until(pilot, lambda: app.results.is_corrected)
        await pilot.press("alt+x")
        await until(pilot, lambda: not app.results.is_corrected)
        await pilot.press("space")
        await until(pilot, lambda: app.results.is_corrected)
        assert not app.current_query.query.exact


async def test_the_key_does_nothing_without_a_correction(shared: SharedScreen) -> None:
    async with shared(query="ownership") as pilot:
        app = await found(pilot)
        await pilot.press("alt+x")
        assert not app.current_query.query.exact
        assert "as typed" not in painted(app)


async def test_f3_hides_the_preview(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        seen = [app.preview.display]
        for _ in range(2):
            await pilot.press("f3")
            seen.append(app.preview.display)
        assert seen == [True, False, True]


async def test_f4_explains_the_hit_under_the_cursor(shared: SharedScreen) -> None:
    async with shared(query="rust", mode="hybrid") as pilot:
        app = await found(pilot)
        await pilot.press("f4")
        await until(pilot, lambda: "#1 rust/error-handling.md" in painted(app))
        await pilot.press("down")
        second = app.hits._rows[1].hit
        await until(pilot, lambda: f"#{second.rank} {second.path}" in painted(app))


async def test_f6_puts_the_preview_below_and_beside(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        assert app.preview.region.y == app.hits.region.y
        await pilot.press("f6")
        await pilot.pause()
        assert app.preview.region.y > app.hits.region.y
        await pilot.press("f6")
        await pilot.pause()
        assert app.preview.region.y == app.hits.region.y


@pytest.mark.parametrize("pane", ["hits", "preview"])
async def test_f11_gives_the_focused_pane_the_screen_and_takes_it_back(
    shared: SharedScreen, pane: str
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        widget = app.query_one(f"#{pane}")
        await focus(pilot, widget)
        await pilot.press("f11")
        await pilot.pause()
        assert widget.region.width == WIDE[0]
        await pilot.press("f11")
        await pilot.pause()
        assert 0 < widget.region.width < WIDE[0]


async def test_tab_goes_from_pane_to_pane_and_back(shared: SharedScreen) -> None:
    async with shared(query="rust", explain=True) as pilot:
        app = await found(pilot)
        order = [app.box, app.hits, app.preview, app.explain, app.box]
        for widget in order[1:]:
            await pilot.press("tab")
            assert has_keys(widget)
        for widget in reversed(order[:-1]):
            await pilot.press("shift+tab")
            assert has_keys(widget)


@pytest.mark.parametrize("pane", ["hits", "preview", "explain", "words"])
async def test_a_word_typed_blindly_is_a_query_from_every_pane(shared: SharedScreen, pane: str) -> None:
    async with shared(query="rust", mode="hybrid", explain=True) as pilot:
        app = await found(pilot)
        app.screen.set_focus(getattr(app, pane))
        await pilot.press("e", "q")
        typed = "uit qyYwWxzZjkgGoOe/?:'`.,;-+_!@#$%^&*()0123456789~<>\""
        type_at_once(app, typed)
        await until(pilot, lambda: app.box.value == f"rusteq{typed}")
        assert has_keys(app.box)
        assert app.is_running and len(app.screen_stack) == 1


@pytest.mark.parametrize(("key", "left"), [("backspace", "rust erro"), ("ctrl+w", "rust "), ("ctrl+u", "")])
async def test_keys_that_delete_edit_the_query_from_every_pane(
    shared: SharedScreen, key: str, left: str
) -> None:
    async with shared(query="rust error") as pilot:
        app = await found(pilot)
        for pane in (app.hits, app.preview):
            app.box.write("rust error")
            app.screen.set_focus(pane)
            await pilot.press(key)
            assert app.box.value == left and has_keys(app.box)


async def test_the_knobs_are_keys_of_the_explanation_only(shared: SharedScreen) -> None:
    async with shared(query="rust", mode="hybrid", explain=True) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.explain.has_what_if)
        assert "{ } [ ] | = what if" not in painted(app)
        await focus(pilot, app.explain)
        await until(pilot, lambda: "{ } [ ] | = what if" in painted(app))
        type_at_once(app, "[]{}|=")
        await pilot.pause()
        assert app.box.value == "rust" and has_keys(app.explain)
        await focus(pilot, app.hits)
        type_at_once(app, "[]{}|=")
        await until(pilot, lambda: app.box.value == "rust[]{}|=")


async def test_a_knob_types_nothing_while_there_is_no_what_if(shared: SharedScreen) -> None:
    async with shared(query="rust", explain=True) as pilot:  # by words alone, nothing is fused
        app = await found(pilot)
        await focus(pilot, app.explain)
        assert not app.explain.has_what_if
        type_at_once(app, "[=")
        await pilot.pause()
        assert app.box.value == "rust" and has_keys(app.explain)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        pytest.param(("ctrl+l", *" tag:mage"), "rust tag:mage", id="query box"),
        pytest.param("hangman", "rusthangman", id="from the list"),
        pytest.param(("down", "down", *"x\x7fy\x7f"), "rust", id="there and back"),
        pytest.param(("ctrl+l", *"\x15new"), "new", id="a cleared box"),
        pytest.param(("f2", *"theme"), "theme", id="palette"),
        pytest.param(("f2", *"thx\x7feme"), "theme", id="a mistake in the palette"),
        pytest.param(("alt+w", *"notes/a.md"), "notes/a.md", id="why not"),
        pytest.param(("alt+w", *"x\x15notes/a.md"), "notes/a.md", id="a mistake in why not"),
        pytest.param(("alt+w", *"\x1bxy"), "rustxy", id="out of why not"),
        pytest.param(("f1", *"\x1bxy"), "rustxy", id="out of the help"),
        pytest.param("한국어 검색", "rust한국어 검색", id="syllables"),
        pytest.param("한국어", "rust한국어", id="syllables in parts"),
    ],
)
async def test_no_key_is_lost_that_comes_before_the_focus_has_moved(
    shared: SharedScreen, keys: Sequence[str], value: str
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        type_at_once(app, keys)
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == value)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        pytest.param("\x15new", "new", id="clear and type"),
        pytest.param("x\x7fy\x7f tag:a", "rust tag:a", id="mistakes"),
        pytest.param(" one two\x17three", "rust one three", id="a word"),
        pytest.param(" tag:toki\x05 x", "rust tag:tokio x", id="what is offered"),
    ],
)
async def test_keys_of_one_read_work_in_their_order(shared: SharedScreen, keys: str, value: str) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        type_at_once(app, keys)
        await until(pilot, lambda: app.box.value == value)


async def test_keys_behind_a_tab_belong_to_the_list(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        type_at_once(app, ("tab", "down", "end", "home", "down", "down"))
        await until(pilot, lambda: app.hits.cursor == 2)
        assert app.box.value == "rust"


async def test_keys_sent_to_a_terminal_without_the_focus_work_where_they_did(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        app.post_message(events.AppBlur())
        await until(pilot, lambda: app.focused is None)
        type_at_once(app, ("end", "home", "down", "down"))
        await until(pilot, lambda: app.hits.cursor == 2)
        assert app.box.value == "rust"


async def test_text_pasted_in_a_list_goes_to_the_query_before_later_keys(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        assert app._driver is not None
        app._driver.process_message(events.Paste(" tag:\nmagee"))
        type_at_once(app, "\x7f x")
        await until(pilot, lambda: app.box.value == "rust tag: mage x")


async def test_a_pane_that_hides_does_not_take_the_keys_with_it(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.preview)
        await pilot.press("f3")
        await pilot.pause()
        await pilot.press("ctrl+l", "x")
        assert app.box.value == "rustx"


# Filters


async def test_a_key_takes_the_last_filter_out(shared: SharedScreen) -> None:
    async with shared(query="rust tag:rust lang:ko") as pilot:
        app = await found(pilot)
        assert "tag:rust ×" in painted(app) and "lang:ko ×" in painted(app)
        await pilot.press("f8")
        await found(pilot)
        assert app.box.value.strip() == "rust tag:rust"
        await pilot.press("f8")
        await found(pilot)
        assert app.box.value.strip() == "rust"
        assert "×" not in painted(app)


# Explaining


async def test_a_what_if_badges_the_hits_and_is_taken_back(shared: SharedScreen) -> None:
    async with shared(query="server backup restore", mode="hybrid", explain=True, size=(160, 45)) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.explain.has_what_if)
        await focus(pilot, app.explain)
        await pilot.press("vertical_line", *("left_curly_bracket",) * 10)
        await until(pilot, lambda: {"▲", "▼"} & set(painted_hits(app)))
        await pilot.press("equals_sign")
        await until(pilot, lambda: not {"▲", "▼"} & set(painted_hits(app)))


def painted_hits(app: KebabApp) -> str:
    return "".join(app.hits.render_line(y).text for y in range(app.hits.size.height))


async def test_why_not_answers_with_the_stage(shared: SharedScreen) -> None:
    async with shared(query="rust lang:en", mode="hybrid") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("alt+w")
        await pilot.press(*"adana")
        await until(pilot, lambda: "요리/adana-kebab.md" in painted(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "✓ indexed" in painted(app) and "✗ no match" in painted(app))
        await pilot.press("escape")
        assert not isinstance(app.screen, WhyNotPrompt)


async def test_why_not_uses_the_query_of_the_box_and_the_only_matching_path(data: Path) -> None:
    app = kebab(data, query="worksp")  # a word that is not finished yet
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        first = app.hits.selected
        assert first is not None
        await pilot.press("tab", "alt+w")
        await until(pilot, lambda: isinstance(app.screen, WhyNotPrompt))
        await pilot.press(*first.path[:-1])
        await until(pilot, lambda: painted(app).count(first.path) > 0)
        assert "rank 1" not in painted(app)
        await pilot.press("enter")
        await until(pilot, lambda: "rank 1" in painted(app))


async def test_why_not_about_an_unknown_path_shows_not_indexed(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("alt+w")
        await pilot.press(*"nowhere.md", "enter")
        await until(pilot, lambda: "not indexed" in painted(app))
