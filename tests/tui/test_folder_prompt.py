"""The page that asks for a folder: completion, errors in place, likely folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kebab_tui.tui.screens import folder_prompt
from kebab_tui.tui.screens.folder_prompt import completions, likely_folders, obsidian_vaults, shown


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    for folder in ("notes/한글", "Notable", ".hidden", "Documents"):
        (made / folder).mkdir(parents=True)
    (made / "note.txt").write_text("no folder")
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made / ".config"))
    monkeypatch.chdir(made)
    return made


def names(text: str) -> tuple[str, list[str]]:
    problem, found = completions(text)
    return problem, [shown(path) for path in found]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("~/no", ["~/Notable", "~/notes"]),
        ("~/notes", ["~/notes"]),
        ("~/notes/", ["~/notes", "~/notes/한글"]),
        ("~/notes/한", ["~/notes/한글"]),
        ("~/.h", ["~/.hidden"]),
        ("notes", ["~/notes"]),
        ("~/", ["~", "~/Documents", "~/Notable", "~/notes"]),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_typed_path_is_completed(typed: str, found: list[str]) -> None:
    assert names(typed) == ("", found)


@pytest.mark.usefixtures("home")
def test_what_is_wrong_with_a_path_is_said_in_place() -> None:
    assert names("~/nope") == ("folder not found: ~/nope", [])
    assert names("~/nope/deeper") == ("folder not found: ~/nope", [])
    assert names("~/note.txt") == ("not a folder: ~/note.txt", [])
    assert names("~/note.txt/x") == ("not a folder: ~/note.txt", [])
    assert "cannot read" in names("~/a\0b/")[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_named(home: Path) -> None:
    (home / "notes").chmod(0)
    assert names("~/notes/")[0] == "permission denied: ~/notes"
    (home / "notes").chmod(0o700)


def test_likely_folders_are_the_current_one_obsidian_vaults_and_usual_names(home: Path) -> None:
    def is_note(name: str) -> bool:
        return name.endswith(".md")

    assert [shown(path) for path, _ in likely_folders(is_note)] == ["~/notes", "~/Documents"]
    vault = home / "Vault"
    vault.mkdir()
    (vault / "a.md").write_text("alpha")
    config = home / ".config" / "obsidian" / "obsidian.json"
    config.parent.mkdir(parents=True)
    vaults = {
        "1": {"path": str(home / "gone"), "ts": 3},
        "2": {"path": str(vault), "ts": 2},
        "3": {"path": "x"},
    }
    config.write_text(json.dumps({"vaults": vaults}))
    assert next(iter(likely_folders(is_note))) == (str(vault), "Obsidian vault")
    os.chdir(vault)
    assert next(iter(likely_folders(is_note))) == (str(vault), "current folder")
    for broken in ("[]", "{", '{"vaults": {"1": {"path": 3, "ts": "x"}}}'):
        config.write_text(broken)
        assert obsidian_vaults(str(home)) == []


def test_a_folder_with_very_many_folders_is_listed_in_part(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_prompt, "_MOST_SHOWN", 2)
    assert len(completions(f"{home}/")[1]) == 3
