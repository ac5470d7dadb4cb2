"""Other keys for some actions: what is written holds, and what cannot hold is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.errors import ConfigError
from kebab_tui.settings.load import load_settings
from kebab_tui.settings.starter import starter_text
from kebab_tui.tui.actions import ACTIONS, action_of
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.keys import key_name, shown, types_a_character


def refusal(written: dict[str, tuple[str, ...]]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        keymap(written)
    return caught.value


def test_the_users_keys_replace_all_keys_of_the_action() -> None:
    explain = action_of(keymap({"explain": ("F10", "alt+g")}), "explain")
    assert explain.keys("query") == explain.keys("lists") == ("f10", "alt+g")
    assert action_of(keymap({"quit": ("f10",)}), "quit").all_keys == ("f10",)


def test_a_key_that_types_is_one_of_the_normal_mode() -> None:
    action = action_of(keymap({"explain": ("f4", "E")}), "explain")
    assert action.keys("query", "lists", "panel") == ("f4",)
    assert action.keys("vim") == ("f4", "E")


def test_characters_only_leave_the_other_keys_as_they_are() -> None:
    action = action_of(keymap({"open": ("e", "b")}), "open")
    assert action.everywhere == ("enter", "ctrl+o")
    assert action.vim == ("e", "b")
    assert action_of(keymap({"quit": ("Q",)}), "quit").everywhere == ("ctrl+q",)


@pytest.mark.parametrize("action_id", ["half_page_down", "first_hit", "files_close", "help_first"])
def test_an_action_of_the_lists_stays_there(action_id: str) -> None:
    action = action_of(keymap({action_id: ("ctrl+x",)}, vim=False), action_id)
    assert action.keys("query") == ()
    assert action.keys("lists") == ("ctrl+x",)


def test_a_knob_of_the_explanation_may_be_any_key() -> None:
    knob = action_of(keymap({"rrf_k_up": ("+", "alt+k")}, vim=False), "rrf_k_up")
    assert knob.panel == ("+", "alt+k")
    assert knob.keys("query", "lists") == ()


def test_keys_that_the_registry_no_longer_has_can_be_given_back() -> None:
    actions = keymap({"next_hit": ("down", "ctrl+j"), "previous_hit": ("up", "ctrl+k")}, vim=False)
    assert action_of(actions, "next_hit").everywhere == ("down", "ctrl+j")
    assert action_of(actions, "previous_hit").everywhere == ("up", "ctrl+k")


def test_without_vim_keys_no_action_has_a_character_outside_the_explanation() -> None:
    for action in keymap({"explain": ("f4", "E")}, vim=False):
        assert not any(types_a_character(key) for key in action.keys("query", "lists", "vim")), action.id


def test_letters_that_were_keys_once_clash_with_nothing_without_vim_keys() -> None:
    once = {"why_not": ("w",), "files_open": ("enter", "o", "e"), "open": ("enter", "o")}
    assert keymap(once, vim=False)
    assert refusal(once).message == "keys: open and expand both use o"


def test_an_action_without_keys_is_left_to_the_palette() -> None:
    actions = keymap({"rescan": ()})
    assert action_of(actions, "rescan").keys("lists") == ()


def test_keys_can_be_exchanged() -> None:
    actions = keymap({"preview": ("f4",), "explain": ("f3",)})
    assert action_of(actions, "preview").everywhere == ("f4",)
    assert action_of(actions, "explain").everywhere == ("f3",)


def test_an_unknown_action_is_named_with_the_nearest() -> None:
    error = refusal({"next_hti": ("f9",)})
    assert "next_hti" in error.message
    assert error.hint == "did you mean next_hit?"


def test_an_action_like_no_other_is_answered_with_all_of_them() -> None:
    assert "next_hit, previous_hit" in refusal({"xyzzy": ("f9",)}).hint


def test_two_actions_that_want_one_key_are_both_named() -> None:
    error = refusal({"explain": ("f3",)})
    assert error.message == "keys: preview and explain both use F3"
    assert "preview = […]" in error.hint
    error = refusal({"explain": ("x",)})
    assert error.message == "keys: drop_filter and explain both use x"


def test_the_same_key_in_two_places_is_no_clash() -> None:
    assert action_of(keymap({"older_query": ("ctrl+u",)}), "older_query").query == ("ctrl+u",)


@pytest.mark.parametrize("action_id", ["older_query", "why_not_ask", "palette_run"])
def test_a_key_that_would_be_typed_into_a_text_box_is_refused_there(action_id: str) -> None:
    error = refusal({action_id: ("f10", "u")})
    assert error.message == f"keys.{action_id}: u would be typed into the text box"


@pytest.mark.parametrize("key", ["", "ctrl+", "hyper+x", "f99", "ctrl+ctrl+x", "up down", "\n", "가나"])
def test_a_key_that_does_not_exist_is_refused(key: str) -> None:
    assert "unknown key" in refusal({"explain": (key,)}).message


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("F4", "f4"),
        ("Ctrl+N", "ctrl+n"),
        ("shift+ctrl+up", "ctrl+shift+up"),
        ("PgDn", "pagedown"),
        ("Esc", "escape"),
        ("G", "G"),
        ("?", "?"),
        (",", ","),
        ("+", "+"),
        ("slash", "/"),
        ("meta+x", "alt+x"),
    ],
)
def test_keys_may_be_written_as_people_write_them(written: str, name: str) -> None:
    assert key_name(written) == name


@given(st.text(max_size=12))
def test_any_text_is_a_key_or_none(text: str) -> None:
    name = key_name(text)
    if name is not None:
        assert key_name(name) == name
        assert shown(name)


@pytest.mark.parametrize(
    ("action", "key", "other"),
    [("copy", "ctrl+i", "next_pane"), ("mark", "ctrl+m", "open"), ("copy", "ctrl+[", "back")],
)
def test_keys_that_are_one_to_a_terminal_clash(action: str, key: str, other: str) -> None:
    message = refusal({action: (key,)}).message
    assert action in message and other in message


@pytest.mark.parametrize("key", ["backspace", "ctrl+h", "delete", "left"])
def test_editing_keys_cannot_be_rebound(key: str) -> None:
    assert "edits the text" in refusal({"copy": (key,)}).message


@pytest.mark.parametrize("action_id", ["quit", "files_back", "why_not_close", "help_close", "palette_close"])
def test_the_way_out_of_a_screen_must_keep_a_key(action_id: str) -> None:
    assert action_id in refusal({action_id: ()}).message
    assert keymap({action_id: ("f10",)})


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+z"])
def test_a_key_that_works_over_every_screen_is_free_once_its_action_has_another(key: str) -> None:
    owner = {"ctrl+c": "interrupt", "ctrl+z": "suspend"}[key]
    assert refusal({"copy": (key,)}).message == f"keys: copy and {owner} both use {key}"
    assert refusal({"help_close": (key,)}).message == f"keys: {owner} and help_close both use {key}"
    assert keymap({"copy": (key,), "help_close": (key,), owner: ("f10",)})


def test_each_screen_has_keys_of_its_own() -> None:
    actions = keymap({"files_retry": ("f3", "m"), "why_not_ask": ("f4",), "help_close": ("f4",)})
    assert action_of(actions, "files_retry").keys("vim") == ("f3", "m")
    assert refusal({"files_retry": ("space",)}).message == "keys: files_retry and files_fold both use space"


def test_a_key_that_works_on_several_screens_clashes_on_each() -> None:
    assert refusal({"files_retry": ("f1",)}).message == "keys: help and files_retry both use F1"
    assert refusal({"palette_close": ("ctrl+q",)}).message == "keys: quit and palette_close both use ctrl+q"


# from the file


def load(folder: Path, text: str) -> dict[str, tuple[str, ...]]:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return load_settings(str(file), {"HOME": str(folder)}, {}).keys


def test_keys_are_read_from_their_section(tmp_path: Path) -> None:
    written = load(tmp_path, '[keys]\nexplain = ["f10"]\nnext_hit = ["down", "j"]\n')
    assert written == {"explain": ("f10",), "next_hit": ("down", "j")}
    assert action_of(keymap(written), "next_hit").vim == ("j",)


@pytest.mark.parametrize("value", ['"f9"', "9", "[9]", "{ key = 1 }"])
def test_anything_but_a_list_of_texts_is_refused_with_its_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml:3: keys\.explain: expected a list of strings"):
        load(tmp_path, f'[keys]\nnext_hit = ["down"]\nexplain = {value}\n')


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keys: expected a table"):
        load(tmp_path, "keys = 3\n")


def test_without_a_section_the_keys_are_the_registry_s(tmp_path: Path) -> None:
    assert keymap(load(tmp_path, "")) == ACTIONS


def test_the_starter_file_has_the_section(tmp_path: Path) -> None:
    text = starter_text()
    assert "\n[keys]\n" in text
    assert "next_hit" in text
    assert load(tmp_path, text) == {}
