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
from kebab_tui.tui.keys import key_name, shown


def refusal(written: dict[str, tuple[str, ...]]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        keymap(written)
    return caught.value


def test_the_users_keys_replace_all_keys_of_the_action() -> None:
    explain = action_of(keymap({"explain": ("F9", "ctrl+g")}), "explain")
    assert explain.keys("query") == explain.keys("lists") == ("f9", "ctrl+g")


def test_a_key_that_types_holds_in_the_lists_only() -> None:
    action = action_of(keymap({"explain": ("f4", "E")}), "explain")
    assert action.keys("query") == ("f4",)
    assert action.keys("lists") == ("f4", "E")


def test_an_action_of_the_lists_stays_there() -> None:
    action = action_of(keymap({"half_page_down": ("ctrl+f",)}), "half_page_down")
    assert action.keys("query") == ()
    assert action.keys("lists") == ("ctrl+f",)


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


def test_a_key_that_would_be_typed_into_the_box_is_refused_there() -> None:
    error = refusal({"older_query": ("u",)})
    assert "older_query" in error.message
    assert "u would be typed" in error.message


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


@pytest.mark.parametrize("action_id", ["quit", "copy", "half_page_down", "help_close"])
def test_a_reserved_key_is_refused_with_its_purpose(action_id: str) -> None:
    error = refusal({action_id: ("ctrl+c",)})
    assert error.message == f"keys.{action_id}: ctrl+c is reserved: it copies the selected text"


def test_each_screen_has_keys_of_its_own() -> None:
    actions = keymap({"files_retry": ("m",), "why_not_ask": ("f4",), "help_close": ("f4",)})
    assert action_of(actions, "files_retry").keys("lists") == ("m",)
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
    written = load(tmp_path, '[keys]\nexplain = ["f9"]\nnext_hit = ["down", "j"]\n')
    assert written == {"explain": ("f9",), "next_hit": ("down", "j")}
    assert action_of(keymap(written), "next_hit").lists == ("j",)


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
