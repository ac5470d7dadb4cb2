"""The recipes of docs/editors.md, in the real programs, on a real terminal."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.settings.settings import Settings
from kebab_tui.workspace import Callbacks, Workspace
from tests.tui.tmux import Terminal

PAGE = (Path(__file__).parents[2] / "docs" / "editors.md").read_text(encoding="utf-8")
ODD = "t'w\"o $(x)|y; 노트.md"
PLAIN = "plain.md"
LINE = "The spindle turns seven times."

pytestmark = [
    pytest.mark.slow,
    pytest.mark.program,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


def recipe(language: str) -> str:
    """The code of the page in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, language
    return found[1]


class Desk:
    """A note, its index, a `kebab-tui` that finds it, and a terminal."""

    def __init__(self, place: Path, name: str) -> None:
        self.place, self.terminal = place, Terminal(place / "tmux")
        self.note = place / "notes" / name
        self.note.parent.mkdir()
        self.note.write_text(f"# Wheel\n\nFirst.\nSecond.\n\n{LINE}\n", encoding="utf-8")
        workspace = Workspace(Settings(), str(place / "data"))
        workspace.ingest([str(self.note.parent)], Callbacks())
        workspace.close()
        options = f"--data-dir {place / 'data'} --mode lexical --no-watch --query spindle"
        command = Path(sys.executable).with_name("kebab-tui")
        self.program("kebab-tui", f'exec {command} {options} "$@"')

    def program(self, name: str, script: str) -> None:
        file = self.place / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def start(self, *argv: str, **variables: str) -> None:
        environ = {
            "HOME": str(self.place),
            "PATH": f"{self.place / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TERM": "screen-256color",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        self.terminal.start(argv, environ | variables)

    def file(self, name: str, text: str) -> str:
        (self.place / name).write_text(text, encoding="utf-8")
        return str(self.place / name)

    def pick(self) -> None:
        """Take the first hit as soon as it is on the screen."""
        self.terminal.wait_for("1 passage")
        self.terminal.keys("Enter")


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, getattr(request, "param", ODD))
    yield made
    made.terminal.close()


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")


@pytest.mark.parametrize(
    ("program", "language", "argv", "call"),
    [
        ("vim", "vim", "vim -N -u {}", (":KebabPick", "Enter")),
        ("nvim", "lua", "nvim -u {}", (":KebabPick", "Enter")),
        ("emacs", "elisp", "emacs -nw -Q -l {}", ("C-c", "k")),
    ],
)
def test_an_editor_jumps_to_the_pick(
    desk: Desk, program: str, language: str, argv: str, call: tuple[str, ...]
) -> None:
    needs(program)
    suffix = {"vim": "vim", "lua": "lua", "elisp": "el"}[language]
    start = desk.file(f"init.{suffix}", recipe(language))
    other = desk.file("other.txt", "another file\n")
    desk.start(*shlex.split(argv.format(shlex.quote(start))), other)
    desk.terminal.wait(lambda: "another file" in desk.terminal.cursor_line)
    desk.terminal.keys(*call)
    desk.terminal.wait_for("1 passage")
    desk.terminal.keys(*(("C-c", "C-c") if program == "emacs" else ("C-c",)))  # there a prefix
    desk.terminal.wait(lambda: "another file" in desk.terminal.cursor_line)
    desk.terminal.keys(*call)
    desk.pick()
    desk.terminal.wait(lambda: LINE in desk.terminal.cursor_line and "▌" not in desk.terminal.cursor_line)


@pytest.mark.parametrize("desk", [PLAIN], indirect=True)
def test_zsh_inserts_the_pick_and_enter_opens_it(desk: Desk) -> None:
    needs("zsh")
    needs("vim")
    desk.file(".zshrc", f"PS1='ready> '\n{recipe('zsh')}")
    desk.start("zsh", "-i", ZDOTDIR=str(desk.place), EDITOR="vim -u NONE")
    desk.terminal.wait_for("ready>")
    desk.terminal.keys("C-x", "k")
    desk.terminal.wait_for("1 passage")
    desk.terminal.keys("C-c")
    desk.terminal.wait(lambda: desk.terminal.cursor_line.strip() == "ready>")
    desk.terminal.keys("C-x", "k")
    desk.pick()
    desk.terminal.wait(lambda: f"vim -u NONE +6 {desk.note}" in desk.terminal.screen.replace("\n", ""))
    desk.terminal.keys("Enter")
    desk.terminal.wait(lambda: LINE in desk.terminal.cursor_line)


def test_tmux_opens_a_popup_and_pastes_the_citation(desk: Desk) -> None:
    config = desk.file("tmux.conf", recipe("tmux"))
    inner = Terminal(desk.place / "inner")
    desk.start("tmux", "-S", str(desk.place / "inner"), "-f", config, "new", "cat")
    try:
        desk.terminal.wait_for("[0] 0:")  # tmux names a window late, or after the shell
        desk.terminal.keys("C-b", "k")
        desk.terminal.wait_for("1 passage")
        desk.terminal.keys("C-q")
        desk.terminal.wait(lambda: "1 passage" not in desk.terminal.screen)
        desk.terminal.keys("C-b", "K")
        desk.pick()
        desk.terminal.wait(lambda: f"{ODD}:L1-L6" in desk.terminal.screen.replace("\n", ""))
    finally:
        inner.close()


def test_the_lines_for_a_shell_are_safe_with_every_name(desk: Desk) -> None:
    for_vim, for_helix = recipe("sh").splitlines()
    record = desk.place / "record"
    desk.program("hx", f'printf "%s\\n" "$@" > {record}.new; mv {record}.new {record}')
    desk.start("sh", "-c", f"{for_helix}; exec sh")
    desk.pick()
    desk.terminal.wait(record.exists)
    assert record.read_text() == f"{desk.note}:6\n"
    record.unlink()
    desk.program("vim", f'printf "%s\\n" "$@" > {record}.new; mv {record}.new {record}')
    desk.terminal.keys(for_vim, "Enter")
    desk.terminal.wait(lambda: desk.terminal.screen.count("1 passage") == 1)
    desk.terminal.keys("Enter")
    desk.terminal.wait(record.exists)
    assert record.read_text() == f"+6\n{desk.note}\n"
