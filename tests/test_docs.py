"""What README and docs show works as shown, on the sample notes.

Lines `$ ...` of `console` blocks run, and so do commands in the first column of a table. Of all others that
begin with `kebab`, `kebab-tui` or `make`, verbs and options are checked; those that need a repository,
a server or an editor run in the tests of these.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest

from kebab_tui.cli.main import cli
from kebab_tui.tui import launch
from kebab_tui.vectors.segment import _FEW
from tests.command_line import ROOT, Kebab
from tests.tui.pty_screen import PtyScreen

pytestmark = pytest.mark.slow

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TRIED_ELSEWHERE = {
    "pip install": "make dist",
}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:kebab|kebab-tui|make)(?: [^`\n]+)?)`")
_CELL = re.compile(r"^\| `(kebab [^`]*)`", re.MULTILINE)
_COMMENT = re.compile(r"\s{2,}.*$")
_LINK = re.compile(r"\]\(([^)#:]+)\)")
_PLACE = re.compile(r"`((?:docs|fixtures|models|kebab_tui|tests)/[\w./-]+)`")
_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
_PATIENCE_S = 120


@dataclass(frozen=True)
class Shown:
    page: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


@cache
def blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(page.read_text("utf-8"))


def commands_that_run() -> Iterator[Shown]:
    for page in PAGES:
        for language, block in blocks(page):
            lines = block.splitlines() if language == "console" else []
            yield from (Shown(page.name, _COMMENT.sub("", line[2:])) for line in lines if line[:2] == "$ ")
        yield from (Shown(page.name, command) for command in _CELL.findall(page.read_text("utf-8")))


RUN = sorted({shown.text: shown for shown in commands_that_run()}.values(), key=str)


@pytest.fixture(scope="module")
def shell(embedded_place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home with `~/notes`, a copy of their index, and a `vim` that prints its arguments."""
    home = tmp_path_factory.mktemp("reader")
    bin_folder = home / "bin"
    bin_folder.mkdir()
    for name, script in {
        "kebab": f'exec {sys.executable} -m kebab_tui "$@"',
        "kebab-tui": f'exec {sys.executable} -m kebab_tui tui "$@"',
        "vim": "printf 'vim: %s\\n' \"$@\"",
    }.items():
        (bin_folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_folder / name).chmod(0o755)
    shutil.copytree(embedded_place / "data", home / "data")
    (home / "notes").symlink_to(embedded_place / "notes")
    (home / "fixtures").symlink_to(ROOT / "fixtures")
    return {
        "HOME": str(home),
        "KEBAB_DATA_DIR": str(home / "data"),
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
    }


@pytest.mark.parametrize("shown", RUN, ids=str)
def test_a_command_that_is_shown_works(shown: Shown, embedded: Kebab, shell: dict[str, str]) -> None:
    command = shown.text
    if command.startswith("make "):
        assert command.split()[1] in _TARGETS
    elif command.startswith(tuple(TRIED_ELSEWHERE)):
        pass
    elif command.startswith("kebab-tui"):
        _open_and_quit(command, shell)
    elif command.startswith(("kebab watch", "kebab serve")):
        _start_and_stop(command, shell)
    elif re.search("[|~]", re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
        whole = ["bash", "-c", f"set -o pipefail; {command}"]
        piped = subprocess.run(whole, env=shell, cwd=shell["HOME"], capture_output=True)
        assert piped.returncode == 0 and piped.stdout + piped.stderr, piped.stderr
    else:
        argv = [str(ROOT / word) if word.startswith("fixtures/") else word for word in shlex.split(command)]
        assert argv[0] == "kebab", "name it in TRIED_ELSEWHERE, or run it"
        done = embedded(*argv[1:])
        assert done.code == 0 and done.out, done.err


def _open_and_quit(command: str, shell: dict[str, str]) -> None:
    """The screen stands; ctrl+q closes it, or Enter picks the first hit."""
    screen = PtyScreen("-c", command, home=Path(shell["HOME"]), program=("bash",), environ=shell)
    screen.wait_for("hybrid")
    if "--pick" in command:
        screen.type("port conflict")
        screen.wait_for("Port already in use")
        screen.send(b"\r")
        screen.wait_for_end_text("vim: ")
    else:
        screen.send(b"\x11")
    screen.end()
    assert screen.process.returncode == 0, screen.text


def _start_and_stop(command: str, shell: dict[str, str]) -> None:
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        env=shell,
        cwd=shell["HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=_PATIENCE_S)
    assert said and process.returncode == 0, said + rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_that_a_page_names_exist(page: Path) -> None:
    named = _INLINE.findall(_BLOCK.sub("", page.read_text("utf-8")))
    for language, block in blocks(page):
        lines = block.splitlines() if language in ("", "sh") else []
        named += [_COMMENT.sub("", line) for line in lines if line.startswith(("kebab ", "kebab-tui"))]
    commands = [
        one
        for command in named
        for one in re.split(r" && | \| ", command)
        if one.startswith(("kebab", "make"))
    ]
    assert not {command: unknown for command in commands if (unknown := _unknown_words(command))}


def _unknown_words(command: str) -> set[str]:
    program, *words = shlex.split(command.replace("\\|", "|"))
    given = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    if program == "make":
        return {words[0]} - _TARGETS if words else set()
    if program == "kebab-tui":
        return given - {name for action in launch.build_parser()._actions for name in action.option_strings}
    reached, known = [click.Context(cli)], {"-h", "--help"}
    for word in words:
        group = reached[0].command
        if isinstance(group, click.Group) and not word.startswith("-"):
            found = {name: group.get_command(reached[0], name) for name in word.split("|")}
            if unknown := {name for name, verb in found.items() if verb is None}:
                return unknown
            reached = [click.Context(verb) for verb in found.values() if verb]
    known |= {
        name
        for context in (click.Context(cli), *reached)
        for option in context.command.params
        for name in (*option.opts, *option.secondary_opts)
    }
    return given - known


def test_no_exception_is_stale() -> None:
    shown = [command.text for command in RUN]
    assert len(shown) >= 30
    assert all(any(command.startswith(start) for command in shown) for start in TRIED_ELSEWHERE)


def test_the_answer_that_is_shown_is_the_answer(embedded: Kebab) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r'^\$ (kebab search ".*)\n((?:[^$\n].*\n)+)', text, re.MULTILINE)
    assert shown is not None
    answer = embedded(*shlex.split(shown[1])[1:]).out
    for line in shown[2].splitlines():
        assert line.removesuffix("…") in answer


def test_the_number_of_vectors_from_which_faiss_is_loaded_is_the_one_stated() -> None:
    assert f"{_FEW:,} vectors; fewer" in (ROOT / "docs/search.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    missing = [place for place in _PLACE.findall(text) if not (ROOT / place).exists()]
    missing += [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_has_at_most_two_hundred_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 200


def test_no_command_that_is_shown_lets_a_shell_split_or_expand_what_another_prints() -> None:
    piped = [shown.text for shown in RUN if "xargs" in shown.text]
    assert piped and all("-0 | xargs -0 " in command for command in piped)
    assert not [shown for shown in RUN if "$(" in shown.text or "`" in shown.text]
