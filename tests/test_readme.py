"""What the README shows works as shown, on the sample vault."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kebab_tui.vectors.segment import _FEW
from tests.command_line import Kebab

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")

_CELL = re.compile(r"^\| (`.*?`) \| ", re.MULTILINE)
_COMMAND = re.compile(r"`(?:vim -q <\()?kebab ([^`]*?)(?: \\\|[^`]*|\))?`")
_PLACE = re.compile(r"`((?:docs|fixtures|models|kebab_tui)/[\w./-]+)`")

COMMANDS = [command for cell in _CELL.findall(README) for command in _COMMAND.findall(cell)]
FINDS_NOTHING = ("list --state failed", "inspect PATH")


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in FINDS_NOTHING])
def test_a_command_that_is_shown_finds_something(embedded: Kebab, command: str) -> None:
    argv = [str(ROOT / word) if word.startswith("fixtures/") else word for word in shlex.split(command)]
    done = embedded(*argv)
    assert (done.code, done.out != "") == (0, True), done.err


def test_there_are_commands_and_no_exception_is_stale() -> None:
    assert len(COMMANDS) >= 10
    assert set(FINDS_NOTHING) <= set(COMMANDS)


def test_the_answer_that_is_shown_is_the_answer(embedded: Kebab) -> None:
    shown = re.search(r'^\$ (kebab search ".*)\n((?:.+\n)+)```', README, re.MULTILINE)
    assert shown is not None
    answer = embedded(*shlex.split(shown[1])[1:], "--format", "human").out
    for line in shown[2].splitlines():
        assert line.removesuffix("…") in answer


def test_the_number_of_vectors_from_which_faiss_is_loaded_is_the_one_stated() -> None:
    assert f"more than\n{_FEW:,} vectors" in README


@pytest.mark.parametrize("path", sorted(set(_PLACE.findall(README))))
def test_what_the_readme_points_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_no_command_that_is_shown_lets_a_shell_split_or_expand_what_another_prints() -> None:
    assert "$(" not in README
    piped = re.findall(r"`(kebab[^`]*\| *xargs[^`]*)`", README)
    assert piped and all("-0 | xargs -0 " in command for command in piped)
