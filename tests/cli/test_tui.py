"""`kebab tui` is `kebab-tui`: every word after it is the screen's."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Iterator

import pytest

from kebab_tui import tui
from kebab_tui.cli.edge import run
from kebab_tui.cli.main import cli
from tests.command_line import Kebab


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ("tui", ""),
        ("tui notes --query port --mode lexical --pick -0", "notes --query port --mode lexical --pick -0"),
        ("tui --help", "--help"),
        ("tui -- -notes", "-- -notes"),
        ("--data-dir d --config c tui notes --data-dir e", "--data-dir d --config c notes --data-dir e"),
    ],
)
def test_every_argument_is_passed_on(given: str, passed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(tui, "main", seen.append)
    assert run(cli, given.split()) == 0
    assert seen == [passed.split()]


def test_the_screen_itself_answers(kebab: Kebab) -> None:
    done = subprocess.run(
        [*kebab.argv, "tui"], env=kebab.environ | {"TERM": "dumb"}, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"cannot show a screen" in done.stderr
