"""One registry, and everything that is made from it says the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual.actions import parse
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from kebab_tui.settings.settings import Settings
from kebab_tui.tui import actions as actions_module
from kebab_tui.tui.actions import (
    ACTIONS,
    EDITING_KEYS,
    OVER_ALL,
    PLACES,
    SCREENS,
    Action,
    Facts,
    Place,
    action_of,
    actions_on,
    available,
    bind,
    bind_app,
    bindings,
    name_of,
)
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.commands import Commands
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.keys import arrives_as, key_name, shown, shown_all, types_a_character
from kebab_tui.tui.screens.copy_menu import CopyMenu
from kebab_tui.tui.screens.file_states import FileStatesScreen
from kebab_tui.tui.screens.folder_prompt import FolderPrompt
from kebab_tui.tui.screens.help import HelpSheet, help_groups
from kebab_tui.tui.screens.links_page import LinksPage
from kebab_tui.tui.screens.palette import Palette, commands
from kebab_tui.tui.screens.question import Question
from kebab_tui.tui.screens.switcher import Switcher
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from tests.tui.key_table import BEGIN, END, key_table, with_key_table
from tests.tui.screen import WIDE, Screen, found, kebab, painted, until

SCREEN_PAGE = Path(__file__).parents[2] / "docs" / "screen.md"
MAIN = actions_on(ACTIONS, "Main")
EVERYTHING = Facts(**{fact.name: True for fact in fields(Facts)})

ESSENTIAL = [
    "open",
    "next_hit",
    "previous_hit",
    "copy",
    "mark",
    "focus_query",
    "mode",
    "drop_filter",
    "preview",
    "explain",
    "layout",
    "zoom",
    "next_pane",
    "rescan",
    "health",
    "sample_vault",
    "help",
    "palette",
    "back",
    "quit",
]
"""The screen cannot be used without these actions."""
SAFE = re.compile(
    r"f([1-9]|1[0-2])|ctrl\+[a-gln-z]|ctrl\+[jk]|ctrl\+space|(shift\+)?(up|down|left|right|tab)"
    r"|enter|escape|space|home|end|pageup|pagedown|."
)
"""The keys that pass through ssh and tmux without the Kitty protocol."""


# the registry


def test_every_action_has_its_own_id_and_a_key() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert any(action.keys(place) for place in PLACES), action.id


def test_keys_are_spelt_the_one_way() -> None:
    for action in ACTIONS:
        for key in action.all_keys:
            assert key_name(key) == key, (action.id, key)


def test_no_two_actions_want_one_key() -> None:
    assert keymap({}) == ACTIONS


def test_essential_actions_have_a_safe_key_in_the_query_box() -> None:
    for action_id in ESSENTIAL:
        assert any(map(SAFE.fullmatch, action_of(ACTIONS, action_id).keys("query"))), action_id


def test_characters_are_keys_of_the_normal_mode_and_of_the_explanation_only() -> None:
    for action in ACTIONS:
        assert not any(types_a_character(key) for key in action.keys("query", "lists")), action.id


def test_no_key_is_flow_control_or_the_prefix_of_tmux() -> None:
    for action in ACTIONS:
        assert not {"ctrl+s", "ctrl+b"} & {*action.all_keys}, action.id
        assert "ctrl+q" not in action.all_keys or action.id == "quit"


def test_every_alt_key_has_an_entry_in_the_palette() -> None:
    with_alt = {action.id for action in MAIN if any("alt+" in key for key in action.all_keys)}
    assert with_alt <= {action.id for action in commands(ACTIONS, EVERYTHING)}


def test_what_works_over_every_screen_is_listed_on_each() -> None:
    for action_id in OVER_ALL:
        assert {*SCREENS} == {"Main", *action_of(ACTIONS, action_id).also}


def test_the_editing_keys_of_the_box_belong_to_no_action() -> None:
    for action in actions_on(ACTIONS, "Main"):
        assert not {"ctrl+a", "ctrl+e", "ctrl+u", "ctrl+w", "home", "end"} & set(action.keys("query")), (
            action.id
        )


def test_previous_is_ctrl_p_and_the_palette_is_not() -> None:
    assert "ctrl+p" in action_of(ACTIONS, "previous_hit").everywhere
    assert action_of(ACTIONS, "palette").keys("query") == ("f2",)


# the keys of screen.md

WANTED: list[tuple[str, str, str]] = [
    ("next_hit", "down ctrl+n", "j"),
    ("previous_hit", "up ctrl+p", "k"),
    ("next_page", "pagedown", ""),
    ("previous_page", "pageup", ""),
    ("first_hit", "", "g home"),
    ("last_hit", "", "G end"),
    ("half_page_down", "", "ctrl+d"),
    ("half_page_up", "", "ctrl+u"),
    ("open", "enter ctrl+o", "e"),
    ("copy", "ctrl+y", "y"),
    ("copy_text", "alt+y", "Y"),
    ("mark", "ctrl+space", "space"),
    ("switcher", "ctrl+g", "'"),
    ("links", "f9", "L"),
    ("follow", "ctrl+f", "f"),
    ("visit_back", "alt+left", "H"),
    ("visit_forward", "alt+right", "J"),
    ("expand", "alt+e", "o"),
    ("mode", "ctrl+t", ""),
    ("drop_filter", "f8", "x"),
    ("preview", "f3", ""),
    ("explain", "f4", ""),
    ("layout", "f6", ""),
    ("zoom", "f11", "z"),
    ("wrap", "alt+z", "w"),
    ("render", "alt+m", "m"),
    ("next_match", "alt+n", "n"),
    ("previous_match", "alt+p", "N"),
    ("why_not", "alt+w", "W"),
    ("rescan", "f5 ctrl+r", ""),
    ("health", "f12", ""),
    ("help", "f1", "?"),
    ("palette", "f2", ":"),
    ("focus_query", "ctrl+l", "/"),
    ("next_pane", "tab", ""),
    ("previous_pane", "shift+tab", ""),
    ("quit", "ctrl+q", "q"),
    ("back", "escape", ""),
    ("interrupt", "ctrl+c", ""),
    ("suspend", "ctrl+z", ""),
]


@pytest.mark.parametrize(("action_id", "everywhere", "normal_mode"), WANTED)
def test_the_contract_s_keys_hold(action_id: str, everywhere: str, normal_mode: str) -> None:
    action = action_of(ACTIONS, action_id)
    assert {*everywhere.split()} <= {*action.everywhere}
    assert {*everywhere.split(), *normal_mode.split()} <= {*action.keys("vim")}


def test_the_knobs_of_a_what_if_work_in_the_explanation_only() -> None:
    knobs = ("rrf_k_down", "rrf_k_up", "vector_weight_down", "vector_weight_up", "rerank", "what_if_reset")
    assert [action_of(ACTIONS, knob).panel for knob in knobs] == [(key,) for key in "[]{}|="]
    assert all(action_of(ACTIONS, knob).keys("query", "lists", "vim") == () for knob in knobs)


def test_history_is_a_matter_of_the_query_box() -> None:
    assert action_of(ACTIONS, "older_query").query == ("ctrl+up",)
    assert action_of(ACTIONS, "newer_query").query == ("ctrl+down",)
    assert action_of(ACTIONS, "recall_query").keys("lists") == ()


# what is made from it


@pytest.mark.parametrize("place", PLACES)
def test_every_key_is_bound_to_its_action(place: Place) -> None:
    bound = {(binding.key, binding.action) for binding in bindings(MAIN, place)}
    assert bound == {
        (name, action.call) for action in MAIN for key in action.keys(place) for name in arrives_as(key)
    }


def test_the_palette_lists_every_action_but_itself() -> None:
    listed = [action.id for action in commands(ACTIONS, EVERYTHING)]
    assert listed == [action.id for action in MAIN if action.id != "palette"]


def test_the_palette_shows_the_keys() -> None:
    named = {command.id: command.detail for command in commands(ACTIONS, EVERYTHING)}
    assert named["zoom"].split()[0] == "F11"


def test_the_table_of_the_readme_has_a_row_for_every_action() -> None:
    lines = key_table().splitlines()
    for action in ACTIONS:
        [row] = [line for line in lines if line.endswith(f"| `{action.id}` |")]
        assert action.help in row
        for key in {key for place in PLACES for key in action.keys(place)}:
            assert f"`{shown(key)}`".replace("|", r"\|") in row


def test_the_table_takes_its_place_between_the_markers() -> None:
    text = f"before\n{BEGIN}\nan old one\n{END}\nafter\n"
    written = with_key_table(text)
    assert written.startswith(f"before\n{BEGIN}\n| ")
    assert written.endswith(f" |\n{END}\nafter\n")
    assert "an old one" not in written
    assert with_key_table(written) == written


def test_a_document_without_markers_stays_as_it_is() -> None:
    assert with_key_table("no markers") == "no markers"


@pytest.mark.skipif(
    BEGIN not in SCREEN_PAGE.read_text(encoding="utf-8"), reason="the page has no table of keys yet"
)
def test_the_page_of_the_screen_has_the_table_as_it_is_now() -> None:
    text = SCREEN_PAGE.read_text(encoding="utf-8")
    assert with_key_table(text) == text


# what makes sense now


@pytest.mark.parametrize(
    ("facts", "present", "absent"),
    [
        (Facts(), "recall_query", "next_hit"),
        (Facts(hits=True, moves=True, empty_query=False), "next_hit", "recall_query"),
        (Facts(filters=True), "drop_filter", "rerank"),
        (Facts(corrected=True), "exact", "drop_filter"),
        (Facts(explain=True), "rerank", "drop_filter"),
        (Facts(first_run=True), "sample_vault", "open"),
    ],
)
def test_only_available_actions_are_offered(facts: Facts, present: str, absent: str) -> None:
    ids = {action.id for action in available(ACTIONS, facts)}
    assert present in ids
    assert absent not in ids
    assert {"help", "palette", "back", "quit"} <= ids


# on a screen


class Pane(Widget, can_focus=True):
    """A focusable thing whose own keys clash with ours."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "app.bell", "its own"),
        Binding("f9", "app.bell", show=False),
    ]


