"""Leaving the screen for an editor and coming back, in a real terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from textual.app import App

from kebab_tui.editor import Launch, OpenResult
from kebab_tui.tui import hand_off
from kebab_tui.tui.hand_off import open_in_editor
from tests.command_line import ROOT
from tests.tui.tmux import Terminal

pytestmark = pytest.mark.slow

NAME = "-c a 'b\"c\n:d\\ 메모.md"
in_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")


class Desk:
    def __init__(self, place: Path) -> None:
        self.terminal = Terminal(place / "tmux")
        self.place = place
        self.note = place / "notes" / NAME
        self.note.parent.mkdir()
        self.note.write_text("".join(f"marker {number} end\n" for number in range(1, 201)))

    def start(self, editor: str, template: str = "") -> None:
        environ = {
            "EDITOR": editor,
            "TEMPLATE": template,
            "HOME": str(self.place),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
        }
        argv = [sys.executable, "-m", "tests.tui.editing_host", str(self.note), "120"]
        self.terminal.start(argv, environ)
        self.terminal.wait_for("ready")

    def is_whole(self) -> None:
        """The screen is back, paints, and reads single keys."""
        self.terminal.keys("k")
        self.terminal.wait_for("presses 1")
        assert "marker" not in self.terminal.screen


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.terminal.close()


@pytest.mark.program
@in_tmux
@pytest.mark.parametrize(
    ("editor", "quit_keys"),
    [
        ("vim -u NONE -N", (":qa!", "Enter")),
        ("nvim -u NONE", (":qa!", "Enter")),
        ("nano --ignorercfiles", ("C-x",)),
        ("micro", ("C-q",)),
        ("kak -n", (":q!", "Enter")),
        ("emacs -nw -Q", ("C-x", "C-c")),
        ("joe", ("C-k", "q")),
        ("mg -n", ("C-x", "C-c")),
        ("ne", ("M-q",)),
        ("hx", (":q!", "Enter")),
    ],
)
def test_a_terminal_editor_opens_at_the_line_and_gives_the_screen_back(
    desk: Desk, editor: str, quit_keys: tuple[str, ...]
) -> None:
    program = editor.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    desk.start(editor)
    desk.terminal.keys("o")
    desk.terminal.wait(lambda: "marker 120 end" in desk.terminal.cursor_line)
    desk.terminal.keys(*quit_keys)
    desk.terminal.wait_for(f"said ok=True opened in {program}")
    desk.is_whole()


@pytest.mark.program
@in_tmux
def test_an_editor_with_a_window_leaves_the_screen_up(desk: Desk) -> None:
    record = desk.place / "record.json"
    code = desk.place / "code"
    code.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "told = [sys.argv[1:], os.getsid(0) == os.getpid(), os.isatty(1)]\n"
        f"with open({str(record)!r} + '.new', 'w') as file:\n    json.dump(told, file)\n"
        f"os.rename({str(record)!r} + '.new', {str(record)!r})\n"
        "import time\ntime.sleep(1)\n"
    )
    code.chmod(0o755)
    desk.start(f"{code} --wait")
    desk.terminal.keys("o")
    desk.terminal.wait_for("said ok=True opened in code")
    desk.terminal.wait(record.exists)
    assert json.loads(record.read_text()) == [["--wait", "-g", f"{desk.note}:120:1"], True, False]
    desk.is_whole()


@pytest.mark.program
@in_tmux
@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("/nowhere/vim", "said ok=False vim could not be started: No such file or directory"),
        ("false", "said ok=False false ended with exit code 1"),
    ],
)
def test_an_editor_that_fails_is_a_message_on_a_whole_screen(desk: Desk, editor: str, said: str) -> None:
    desk.start(editor)
    desk.terminal.keys("o")
    desk.terminal.wait_for(said)
    desk.is_whole()


@pytest.mark.program
@in_tmux
def test_a_deleted_file_is_a_message_on_a_whole_screen(desk: Desk) -> None:
    desk.start("vi")
    desk.note.unlink()
    desk.terminal.keys("o")
    desk.terminal.wait_for("is no longer there")
    desk.is_whole()


@pytest.mark.program
@in_tmux
def test_ctrl_c_in_the_editor_does_not_reach_the_screen(desk: Desk) -> None:
    wait = (
        "import signal, sys; signal.signal(2, lambda *_: sys.exit(0)); print('editing', flush=True); input()"
    )
    desk.start("", f'{sys.executable} -c "{wait}" {{path}}')
    desk.terminal.keys("o")
    desk.terminal.wait_for("editing")
    desk.terminal.keys("C-c")
    desk.terminal.wait_for("said ok=True")
    desk.is_whole()


@pytest.mark.program
@in_tmux
def test_a_citation_reaches_the_buffer_of_tmux(desk: Desk) -> None:
    desk.start("vi")
    desk.terminal.keys("y")
    desk.terminal.wait_for("said Copied (tmux")
    assert desk.terminal.tmux("show-buffer") == "노트.md:L3"


async def test_without_a_terminal_to_suspend_the_path_is_shown(tmp_path: Path) -> None:
    app: App[None] = App()
    async with app.run_test():
        outcome = open_in_editor(app, Launch(("vim", "x"), "terminal"), str(tmp_path / "a\x1b.md"))
    assert not outcome.ok
    assert outcome.message.endswith("a␛.md")


def test_nothing_is_raised_while_the_screen_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> OpenResult:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(hand_off, "open_note", broken)
    app = cast("App[None]", SimpleNamespace(suspend=nullcontext))
    assert open_in_editor(app, Launch(("vim", "x"), "terminal"), "/x") == OpenResult(
        False, "could not run vim: unforeseen"
    )
