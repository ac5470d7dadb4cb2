"""Copying: which way is taken, and what the toast says of it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from kebab_tui.tui.clipboard import copy, tools

PROGRAMS = ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe", "tmux")
WAYLAND, X11, SSH, TMUX = (
    {"WAYLAND_DISPLAY": "w"},
    {"DISPLAY": ":0"},
    {"SSH_TTY": "/dev/pts/1"},
    {"TMUX": "/t,1,0"},
)


def everything(program: str) -> str:
    return "/bin/" + program


@pytest.mark.parametrize(
    ("installed", "environ", "tried"),
    [
        (PROGRAMS, WAYLAND | X11 | TMUX, "pbcopy wl-copy xclip xsel clip.exe tmux"),
        (("wl-copy", "xclip"), X11, "xclip"),
        (("xsel",), X11, "xsel"),
        (("wl-copy", "xclip", "xsel"), {}, ""),
        (("clip.exe",), {}, "clip.exe"),
        (PROGRAMS, WAYLAND | X11 | SSH, ""),
        (PROGRAMS, X11 | TMUX | SSH, "tmux"),
        (PROGRAMS, X11 | {"SSH_CONNECTION": "1 2 3 4"}, ""),
        (("tmux",), {}, ""),
        ((), TMUX | X11, ""),
    ],
)
def test_a_tool_is_tried_only_where_it_reaches_the_users_clipboard(
    installed: tuple[str, ...], environ: dict[str, str], tried: str
) -> None:
    find = {program: program for program in installed}.get
    assert " ".join(tool.argv[0] for tool in tools(environ, find)) == tried


class Bench:
    """Tools that write down what they are given, or fail."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.terminal: list[str] = []
        monkeypatch.setenv("PATH", str(place), prepend=None)

    def install(self, name: str, code: int = 0) -> None:
        script = f"""#!{sys.executable}
import json, sys
with open({str(self.place / name)!r} + ".json", "w") as file:
    json.dump([sys.argv[1:], sys.stdin.buffer.read().hex()], file)
sys.exit({code})
"""
        (self.place / name).write_text(script)
        (self.place / name).chmod(0o755)

    def copy(self, text: str, **environ: str) -> str:
        return copy(text, self.terminal.append, environ, shutil.which)

    def given(self, name: str) -> tuple[list[str], bytes]:
        argv, data = json.loads((self.place / (name + ".json")).read_text())
        return argv, bytes.fromhex(data)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_a_native_tool_gets_the_text(bench: Bench) -> None:
    bench.install("xclip")
    assert bench.copy("노트.md:L1", DISPLAY=":0") == "Copied (clipboard): 노트.md:L1"
    assert bench.given("xclip") == (["-selection", "clipboard"], "노트.md:L1".encode())
    assert bench.terminal == []


def test_windows_gets_the_text_in_utf_16(bench: Bench) -> None:
    bench.install("clip.exe")
    bench.copy("노트")
    assert bench.given("clip.exe")[1].decode("utf-16") == "노트"


def test_a_tool_that_fails_passes_the_text_on_to_tmux(bench: Bench) -> None:
    bench.install("xclip", code=1)
    bench.install("tmux")
    assert bench.copy("a.md:L1", DISPLAY=":0", TMUX="/t,1,0").startswith(
        "Copied (tmux + terminal clipboard): "
    )
    assert bench.given("tmux") == (["load-buffer", "-w", "-"], b"a.md:L1")


def test_without_a_working_tool_the_terminal_gets_the_text(bench: Bench) -> None:
    bench.install("tmux", code=1)
    assert bench.copy("a.md:L1", TMUX="/t,1,0") == "Copied (terminal clipboard): a.md:L1"
    assert bench.terminal == ["a.md:L1"]


def test_text_that_cannot_be_encoded_is_no_error(bench: Bench) -> None:
    bench.install("xsel")
    assert bench.copy("a\udcffb", DISPLAY=":0").startswith("Copied")
    assert bench.copy("a\udcffb") == "Copied (terminal clipboard): a�b"
    assert bench.terminal == ["a�b"]


@pytest.mark.parametrize("environ", [{"DISPLAY": ":0"}, {}])
def test_copied_text_contains_no_control_character(bench: Bench, environ: dict[str, str]) -> None:
    bench.install("xclip")
    raw = "a\tb\nx\x1b[201~\r\x03\x7f\x9b2J\u202e\u2066\u2028\U000e0041"
    bench.copy(raw, **environ)
    pasted = bench.given("xclip")[1].decode() if environ else bench.terminal[0]
    assert pasted == "a\tb\nx␛[201~␍␃␡�2J␦␦␦␦"


def test_the_message_shows_the_first_line_without_control_characters(bench: Bench) -> None:
    assert bench.copy("a\x1b]52;c;x\x07\n[b]").endswith("clipboard): a␛]52;c;x␇ …")
    message = bench.copy("x" * 1_000_000)
    assert message.endswith("x …")
    assert len(message) < 250