class Host(App[None]):
    def __init__(self, actions: tuple[Action, ...] = ACTIONS) -> None:
        super().__init__()
        self.actions = actions
        self.done: list[str] = []
        self.facts = EVERYTHING
        bind_app(self, actions)

    def compose(self) -> ComposeResult:
        yield Pane()

    def on_mount(self) -> None:
        pane = self.query_one(Pane)
        bind(pane, self.actions, "Main", "panel", "vim")
        bind(self.screen, self.actions, "Main", "everywhere")
        pane.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "act" or action_of(self.actions, str(parameters[0])).is_available(self.facts)

    def action_act(self, action_id: str) -> None:
        self.done.append(action_id)


@pytest.mark.parametrize(
    ("key", "action_id"),
    [
        ("j", "next_hit"),
        ("ctrl+n", "next_hit"),
        ("G", "last_hit"),
        ("home", "first_hit"),
        ("left_square_bracket", "rrf_k_down"),
        ("vertical_line", "rerank"),
        ("question_mark", "help"),
        ("colon", "palette"),
        ("space", "mark"),
        ("ctrl+@", "mark"),
        ("tab", "next_pane"),
        ("shift+down", "scroll_down"),
        ("f4", "explain"),
        ("ctrl+q", "quit"),
    ],
)
async def test_a_key_runs_its_action(key: str, action_id: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(key)
        assert app.done == [action_id]


async def test_a_key_does_nothing_while_its_action_makes_no_sense() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.facts = Facts()
        await pilot.press("j", "f4")
        assert app.done == ["explain"]


async def test_over_another_screen_only_what_works_everywhere_still_does() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await app.push_screen(ModalScreen[None]())
        await pilot.press("j", "down", "f4", "ctrl+q", "ctrl+c", "ctrl+z")
        assert app.done == ["quit", "interrupt", "suspend"]


async def test_without_a_focus_the_keys_that_hold_everywhere_work() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.screen.set_focus(None)
        await pilot.press("f4", "j", "ctrl+up", "ctrl+n")
        assert app.done == ["explain", "next_hit"]


# the real screens


def test_no_other_module_has_keys() -> None:
    """Except those that edit the text of an input, which are Textual's."""
    folder = Path(actions_module.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            where = f"{file.relative_to(folder)}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Assign(targets=[ast.Name("BINDINGS")]) | ast.AnnAssign(target=ast.Name("BINDINGS")):
                    pytest.fail(f"{where}: BINDINGS")
                case ast.Call(func=ast.Name("Binding")):
                    assert file.name == "actions.py", f"{where}: Binding"
                case ast.Compare(left=ast.Attribute(attr="key" | "name" | "aliases"), comparators=[*others]):
                    inside = [part for other in others for part in ast.walk(other)]
                    texts = [str(part.value) for part in inside if isinstance(part, ast.Constant)]
                    assert not any(map(key_name, texts)), f"{where}: compares a key"
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    assert not key_name(name.lstrip("_").removeprefix("key_")) or "key_" not in name, where


def foreign_keys(app: App[Any]) -> list[tuple[str, str]]:
    """The keys that work now and are neither in the registry nor edit the text of an input."""
    calls = {action.call for action in ACTIONS}
    return [
        (key, binding.action)
        for node, keys in app.screen._modal_binding_chain
        for key, binding in keys
        if binding.action not in calls
        if not (isinstance(node, Input) and key in EDITING_KEYS)
    ]


@pytest.mark.slow
async def test_no_key_of_a_screen_is_outside_the_registry(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", explain=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        for pane in (app.box, app.hits, app.preview, app.explain, app.words):
            app.screen.set_focus(pane)
            assert foreign_keys(app) == [], pane
        app.screen.set_focus(app.hits)
        seen = []
        for keys in (["f12"], ["tab"], ["escape", "alt+w"], ["escape", "f1"], ["escape", "f2"]):
            await pilot.press(*keys)
            seen.append(name_of(app.screen))
            assert foreign_keys(app) == [], keys
        assert seen == ["Files", "Files", "Why not", "Help", "Palette"]


@pytest.mark.parametrize(
    "action", [action for action in ACTIONS if action.runs], ids=lambda action: action.id
)
def test_what_an_action_runs_exists(action: Action) -> None:
    screens: dict[str, type[DOMNode]] = {
        "Files": FileStatesScreen,
        "Why not": WhyNotPrompt,
        "Help": HelpSheet,
        "Palette": Palette,
        "Switcher": Switcher,
        "Folder": FolderPrompt,
        "Question": Question,
        "Links": LinksPage,
        "Copy": CopyMenu,
    }
    owners = {"app": KebabApp, "screen": screens[action.screen], "": VerticalScroll}
    owner, name, _ = parse(action.runs)
    assert hasattr(owners[owner], f"action_{name}") or hasattr(owners[owner], f"_action_{name}")


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_can_be_given_another_key(action: Action) -> None:
    actions = actions_on(keymap({action.id: ("f20",)}), action.screen)
    bound = [binding for place in PLACES for binding in bindings(actions, place)]
    assert {binding.key for binding in bound if binding.action == action.call} == {"f20"}
    assert any("F20" in keys for group in help_groups(actions, action.section) for keys, _ in group.rows)
    [row] = [line for line in key_table(actions).splitlines() if line.endswith(f"| `{action.id}` |")]
    assert "`F20`" in row


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "key"), [({}, "f10"), ({"toy": ("f9",), "links": ("f10",)}, "f9")])
async def test_a_new_action_is_one_line_and_one_method(
    keys: dict[str, tuple[str, ...]], key: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []
    toy = Action("toy", "toy", "Play with a toy", "Hits", ("f10",), in_footer=True)
    monkeypatch.setattr("kebab_tui.tui.keymap.ACTIONS", (toy, *ACTIONS))
    monkeypatch.setattr(Commands, "do_toy", lambda _: played.append("toy"), raising=False)
    app = kebab(data, query="rust", mode="lexical", settings=Settings(keys=keys))
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await press_and_find(pilot, key, lambda: len(played))
    assert "Play with a toy" in key_table(app.actions)


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "key"), [({}, "f10"), ({"files_toy": ("f9",)}, "f9")])
async def test_a_new_action_of_a_screen_above_is_one_line_and_one_method(
    keys: dict[str, tuple[str, ...]], key: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []
    toy = Action("files_toy", "toy", "Play with a toy", "Files", ("f10",), in_footer=True, runs="screen.toy")
    monkeypatch.setattr("kebab_tui.tui.keymap.ACTIONS", (toy, *ACTIONS))
    monkeypatch.setattr(FileStatesScreen, "action_toy", lambda _: played.append("toy"), raising=False)
    app = kebab(data, mode="lexical", settings=Settings(keys=keys))
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f12")
        await press_and_find(pilot, key, lambda: len(played))
        assert name_of(app.screen) == "Files"


async def press_and_find(pilot: Screen, key: str, played: Callable[[], int]) -> None:
    """Find the toy in the footer, the help and the palette of this screen, and run it with its key."""
    app = pilot.app
    await pilot.press(key)
    assert played() == 1
    await until(pilot, lambda: f"{shown(key)} toy" in painted(app).splitlines()[-1])
    await pilot.press("f1", *"toy")
    await until(pilot, lambda: "Play with a toy" in painted(app))
    first = painted(app).partition("Play with a toy")[0].splitlines()[-1]
    assert shown(key) in first
    await pilot.press("escape", "escape", "f2", *"toy")
    await until(pilot, lambda: re.search(rf"toy  +Play with a toy  +{shown(key)} ", painted(app)))
    await pilot.press("enter")
    await until(pilot, lambda: played() == 2)


# on a screen of its own


async def test_quit_can_be_given_another_key() -> None:
    app = Host(keymap({"quit": ("f10",), "explain": ("ctrl+q",)}))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+q", "f10")
        assert app.done == ["explain", "quit"]


def test_no_help_is_markup() -> None:
    assert not any("[" in action.help or "[" in action.label for action in ACTIONS)


def test_keys_are_shown_as_people_write_them() -> None:
    assert (
        shown_all(("f4", "pagedown", "shift+up", "ctrl+n", "escape", "+")) == "F4 PgDn shift+↑ ctrl+n esc +"
    )


def test_actions_have_different_texts() -> None:
    assert len({action.help for action in ACTIONS}) == len(ACTIONS)
    for screen in SCREENS:
        labels = [action.label for action in actions_on(ACTIONS, screen)]
        assert len(set(labels)) == len(labels)
