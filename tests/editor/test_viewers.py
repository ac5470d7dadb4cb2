"""The choice of a viewer, and its arguments for a page."""

from __future__ import annotations

import pytest

from kebab_tui.editor import VIEWERS, EditorError, NoWindowError, choose_viewer, line_hint, no_window
from kebab_tui.settings.settings import ViewerSettings

PATH = "/notes/a {page} b.pdf"
WINDOW = {"DISPLAY": ":0"}


def argv(command: str = "", programs: str = "evince xdg-open", page: int = 4) -> tuple[str, ...]:
    there = {program: f"/bin/{program}" for program in programs.split()}
    return choose_viewer(ViewerSettings(pdf=command), "pdf", WINDOW, there.get).at(PATH, page).argv


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("zathura", ("-P", "4", PATH)),
        ("evince", ("-i", "4", PATH)),
        ("atril", ("-i", "4", PATH)),
        ("okular", ("-p", "4", PATH)),
        ("sioyek", ("--page", "4", PATH)),
        ("qpdfview", (f"{PATH}#4",)),
        ("mupdf", (PATH, "4")),
        ("xpdf", (PATH, "4")),
        ("xdg-open", (PATH,)),
    ],
)
def test_each_viewer_has_its_own_arguments(program: str, words: tuple[str, ...]) -> None:
    assert argv("", program) == (program, *words)
    assert argv(f"/opt/{program} --fullscreen", f"/opt/{program}") == (
        f"/opt/{program}",
        "--fullscreen",
        *words,
    )


def test_one_that_can_open_a_page_goes_before_one_that_cannot() -> None:
    assert [name for name, words in VIEWERS.items() if words == ("{path}",)] == list(VIEWERS)[-2:]
    assert argv("", "xdg-open mupdf")[0] == "mupdf"


def test_the_setting_is_followed_word_by_word_without_a_shell() -> None:
    assert argv("tool '--at {page}' $HOME {path}", "tool evince") == ("tool", "--at 4", "$HOME", PATH)
    assert argv("tool", "tool evince") == ("tool", PATH)


def test_a_viewer_that_goes_to_no_page_says_so() -> None:
    there = {"xdg-open": "/bin/xdg-open"}
    made = choose_viewer(ViewerSettings(), "pdf", WINDOW, there.get).at(PATH, 4)
    assert made.kind == "gui"
    assert line_hint(made) == (
        'could not pass the page number to xdg-open; set [viewer] pdf = "xdg-open … {page} {path}" '
        "in the configuration"
    )
    assert line_hint(choose_viewer(ViewerSettings(), "pdf", WINDOW, {"okular": "x"}.get).at(PATH, 4)) == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("missing {page} {path}", "the viewer missing (from [viewer] pdf) is not installed"),
        ("'missing", '[viewer] pdf: invalid command "\'missing" (No closing quotation)'),
        ("evince {line} {path}", "[viewer] pdf: unknown placeholder {line}"),
    ],
)
def test_a_wrong_setting_is_an_error(command: str, message: str) -> None:
    with pytest.raises(EditorError) as caught:
        argv(command)
    assert caught.value.message == message
    assert caught.value.hint


def test_a_setting_with_a_page_but_no_path_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no \{path\}"):
        ViewerSettings(pdf="evince -i {page}")


def test_without_any_viewer_some_are_named() -> None:
    with pytest.raises(EditorError) as caught:
        argv("", "")
    assert (
        caught.value.message == "there is no viewer for pdf: install zathura, evince, papers or another one"
    )


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"DISPLAY": ":0"}, ""),
        ({"WAYLAND_DISPLAY": "wayland-0"}, ""),
        ({}, "without a display"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"}, "over ssh"),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, "over ssh"),
    ],
)
def test_a_viewer_needs_a_window_here(
    environ: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert no_window(environ) == reason
    if reason:
        with pytest.raises(NoWindowError, match=reason):
            choose_viewer(ViewerSettings(), "pdf", environ, {"evince": "/bin/evince"}.get)


def test_a_relative_path_is_no_argument() -> None:
    with pytest.raises(ValueError, match="absolute"):
        choose_viewer(ViewerSettings(), "pdf", WINDOW, {"evince": "x"}.get).at("-P", 1)
