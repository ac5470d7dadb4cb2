"""The choice of the editor, and the errors for a missing one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kebab_tui.editor import EditorError, Kind, choose, line_hint
from kebab_tui.settings.settings import EditorSettings

PATH = "/notes/a b.md"


def installed(*programs: str) -> dict[str, str]:
    return {program: f"/bin/{program}" for program in programs}


def argv(command: str = "", programs: str = "vim nano", **environ: str) -> tuple[str, ...]:
    there = installed(*programs.split())
    return choose(EditorSettings(command=command), environ, there.get).at(PATH, 3).argv


def test_the_settings_win_then_kebab_editor_then_visual_then_editor() -> None:
    environ = {"KEBAB_EDITOR": "b", "VISUAL": "c", "EDITOR": "d"}
    programs = "a b c d"
    seen = [argv("a", programs, **environ)[0]]
    for name in ("KEBAB_EDITOR", "VISUAL", "EDITOR"):
        seen.append(argv("", programs, **environ)[0])
        environ[name] = ""
    assert seen == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("programs", "first"),
    [("vi vim nano nvim", "nvim"), ("vi nano vim", "vim"), ("vi nano", "nano"), ("vi", "vi")],
)
def test_without_a_wish_the_best_that_is_installed_is_taken(programs: str, first: str) -> None:
    assert argv("", programs)[0] == first


def test_a_template_in_the_settings_is_followed_word_by_word() -> None:
    assert argv("ed '-x {line}' {path}", "ed") == ("ed", "-x 3", PATH)


@pytest.mark.parametrize(("terminal", "kind"), [(True, "terminal"), (False, "gui")])
def test_the_settings_say_whether_a_template_runs_in_the_terminal(terminal: bool, kind: Kind) -> None:
    settings = EditorSettings(command="ed {path}", terminal=terminal)
    assert choose(settings, {}, installed("ed").get).at(PATH, 3).kind == kind


def test_words_are_split_but_no_shell_reads_them() -> None:
    found = argv("", "vim", EDITOR="vim -c 'set nu' $HOME `id`; *")
    assert found == ("vim", "-c", "set nu", "$HOME", "`id`;", "*", "+3", "--", PATH)


def test_the_home_folder_may_be_written_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert argv("", "/home/me/bin/vim", EDITOR="~/bin/vim")[0] == "/home/me/bin/vim"


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"EDITOR": "nope"}, r"nope \(from EDITOR\) is not installed"),
        ({"VISUAL": "vim 'x"}, "VISUAL"),
        ({"EDITOR": "''"}, "EDITOR names no program"),
    ],
)
def test_a_configured_editor_that_is_missing_is_an_error(environ: dict[str, str], said: str) -> None:
    with pytest.raises(EditorError, match=said) as caught:
        argv("", **environ)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_a_path_that_is_no_program_is_described(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(mode=0o600)
    with pytest.raises(EditorError, match=r"file \(from VISUAL\) is not an executable file") as caught:
        argv("", VISUAL=str(file))
    assert f"chmod +x {file}" in caught.value.hint
    with pytest.raises(EditorError, match=r"\(from VISUAL\) is a folder") as caught:
        argv("", VISUAL=str(tmp_path))
    assert caught.value.hint == "name a program in VISUAL"


def test_without_any_editor_the_error_names_the_setting() -> None:
    with pytest.raises(EditorError, match="none of nvim, vim, nano, vi") as caught:
        argv("", "")
    assert "EDITOR" in caught.value.hint


def test_a_program_without_a_line_argument_has_a_hint() -> None:
    there = installed("scribble", "vim").get
    made = choose(EditorSettings(), {"EDITOR": "scribble"}, there).at(PATH, 3)
    assert "{line}" in line_hint(made)
    assert line_hint(choose(EditorSettings(), {}, there).at(PATH, 3)) == ""
