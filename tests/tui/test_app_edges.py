"""The whole screen from the other side: its registry, its ends, its faults, its sizes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.widgets import Input

from kebab_tui.domain.errors import StoreError
from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchQuery
from kebab_tui.settings.settings import ScreenSettings, Settings
from kebab_tui.tui.actions import ACTIONS, action_of, actions_on, available
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.commands import Commands
from kebab_tui.tui.screens.palette import Palette, commands
from kebab_tui.workspace import Workspace
from tests.tui.screen import (
    WIDE,
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

MAIN = actions_on(ACTIONS, "Main")

# One registry


def test_every_action_of_the_registry_is_performed_and_nothing_else() -> None:
    performed = {name.removeprefix("do_") for name in vars(Commands) if name.startswith("do_")}
    assert performed == {action.id for action in ACTIONS if not action.runs}


async def test_the_palette_offers_what_can_be_done_now(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        offered = {command.id for command in commands(app.actions, app.facts)}
        assert offered == {action.id for action in available(MAIN, app.facts)} - {"palette"}
        await pilot.press("f2")
        assert isinstance(app.screen, Palette)
        app.screen.query_one(Input).value = "put the preview beside"
        await until(pilot, lambda: "layout" in painted(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.choices.layout == "below")


async def test_a_remapped_key_works_and_the_old_one_does_not(data: Path) -> None:
    app = kebab(data, settings=Settings(keys={"preview": ("alt+g",)}), mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f3")
        assert app.toggles.preview
        await pilot.press("alt+g")
        assert not app.toggles.preview


async def test_remapped_keys_of_other_screens_work_and_are_shown_there(data: Path) -> None:
    settings = Settings(
        keys={
            "health": ("alt+g",),
            "files_retry": ("alt+t",),
            "why_not_complete": ("f6",),
            "help": ("f10",),
            "help_close": ("alt+x",),
            "palette_close": ("f8",),
        }
    )
    app = kebab(data, settings=settings, query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        main = app.screen
        await pilot.press("alt+g")
        await until(pilot, lambda: "alt+t retry failed" in painted(app))
        await pilot.press("alt+t")
        await until(pilot, lambda: "no failed files" in painted(app))
        await pilot.press("r")
        assert app.screen.query_one(Input).value == "r"
        await pilot.press("alt+g")
        assert app.screen is main
        await pilot.press("alt+w")
        assert "F6 complete" in painted(app)
        await pilot.press(*"docker")
        await until(pilot, lambda: "infra/docker.md" in painted(app))
        await pilot.press("f6")
        assert app.screen.query_one(Input).value == "infra/docker.md"
        await pilot.press("escape", "f10", "escape")
        assert app.screen is not main
        assert "alt+x close" in painted(app)
        await pilot.press("f10")
        assert app.screen is main
        await pilot.press("f10", "alt+x")
        assert app.screen is main
        await pilot.press("f2", "escape")
        assert isinstance(app.screen, Palette)
        await pilot.press("f8")
        assert app.screen is main


async def test_remapped_keys_scroll_what_is_too_long_for_its_pane(data: Path) -> None:
    keys: dict[str, tuple[str, ...]] = {"next_hit": ("alt+g",), "scroll_right": ("alt+>",)}
    settings = Settings(keys=keys, screen=ScreenSettings(wrap="off"))
    app = kebab(data, settings=settings, query="zzzz tag:요리 lang:ko after:2020", mode="lexical")
    async with app.run_test(size=(60, 8)) as pilot:
        await found(pilot)
        await focus(pilot, app.words)
        await pilot.press("down")
        assert app.words.scroll_offset.y == 0
        await pilot.press("alt+g")
        assert app.words.scroll_offset.y == 1
        await pilot.resize_terminal(*WIDE)
        app.box.write("citation")
        await found(pilot)
        await focus(pilot, app.preview)
        await until(pilot, lambda: "lower c›" in painted(app))
        await pilot.press("right")
        assert "lower c›" in painted(app)
        await pilot.press("alt+>")
        await until(pilot, lambda: "lower case" in painted(app))


async def test_tab_is_a_key_like_any_other(data: Path) -> None:
    app = kebab(data, settings=Settings(keys={"next_pane": ("alt+g",)}), query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("tab")
        assert has_keys(app.box)
        await pilot.press("alt+g")
        assert has_keys(app.hits)


async def test_the_footer_offers_the_way_out(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        footer = painted(app).splitlines()[-1]
        for action in MAIN:
            if action.in_footer and not action.in_pane and action.is_available(app.facts):
                assert action.label in footer, action.id


# Leaving


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("editor", "+{first}\n{path}"),
        ("citation", "{path}:L{first}-L{last}"),
        ("line", "{path}:{first}"),
    ],
)
async def test_pick_ends_with_the_citation(data: Path, embedded_place: Path, form: str, printed: str) -> None:
    app = kebab(data, query="ownership", mode="lexical", pick=True, pick_as=form)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        first = app.hits.selected
        assert first is not None
        await pilot.press("enter")
    span, path = first.citation.span, f"{embedded_place}/notes/rust/ownership.md"
    wanted = printed.format(path=path, first=span.first, last=span.last)
    assert app.return_value == tuple(wanted.split("\n"))  # an argument a line


async def test_pick_gives_every_marked_hit(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True, pick_as="citation")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("ctrl+@", "ctrl+@", "enter")
    assert app.return_value is not None and len(app.return_value) == 2


async def test_the_footer_of_a_picker_says_pick(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "enter pick" in painted(app))
        assert "enter open" not in painted(app)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "enter pick · tab passages" in painted(app))


async def test_quit_picks_nothing(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await focus(pilot, app.hits)
        await pilot.press("ctrl+q")
    assert app.return_value == ()


async def test_ctrl_q_quits_from_every_overlay(data: Path) -> None:
    for opener in ("f1", "f2"):
        app = kebab(data, query="rust", mode="lexical")
        async with app.run_test(size=WIDE) as pilot:
            await found(pilot)
            await pilot.press(opener, "ctrl+q")
        assert app.return_value == ()


# What goes wrong


async def test_an_engine_error_is_shown_and_keeps_the_last_hits(shared: SharedScreen) -> None:
    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if query.text == "rustx":
            raise StoreError("the disk is on fire", "put it out")
        return real.search(query, first_answer)

    async with shared(query="rust", verbs={"search": search}) as pilot:
        app = await found(pilot)
        before = paths(app)
        await pilot.press("x")
        await until(pilot, lambda: "the disk is on fire" in painted(app))
        assert "put it out" in painted(app)
        assert paths(app) == before and before
        await pilot.press("backspace")
        await found(pilot)
        assert "on fire" not in painted(app)


async def test_a_defect_of_the_engine_does_not_end_the_screen(shared: SharedScreen) -> None:
    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        if query.text == "boom":
            raise ZeroDivisionError("boom [/red]\x1b[2J")
        return real.search(query, first_answer)

    async with shared(query="boom", verbs={"search": search}) as pilot:
        app = await settled(pilot)
        assert "ZeroDivisionError" in painted(app) and "\x1b" not in painted(app)
        app.box.write("rust")
        await found(pilot)
        assert paths(app)


async def test_an_index_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    def fail() -> Workspace:
        raise StoreError("no such index today", "try tomorrow")

    async with kebab(tmp_path / "data", fail).run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "no such index today" in painted(pilot.app))


async def test_a_raw_query_refused_by_fts5_shows_the_reason(shared: SharedScreen) -> None:
    async with shared(query="'AND AND'") as pilot:
        await until(pilot, lambda: "tab  AND AND" in painted(pilot.app))


# First run


async def test_the_first_run_explains_the_start_and_offers_sample_notes(tmp_path: Path) -> None:
    async with kebab(tmp_path / "data").run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "path of a folder of notes" in painted(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: "alt+o   choose your folder of notes" in painted(pilot.app))


# Sizes


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (39, 9), (300, 90)])
async def test_it_works_at_every_size(shared: SharedScreen, size: tuple[int, int]) -> None:
    async with shared(query="rust", explain=True, size=size) as pilot:
        app = await found(pilot)
        await pilot.press("down", "f3", "f3", "f6", "f11", "f11", "tab", "f1", "escape", "f2", "escape")
        assert len(app.screen_stack) == 1


async def test_a_small_terminal_shows_one_pane_and_a_hint(shared: SharedScreen) -> None:
    async with shared(query="rust", size=(38, 9)) as pilot:
        app = await found(pilot)
        assert not app.preview.display and app.hits.display
        assert "too small" in painted(app)
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        assert "too small" not in painted(app)


async def test_at_80x24_at_least_21_rows_are_content(shared: SharedScreen) -> None:
    async with shared(query="rust", size=(80, 24)) as pilot:
        app = await found(pilot)
        assert app.hits.size.height + app.preview.size.height >= 21
        assert {pane.size.width for pane in (app.hits, app.preview)} <= {79, 80}


async def test_a_storm_of_sizes_leaves_the_last_one_whole(shared: SharedScreen) -> None:
    async with shared(query="rust", explain=True) as pilot:
        app = await found(pilot)
        for number in range(10):
            await pilot.resize_terminal(10 + number * 37 % 150, 3 + number * 17 % 50)
        await pilot.resize_terminal(*WIDE)
        await pilot.pause()
        assert app.hits.region.width + app.preview.region.width == WIDE[0]
        assert app.status.region.bottom == WIDE[1] - 1
        assert paths(app)[0] in painted(app)


async def test_a_list_that_was_moved_in_stays_when_the_final_answer_follows_the_first(
    shared: SharedScreen,
) -> None:
    go_on = threading.Event()

    def search(real: Workspace, query: SearchQuery, first_answer: bool = False) -> SearchResponse:
        assert first_answer or go_on.wait(60)
        return real.search(query, first_answer)

    async with shared(query="rust", mode="hybrid", verbs={"search": search}) as pilot:
        app = pilot.app
        assert isinstance(app, KebabApp)
        await until(pilot, lambda: paths(app))
        await pilot.press("down", "down")
        assert app.hits.selected is not None
        kept = app.hits.selected.path, app.hits.selected.chunk_id
        go_on.set()
        await found(pilot)
        assert (app.hits.selected.path, app.hits.selected.chunk_id) == kept


def test_the_key_of_the_hint_is_the_registry_s() -> None:
    assert action_of(ACTIONS, "quit").keys("query")[0] == "ctrl+q"
