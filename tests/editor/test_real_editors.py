"""Several files in one editor, each at its line: real programs in a real terminal."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kebab_tui.editor import Editor, FilePlace
from tests.tui.tmux import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.program,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]

NAMES = ("one.md", "t'w\"o $(x)|y; +3 \U0001f9c6 노트.md", "three.md")
LINES = (12, 34, 7)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path / "tmux")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("editor", "first", "second"),
    [
        ("vim -u NONE -N", 0, (":next", "Enter")),
        ("nvim -u NONE", 0, (":next", "Enter")),
        ("nano --ignorercfiles", 0, ("M-.",)),
        ("micro", 0, ("M-.",)),
        ("kak -n", 0, (":buffer-next", "Enter", ":buffer-next", "Enter")),
        ("emacs -nw -Q", 0, ("C-x", "b", "t'w", "Tab", "Enter")),
        ("joe", 0, ("C-k", "n")),
        ("ne", 0, ("F2",)),
        ("hx", 0, (":bn", "Enter")),
    ],
)
def test_each_file_is_at_its_line(
    terminal: Terminal, tmp_path: Path, editor: str, first: int, second: tuple[str, ...]
) -> None:
    program = editor.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    places = []
    for name, line in zip(NAMES, LINES, strict=True):
        path = tmp_path / name
        path.write_text("".join(f"{name[0]} line {number} end\n" for number in range(1, 61)))
        places.append(FilePlace(str(path), line))
    made = Editor(tuple(shlex.split(editor)), "EDITOR").at_all(places)
    assert made.at_line
    terminal.start(
        ["env", "-C", str(tmp_path), "--", *made.argv],
        {"TERM": "screen-256color", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )
    terminal.wait(lambda: f"o line {LINES[first]} end" in terminal.cursor_line)
    terminal.keys(*second)
    terminal.wait(lambda: f"t line {LINES[1]} end" in terminal.cursor_line)


@pytest.mark.parametrize("program", ["vim", "nvim"])
def test_very_many_files_are_no_trouble(terminal: Terminal, tmp_path: Path, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    places = []
    for number in range(80):
        path = tmp_path / f"{number}.md"
        path.write_text("".join(f"{number} line {line}\n" for line in range(1, 31)))
        places.append(FilePlace(str(path), 1 + number % 30))
    made = Editor((program, "-u", "NONE"), "EDITOR").at_all(places)
    terminal.start(
        ["env", "-C", str(tmp_path), "--", *made.argv],
        {"TERM": "screen-256color", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )
    terminal.wait(lambda: terminal.cursor_line.startswith("0 line 1"))
    terminal.keys(":last", "Enter")
    terminal.wait(lambda: terminal.cursor_line.startswith("79 line 20"))
