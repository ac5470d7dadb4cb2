"""Lexers come from Pygments' own table and are loaded by threads."""

from __future__ import annotations

import importlib.metadata
import threading

import pytest

from kebab_tui.tui.preview import syntax
from kebab_tui.tui.preview.source_lines import WholeText
from kebab_tui.tui.preview.syntax import Lexers, Syntax

_PATIENCE_S = 30.0


class Later:
    """Lexers of which none is loaded before it is let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._let, self._arrived = threading.Semaphore(0), threading.Semaphore(0)
        load = syntax._load
        monkeypatch.setattr(syntax, "_ready", {})
        monkeypatch.setattr(syntax, "_load", lambda name: self._let.acquire() and load(name))
        self.lexers = Lexers(self._arrived.release)

    def let_one_come(self) -> None:
        self._let.release()
        assert self._arrived.acquire(timeout=_PATIENCE_S)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    return Later(monkeypatch)


def kinds(syntax: Syntax, line: int, lexers: Lexers) -> set[str]:
    return {stretch.kind for stretch in syntax.of(line, lexers)}


def test_colours_come_when_their_lexer_is_there(later: Later) -> None:
    syntax = Syntax("note.md", WholeText(("# Title",)))
    assert kinds(syntax, 1, later.lexers) == set()
    later.let_one_come()
    assert kinds(syntax, 1, later.lexers) == {"heading"}


def test_code_in_a_fence_is_coloured_when_its_own_lexer_is_there(later: Later) -> None:
    syntax = Syntax("note.md", WholeText(("```python", "import os", "```")))
    kinds(syntax, 2, later.lexers)
    later.let_one_come()
    assert kinds(syntax, 2, later.lexers) == {"string"}  # code, of whatever kind
    later.let_one_come()
    assert kinds(syntax, 2, later.lexers) == {"keyword"}


def test_each_lexer_is_loaded_once(later: Later) -> None:
    assert later.lexers.named("python") is None
    later.let_one_come()
    found = later.lexers.named("python")
    assert found is not None and later.lexers.named("python") is found
    assert Lexers(lambda: None).named("python") is not None  # what is loaded is there for all


def test_an_unknown_language_searches_no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(**_: object) -> None:
        raise AssertionError("looked for plugins")

    monkeypatch.setattr(importlib.metadata, "entry_points", asked)
    syntax = Syntax("note.md", WholeText(("```js-nolint", "let x", "```", "## After")))
    assert kinds(syntax, 2, Lexers()) == {"string"}
    assert kinds(syntax, 4, Lexers()) == {"heading"}
    nested = Syntax("note.md", WholeText(("~~~md", "```js-nolint", "let x", "```", "~~~")))
    assert kinds(nested, 3, Lexers()) == {"string"}
    before = threading.active_count()
    assert Lexers(lambda: None).named("js-nolint") is None
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("lines", "line", "expected"),
    [
        (("~~~python", "import os", "~~~"), 2, {"keyword"}),
        (("- ```python", "  import os", "  ```", "# After"), 2, {"keyword"}),
        (("```python", "import os"), 2, {"keyword"}),  # open to the end of what is looked at
        (("```python", "import os", "~~~", "```", "# After"), 5, {"heading"}),
        (("```", "# code", "```", "# After"), 2, {"string"}),
        (("```python``` is code", "# Title"), 2, {"heading"}),
        (("````python", "import os", "````", "# After"), 4, {"heading"}),
    ],
)
def test_a_fence_goes_as_far_as_markdown_says(lines: tuple[str, ...], line: int, expected: set[str]) -> None:
    assert kinds(Syntax("note.md", WholeText(lines)), line, Lexers()) == expected


def test_a_note_full_of_unknown_languages_has_all_of_its_code() -> None:
    lines = [line for number in range(300) for line in (f"```lang{number}", "code", "```", "")]
    lexers = Lexers()
    syntax = Syntax("note.md", WholeText(lines))
    assert all(kinds(syntax, 4 * number + 2, lexers) == {"string"} for number in range(300))
