"""The folders of configuration and data, and the variables that move them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import platformdirs
import pytest

from kebab_tui.domain.errors import ConfigError
from kebab_tui.settings.load import absolute, config_path, data_folder


def test_without_any_variable_both_live_below_home() -> None:
    assert config_path({"HOME": "/h"}) == "/h/.config/kebab/config.toml"
    assert data_folder({"HOME": "/h"}) == "/h/.local/share/kebab"


def test_xdg_variables_move_them() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    assert config_path(environ) == "/c/kebab/config.toml"
    assert data_folder(environ) == "/d/kebab"


@pytest.mark.parametrize("useless", ["", "relative/place"])
def test_an_empty_or_relative_xdg_variable_is_ignored(useless: str) -> None:
    assert data_folder({"HOME": "/h", "XDG_DATA_HOME": useless}) == "/h/.local/share/kebab"


def test_one_shared_xdg_folder_still_keeps_the_index_apart_from_the_configuration() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/same", "XDG_DATA_HOME": "/same"}
    assert data_folder(environ) == "/same/kebab/data"


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/h"},
        {"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"},
        {"HOME": "/h", "XDG_DATA_HOME": "no/root", "XDG_CONFIG_HOME": ""},
    ],
)
def test_platformdirs_gives_the_same_folders(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert data_folder(environ) == platformdirs.user_data_dir("kebab", appauthor=False)
    assert config_path(environ) == platformdirs.user_config_dir("kebab", appauthor=False) + "/config.toml"


def test_a_flag_names_the_file_before_the_variable_does(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "KEBAB_CONFIG": "/by/variable.toml"}
    assert config_path(environ) == "/by/variable.toml"
    assert config_path(environ, "/by/flag.toml") == "/by/flag.toml"


def test_a_tilde_is_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert absolute("~/notes") == "/h/notes"


def test_a_relative_path_starts_where_it_was_written() -> None:
    assert absolute("../notes", "/etc/kebab") == "/etc/notes"


def test_a_folder_whose_name_begins_with_a_tilde_is_no_user(tmp_path: Path) -> None:
    (tmp_path / "~old").mkdir()
    assert absolute("~old/notes", str(tmp_path)) == f"{tmp_path}/~old/notes"
    assert absolute("./~new", str(tmp_path)) == f"{tmp_path}/~new"
    with pytest.raises(ConfigError, match="there is no user 'new'"):
        absolute("~new/notes", str(tmp_path))


def test_a_path_with_nul_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a path"):
        absolute("a\0b")


def test_a_removed_working_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="working folder was removed"):
        absolute("notes")
    monkeypatch.chdir(tmp_path)


def test_without_a_home_nothing_is_put_into_a_folder_named_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> None:
        raise KeyError("no such user")

    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(ConfigError, match="no home folder"):
        data_folder({})
    with pytest.raises(ConfigError, match="no home folder"):
        absolute("~/notes")


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}], ids=["none", "empty"])
def test_without_home_the_users_home_is_used_and_never_the_root(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "")
    home = pwd.getpwuid(os.getuid()).pw_dir
    assert data_folder(environ) == f"{home}/.local/share/kebab"
    assert config_path(environ) == f"{home}/.config/kebab/config.toml"
